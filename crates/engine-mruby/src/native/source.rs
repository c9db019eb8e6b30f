//! Files of code, and Ruby's own library.

use ruby_native::{Arg, Outcome, Value, Work, arg};

use super::Call;
use crate::prelude;

/// source_read(path): as File.read, of a file of code, which is the same for all interpreters once one has read it
/// while the application was loaded.
pub fn read_source(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    if let Some(known) = call.shared.source(path) {
        return Ok(Value::Str(known.to_vec()));
    }
    let source = ruby_stdlib::read_whole(&mut call.context(), path)?;
    if call.work.is_request() {
        return Ok(Value::Str(source));
    }
    Ok(Value::Str(call.shared.remember(path, source.into()).to_vec()))
}

/// Whether that file is among those that were read; it may be gone by now.
pub fn knows_source(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let is_known = call.shared.source(arg(args, 0).path()?).is_some();
    Ok(if is_known { Value::Int(1) } else { Value::Nil })
}

/// Whether it is the name of a file of Ruby's own library, without its suffix.
pub fn knows_library(_: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Bool(prelude::is_ruby(arg(args, 0).bytes()?)))
}
