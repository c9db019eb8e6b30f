//! Native functions for source files of the application and for Ruby's own library.

use ruby_native::{Arg, Outcome, Value, Work, arg};

use super::Call;
use crate::prelude;

/// `source_read(path)`: the text of a source file. Once an interpreter has read it while the application was loaded,
/// all interpreters get that text.
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

/// `source_known(path)`: whether the source file was read before; it may have been deleted since.
pub fn knows_source(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Bool(call.shared.source(arg(args, 0).path()?).is_some()))
}

/// `library_known(name)`: whether a file of Ruby's own library has this name, without its suffix.
pub fn knows_library(_: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Bool(prelude::is_ruby(arg(args, 0).bytes()?)))
}
