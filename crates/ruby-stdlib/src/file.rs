//! Native functions for open files, file metadata and folders.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use super::path::read_at;
use crate::glob;
use ruby_native::errno::exception;
use ruby_native::folders::failed;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Most bytes that one read returns; Ruby reads again for more.
pub const READ_BYTES_MAX: u64 = 1 << 20;

/// Files that one interpreter may have open.
const FILES_MAX: usize = 512;
/// Bytes that an open file counts towards the interpreter's memory limit.
const FILE_BYTES: usize = 256;

fn file(context: &mut Context<'_>, handle: Arg<'_>) -> Result<Rc<File>, Raise> {
    context.handles.get::<Rc<File>>(handle.handle()?).cloned()
}

fn tree(tree: &Tree) -> Value {
    Value::Tree(tree.encoded())
}

/// `file_open(path)`: opens a regular file for reading and returns a handle.
pub fn open(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    let found = context.folders.readable(path)?;
    let (file, _) = files::open(&found).map_err(|error| failed(&error, path))?;
    let number = context.handles.hold_one_of(FILES_MAX, Rc::new(file))?;
    Ok(Value::Handle(number, FILE_BYTES))
}

/// `file_read_at(handle, position, length)`: up to `length` bytes of a file from `position` on; an empty String at the
/// end.
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let position = u64::try_from(arg(args, 1).int()?).unwrap_or(0);
    let length = u64::try_from(arg(args, 2).int()?).unwrap_or(0).min(READ_BYTES_MAX);
    // Reading may migrate the request, and then nothing may be borrowed.
    let file = file(context, arg(args, 0))?;
    let bytes = read_at(context, &file, position, length);
    bytes.map(Value::Str).map_err(|error| exception(&error, ""))
}

/// `file_size(handle)`: bytes of an open file.
pub fn size(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let meta = file(context, arg(args, 0))?.metadata();
    meta.map(|meta| Value::Int(meta.len() as i64)).map_err(|error| exception(&error, ""))
}

/// `file_stat(path)`: `[kind, size, mtime, readable]`, or nil where the file does not exist or may not be read.
pub fn stat(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    let Ok(found) = context.folders.find(path) else { return Ok(Value::Nil) };
    let Ok(meta) = fs::metadata(&found) else { return Ok(Value::Nil) };
    Ok(tree(&Tree::Array(vec![
        Tree::Str(kind(&meta).into()),
        Tree::Int(meta.len() as i64),
        Tree::Float(seconds(meta.mtime(), meta.mtime_nsec())),
        Tree::Bool(files::is_readable(&found)),
    ])))
}

fn kind(meta: &Metadata) -> &'static str {
    use rustix::fs::FileType;
    match FileType::from_raw_mode(meta.mode()) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "characterSpecial",
        FileType::BlockDevice => "blockSpecial",
        _ => "unknown",
    }
}

fn seconds(seconds: i64, nanoseconds: i64) -> f64 {
    seconds as f64 + nanoseconds as f64 / 1e9
}

/// `file_stat_all(path or handle, follow)`: all metadata, in the order of library/core/stat.rb. Without `follow`, that
/// of a symbolic link itself.
pub fn stat_all(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (meta, readable) = match arg(args, 0) {
        handle @ Arg::Handle(_) => (file(context, handle)?.metadata(), true),
        given => {
            let path = given.path()?;
            let found = context.folders.readable(path)?;
            let readable = files::is_readable(&found);
            // A link's own metadata may be shown where its target may be read.
            let at = if arg(args, 1).truthy() { found.as_path() } else { path };
            (if arg(args, 1).truthy() { fs::metadata(at) } else { fs::symlink_metadata(at) }, readable)
        }
    };
    let meta = meta.map_err(|error| match arg(args, 0) {
        Arg::Handle(_) => exception(&error, ""),
        given => given.path().map_or_else(|raise| raise, |path| failed(&error, path)),
    })?;
    let number = |number: u64| Tree::Int(number.cast_signed());
    Ok(tree(&Tree::Array(vec![
        Tree::Str(kind(&meta).into()),
        number(meta.len()),
        Tree::Float(seconds(meta.mtime(), meta.mtime_nsec())),
        Tree::Float(seconds(meta.atime(), meta.atime_nsec())),
        Tree::Float(seconds(meta.ctime(), meta.ctime_nsec())),
        Tree::Bool(readable),
        number(meta.mode().into()),
        number(meta.ino()),
        number(meta.dev()),
        number(meta.nlink()),
        number(meta.uid().into()),
        number(meta.gid().into()),
        number(meta.blksize()),
        number(meta.blocks()),
    ])))
}

/// `dir_entries(path)`: the names in a folder, sorted, without `.` and `..`.
pub fn entries(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    let found = context.folders.readable(path)?;
    context.work.migrate();
    let listed = fs::read_dir(&found).map_err(|error| failed(&error, path))?;
    let mut names: Vec<Vec<u8>> = listed.flatten().map(|entry| entry.file_name().as_bytes().to_vec()).collect();
    names.sort();
    Ok(tree(&Tree::Array(names.into_iter().map(Tree::Str).collect())))
}

/// `dir_glob(pattern, flags, base or nil)`: the paths that match, sorted within each folder.
pub fn glob(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let pattern = arg(args, 0).bytes()?;
    arg(args, 0).path()?;
    let base = match arg(args, 2) {
        Arg::Nil => None,
        base => Some(base.path()?),
    };
    context.work.migrate();
    let until = context.work.until();
    let folders = &context.folders;
    let may_see = |path: &Path| folders.find(path).ok();
    let limits = glob::Limits { until, bytes_max: context.memory_bytes / 4, may_see: &may_see };
    match glob::walk(pattern, arg(args, 1).int()?, base, &limits) {
        Ok(found) => Ok(tree(&Tree::Array(found.into_iter().map(Tree::Str).collect()))),
        Err(glob::Stop::TooMuch) => Err(raise("NoMemoryError", "Dir.glob finds more names than there is memory for")),
        Err(glob::Stop::Late) => {
            let late = context.work.overdue();
            Err(late.unwrap_or_else(|| raise("IOError", io::Error::from(io::ErrorKind::TimedOut).to_string())))
        }
    }
}

/// `file_fnmatch(pattern, path, flags)`: whether the path matches.
pub fn fnmatch(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Bool(glob::matches(arg(args, 0).bytes()?, arg(args, 1).bytes()?, arg(args, 2).int()?)))
}
