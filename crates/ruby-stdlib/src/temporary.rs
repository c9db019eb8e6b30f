//! Native functions for Tempfile. A temporary file is deleted when its object is freed, and at the latest at the end of
//! the request that made it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use ruby_native::Life;
use ruby_native::errno::exception;
use ruby_native::folders::{self, Folders};
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Most bytes of all temporary files of one interpreter.
const BYTES_MAX: u64 = 1 << 30;
/// Most temporary files of one interpreter.
const COUNT_MAX: usize = 256;
/// Most bytes that one read returns; Ruby reads again for more.
const READ_BYTES_MAX: u64 = 1 << 20;
/// Bytes that a temporary file counts towards the interpreter's memory limit.
const HANDLE_BYTES: usize = 256;

struct Temporary {
    file: NamedTempFile,
    length: u64,
    folders: Folders,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.folders.forget(self.file.path());
    }
}

fn failed(error: &io::Error, file: &NamedTempFile) -> Raise {
    exception(error, &format!(" - {}", file.path().display()))
}

/// `temporary_new(prefix, suffix, folder or nil)`: creates a file and returns a handle; nil is the system's folder for
/// temporary files.
pub fn new(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let prefix = arg(args, 0).path()?;
    let suffix = arg(args, 1).path()?;
    let folder = match arg(args, 2) {
        Arg::Nil => std::env::temp_dir(),
        folder => context.folders.database(folder.path()?, true)?,
    };
    if context.handles.sum::<Temporary>(|_| 0).0 >= COUNT_MAX {
        return Err(raise("Errno::EMFILE", format!("an interpreter has at most {COUNT_MAX} temporary files")));
    }
    // A slash would lead out of the folder.
    if [prefix, suffix].iter().any(|part| part.as_os_str().as_bytes().contains(&b'/')) {
        return Err(raise("ArgumentError", "unexpected name for a temporary file: it has a slash"));
    }
    // Not `tempfile_in`, whose errors have lost their number.
    let made = |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
    let file = Builder::new().prefix(prefix).suffix(suffix).rand_bytes(12).make_in(&folder, made);
    let file = file.map_err(|error| folders::failed(&error, &folder))?;
    let life = if context.work.is_request() { Life::Request } else { Life::Object };
    let folders = context.folders.clone();
    folders.allow_file(file.path());
    Ok(Value::Handle(context.handles.hold(Temporary { file, length: 0, folders }, life), HANDLE_BYTES))
}

/// `temporary_path(handle)`: the path of a temporary file.
pub fn path_of(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let held = context.handles.get::<Temporary>(arg(args, 0).handle()?)?;
    Ok(Value::Str(held.file.path().as_os_str().as_bytes().to_vec()))
}

/// `temporary_read(handle, position, length)`: up to `length` bytes from `position` on; an empty String at the end.
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let held = context.handles.get::<Temporary>(arg(args, 0).handle()?)?;
    let position = u64::try_from(arg(args, 1).int()?).unwrap_or(0);
    let wanted = u64::try_from(arg(args, 2).int()?).unwrap_or(0).min(READ_BYTES_MAX);
    let mut out = vec![0; wanted.min(held.length.saturating_sub(position)) as usize];
    held.file.as_file().read_exact_at(&mut out, position).map_err(|error| failed(&error, &held.file))?;
    Ok(Value::Bytes(out))
}

/// `temporary_write(handle, position, bytes)`: writes the bytes and returns their number.
pub fn write(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let number = arg(args, 0).handle()?;
    let bytes = arg(args, 2).bytes()?;
    let position = u64::try_from(arg(args, 1).int()?).unwrap_or(0);
    let all = context.handles.sum::<Temporary>(|held| held.length).1;
    let held = context.handles.get::<Temporary>(number)?;
    let length = held.length.max(position.saturating_add(bytes.len() as u64));
    if all - held.length + length > BYTES_MAX {
        return Err(raise("Errno::ENOSPC", format!("the temporary files of an interpreter hold {BYTES_MAX} bytes")));
    }
    held.file.as_file().write_all_at(bytes, position).map_err(|error| failed(&error, &held.file))?;
    held.length = length;
    Ok(Value::Int(bytes.len() as i64))
}

/// `temporary_size(handle)`: bytes of a temporary file.
pub fn size(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(context.handles.get::<Temporary>(arg(args, 0).handle()?)?.length as i64))
}

/// `temporary_truncate(handle, length)`: cuts or extends a temporary file to `length` bytes.
pub fn truncate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let length = u64::try_from(arg(args, 1).int()?).unwrap_or(0).min(BYTES_MAX);
    let held = context.handles.get::<Temporary>(arg(args, 0).handle()?)?;
    held.file.as_file().set_len(length).map_err(|error| failed(&error, &held.file))?;
    held.length = length;
    Ok(Value::Int(0))
}

/// `temporary_folder`: the system's folder for temporary files.
pub fn folder(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(std::env::temp_dir().as_os_str().as_bytes().to_vec()))
}
