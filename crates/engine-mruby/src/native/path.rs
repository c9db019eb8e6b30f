//! Files, for reading: enough for `require`, templates and assets.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::{Arg, Context, Outcome, Raise, Value, arg, raise};
use crate::tree::Tree;
use engine::regular;

/// The path that an argument names.
pub fn path<'a>(value: Arg<'a>) -> Result<&'a Path, Raise> {
    let bytes = value.bytes()?;
    if bytes.contains(&0) {
        return Err(raise("ArgumentError", "string contains null byte"));
    }
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// The exception for an error of the system.
pub fn failed(error: &io::Error, path: &Path) -> Raise {
    // The classes of Errno put their own words before what they are given.
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => raise("Errno::ENOENT", shown.to_string()),
        io::ErrorKind::PermissionDenied => raise("Errno::EACCES", shown.to_string()),
        io::ErrorKind::IsADirectory => raise("Errno::EISDIR", shown.to_string()),
        _ => raise("IOError", format!("{error}: {shown}")),
    }
}

/// File.read(path)
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    whole(context, path(arg(args, 0))?).map(Value::Str)
}

/// The same of a file of code, which is the same for all interpreters once one has read it while it was loaded.
pub fn read_source(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = path(arg(args, 0))?;
    if let Some(known) = context.shared.source(path) {
        return Ok(Value::Str(known.to_vec()));
    }
    let source = whole(context, path)?;
    if context.exchange.is_some() {
        return Ok(Value::Str(source));
    }
    Ok(Value::Str(context.shared.remember(path, source.into()).to_vec()))
}

/// Whether that file is among those that were read; it may be gone by now.
pub fn knows_source(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let is_known = context.shared.source(path(arg(args, 0))?).is_some();
    Ok(if is_known { Value::Int(1) } else { Value::Nil })
}

fn whole(context: &Context<'_>, path: &Path) -> Result<Vec<u8>, Raise> {
    let (file, length) = regular::open(path).map_err(|error| failed(&error, path))?;
    let most = context.shared.memory_bytes as u64;
    let too_large = || raise("NoMemoryError", format!("{} is larger than the interpreter's memory", path.display()));
    // The bytes exist twice for a moment; beyond this the interpreter could not hold them anyway.
    if length > most {
        return Err(too_large());
    }
    let mut out = Vec::with_capacity(length as usize);
    // Some files say they are empty and are not, those of /proc for one.
    file.take(most + 1).read_to_end(&mut out).map_err(|error| failed(&error, path))?;
    if out.len() as u64 > most { Err(too_large()) } else { Ok(out) }
}

/// stat(path) → [kind, size, modified, readable], or nil where there is nothing
pub fn stat(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = path(arg(args, 0))?;
    let Ok(meta) = fs::metadata(path) else { return Ok(Value::Nil) };
    let kind = match () {
        () if meta.is_file() => "file",
        () if meta.is_dir() => "directory",
        () => "other",
    };
    let since = meta.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let mut out = Vec::new();
    Tree::Array(vec![
        Tree::Str(kind.into()),
        Tree::Int(meta.len() as i64),
        Tree::Float(since.map_or(0.0, |since| since.as_secs_f64())),
        Tree::Bool(regular::is_readable(path)),
    ])
    .encode(&mut out);
    Ok(Value::Tree(out))
}

/// expand(path, base or nil): absolute, without `.` and `..`, by the text alone.
pub fn expand(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let given = path(arg(args, 0))?;
    let base = match arg(args, 1) {
        Arg::Nil => PathBuf::new(),
        base => path(base)?.to_owned(),
    };
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut out = PathBuf::from("/");
    for component in here.join(base).join(given).components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(part) => out.push(part),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(Value::Str(out.as_os_str().as_bytes().to_vec()))
}

/// entries(path): the names in a folder, sorted
pub fn entries(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = path(arg(args, 0))?;
    let listed = fs::read_dir(path).map_err(|error| failed(&error, path))?;
    let mut names: Vec<Vec<u8>> = listed.flatten().map(|entry| entry.file_name().as_bytes().to_vec()).collect();
    names.sort();
    let mut out = Vec::new();
    Tree::Array(names.into_iter().map(Tree::Str).collect()).encode(&mut out);
    Ok(Value::Tree(out))
}
