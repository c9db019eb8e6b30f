//! The request body, read by position. It is complete, in memory or in a file.

use std::os::unix::fs::FileExt;

use engine::Input;

use ruby_native::{Arg, Outcome, Value, arg, raise};

use super::Call;

/// Most bytes that one read returns; Ruby reads again for more.
const READ_BYTES_MAX: u64 = 1 << 20;

/// `input_read(position, length)`: up to `length` bytes of the body from `position` on; an empty String at the end.
pub fn read(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let position = u64::try_from(arg(args, 0).int()?).unwrap_or(0);
    let wanted = u64::try_from(arg(args, 1).int()?).unwrap_or(0).min(READ_BYTES_MAX);
    let Some(writer) = &mut call.work.writer else { return Ok(Value::Str(Vec::new())) };
    if matches!(writer.request.input, Input::File(..)) {
        writer.migrate();
    }
    match &writer.request.input {
        Input::Memory(bytes) => {
            let begin = usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
            let end = begin.saturating_add(wanted as usize).min(bytes.len());
            Ok(Value::Bytes(bytes[begin..end].to_vec()))
        }
        Input::File(file, length) => {
            let count = wanted.min(length.saturating_sub(position));
            let mut out = vec![0; count as usize];
            file.read_exact_at(&mut out, position)
                .map_err(|error| raise("IOError", format!("the request's body cannot be read: {error}")))?;
            Ok(Value::Bytes(out))
        }
        Input::Empty | Input::Stream(_) => Ok(Value::Str(Vec::new())),
    }
}

/// `input_size`: bytes of the request body.
pub fn size(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    let length = call.work.writer.as_ref().and_then(|writer| writer.request.input.len());
    Ok(Value::Int(length.unwrap_or(0) as i64))
}
