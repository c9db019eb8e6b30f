//! Native functions for Tempfile. A temporary file is deleted when its object is freed, and at the latest at the end of
//! the request that made it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use tempfile::{Builder, TempPath};

use super::file::READ_BYTES_MAX;
use ruby_native::errno::exception;
use ruby_native::folders::{self, Folders};
use ruby_native::{Arg, Context, Life, Outcome, Raise, Value, arg, raise};

/// Most bytes of all temporary files of one interpreter.
const BYTES_MAX: u64 = 1 << 30;
/// Most temporary files of one interpreter.
const COUNT_MAX: usize = 256;
/// Bytes that a temporary file counts towards the interpreter's memory limit.
const HANDLE_BYTES: usize = 256;

struct Temporary {
    file: File,
    /// The file's path, which is deleted when this value is dropped; None once Ruby has deleted it.
    path: Option<TempPath>,
    length: u64,
    folders: Folders,
}

impl Temporary {
    fn delete(&mut self) {
        if let Some(path) = self.path.take() {
            self.folders.forget(&path);
        }
    }

    fn failed(&self, error: &io::Error) -> Raise {
        exception(error, &self.path.as_ref().map_or(String::new(), |path| format!(" - {}", path.display())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.delete();
    }
}

/// `temporary_new(prefix, suffix, folder or nil)`: creates a file and returns a handle; nil is the system's folder for
/// temporary files.
pub fn new(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let prefix = arg(args, 0).path()?;
    let suffix = arg(args, 1).path()?;
    let folder = match arg(args, 2) {
        Arg::Nil => files::temporary::folder(),
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
    let (file, path) = file.map_err(|error| folders::failed(&error, &folder))?.into_parts();
    let life = if context.work.is_request() { Life::Request } else { Life::Object };
    let folders = context.folders.clone();
    folders.allow_file(&path);
    let held = Temporary { file, path: Some(path), length: 0, folders };
    Ok(Value::Handle(context.handles.hold(held, life), HANDLE_BYTES))
}

/// `temporary_path(handle)`: the path of a temporary file; nil once it was deleted.
pub fn path_of(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let held = context.handles.get::<Temporary>(arg(args, 0).handle()?)?;
    Ok(held.path.as_ref().map_or(Value::Nil, |path| Value::Str(path.as_os_str().as_bytes().to_vec())))
}

/// `temporary_unlink(handle)`: deletes the name of a temporary file, which stays open. A file that has gone with its
/// request has no name any more.
pub fn unlink(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    if let Ok(held) = context.handles.get::<Temporary>(arg(args, 0).handle()?) {
        held.delete();
    }
    Ok(Value::Nil)
}

/// `temporary_read(handle, position, length)`: up to `length` bytes from `position` on; an empty String at the end.
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let held = context.handles.get::<Temporary>(arg(args, 0).handle()?)?;
    let position = u64::try_from(arg(args, 1).int()?).unwrap_or(0);
    let wanted = u64::try_from(arg(args, 2).int()?).unwrap_or(0).min(READ_BYTES_MAX);
    let mut out = vec![0; wanted.min(held.length.saturating_sub(position)) as usize];
    held.file.read_exact_at(&mut out, position).map_err(|error| held.failed(&error))?;
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
    held.file.write_all_at(bytes, position).map_err(|error| held.failed(&error))?;
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
    held.file.set_len(length).map_err(|error| held.failed(&error))?;
    held.length = length;
    Ok(Value::Int(0))
}

/// `temporary_folder`: the system's folder for temporary files.
pub fn folder(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(files::temporary::folder().as_os_str().as_bytes().to_vec()))
}
