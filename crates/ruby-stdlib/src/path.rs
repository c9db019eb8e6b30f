//! Reading of whole files, and paths. The folders that may be read are checked in `ruby_native::folders`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use ruby_native::folders::failed;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Bytes of a read beyond which the request migrates to a runner at once: the copy alone takes a while.
const QUICK_BYTES: u64 = 256 << 10;

/// File.read(path)
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    whole(context, arg(args, 0).path()?).map(Value::Str)
}

/// All bytes of a file. An exception where it may not be read, or is larger than the interpreter's memory limit.
pub fn whole(context: &mut Context<'_>, path: &Path) -> Result<Vec<u8>, Raise> {
    let found = context.folders.readable(path)?;
    let (file, length) = files::open(&found).map_err(|error| failed(&error, path))?;
    let most = context.memory_bytes as u64;
    let too_large = || raise("NoMemoryError", format!("{} is larger than the interpreter's memory", path.display()));
    // The bytes exist twice for a moment; beyond this the interpreter could not hold them anyway.
    if length > most {
        return Err(too_large());
    }
    let mut out = Vec::new();
    loop {
        // Some files have a size of 0 and are not empty, such as those of /proc, so the end is where a read returns
        // nothing.
        let wanted = length.saturating_sub(out.len() as u64).max(512).min(most + 1 - out.len() as u64);
        let part = read_at(context, &file, out.len() as u64, wanted).map_err(|error| failed(&error, path))?;
        if part.is_empty() {
            return Ok(out);
        }
        if out.is_empty() {
            out = part;
        } else {
            out.extend_from_slice(&part);
        }
        if out.len() as u64 > most {
            return Err(too_large());
        }
        if length > 0 && out.len() as u64 >= length {
            return Ok(out);
        }
    }
}

/// Reads up to `length` bytes; empty at the end. Bytes in the page cache are read on the I/O thread; for a read that
/// would wait for the disk, or is large, the request migrates to a runner.
pub fn read_at(context: &mut Context<'_>, file: &File, position: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut out = vec![0; usize::try_from(length).unwrap_or(0)];
    let here = if length <= QUICK_BYTES { read_now(file, &mut out, position) } else { None };
    let count = match here {
        Some(count) => count,
        None => {
            context.work.migrate();
            file.read_at(&mut out, position)?
        }
    };
    out.truncate(count);
    Ok(out)
}

#[cfg(target_os = "linux")]
fn read_now(file: &File, out: &mut [u8], position: u64) -> Option<usize> {
    let mut parts = [io::IoSliceMut::new(out)];
    // A count of 0 is the end, or a file system without this check: then the file is read in the usual way.
    let count = rustix::io::preadv2(file, &mut parts, position, rustix::io::ReadWriteFlags::NOWAIT).ok()?;
    (count > 0).then_some(count)
}

#[cfg(not(target_os = "linux"))]
fn read_now(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
    None
}

/// `file_expand(path, base or nil)`: the absolute path without `.` and `..`, by the text alone.
pub fn expand(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let given = arg(args, 0).path()?;
    let base = match arg(args, 1) {
        Arg::Nil => PathBuf::new(),
        base => base.path()?.to_owned(),
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

/// `user_home(name)`: the home folder of a user, by /etc/passwd; an ArgumentError where it has no such user.
pub fn user_home(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let name = arg(args, 0).text()?;
    let unknown = || raise("ArgumentError", format!("user {name} doesn't exist"));
    let users = fs::read_to_string("/etc/passwd").map_err(|_| unknown())?;
    // Name, password, user, group, description, home folder and shell.
    let homes = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let home = homes.into_iter().find_map(|user| match user[..] {
        [found, _, _, _, _, home, ..] if found == name => Some(home.to_owned()),
        _ => None,
    });
    home.map(|home| Value::Str(home.into_bytes())).ok_or_else(unknown)
}

/// `file_real(path)`: the absolute path without symbolic links.
pub fn real(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    let found = context.folders.readable(path)?;
    let real = fs::canonicalize(found).map_err(|error| failed(&error, path))?;
    Ok(Value::Str(real.as_os_str().as_bytes().to_vec()))
}

/// `allow(folder, to_write)`: adds a folder that may be read, or in which databases may be written. A FrozenError once
/// the application is loaded.
pub fn allow(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 0).path()?;
    let folders = &context.folders;
    if folders.is_sealed() {
        return Err(raise("FrozenError", "folders are allowed while the application is loaded: say it in config.ru"));
    }
    let allowed = if arg(args, 1).truthy() { folders.allow_write(path) } else { folders.allow_read(path) };
    allowed.map_err(|error| failed(&error, path))?;
    Ok(Value::Nil)
}

/// `seal(folders)`: ends the loading of the application. From now on it may read only below these folders and those
/// that were allowed.
pub fn seal(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    if context.folders.is_sealed() {
        return Err(raise("FrozenError", "the application is loaded already"));
    }
    if let Arg::Tree(tree) = arg(args, 0)
        && let Ok(Tree::Array(items)) = Tree::decode(tree)
    {
        for item in items {
            if let Tree::Str(folder) = item {
                // A folder that does not exist needs no permission.
                let _ = context.folders.allow_read(Path::new(OsStr::from_bytes(&folder)));
            }
        }
    }
    context.folders.seal();
    Ok(Value::Nil)
}
