//! Exceptions for errors of the operating system: the classes of Ruby's `Errno`, with CRuby's words.

use std::io::{self, ErrorKind};

use rustix::io::Errno;

use crate::value::{Raise, raise};

/// The errors that work with files ends with: number, class and words.
const KNOWN: &[(Errno, &str, &str)] = &[
    (Errno::ACCESS, "Errno::EACCES", "Permission denied"),
    (Errno::DQUOT, "Errno::EDQUOT", "Disk quota exceeded"),
    (Errno::FBIG, "Errno::EFBIG", "File too large"),
    (Errno::INVAL, "Errno::EINVAL", "Invalid argument"),
    (Errno::IO, "Errno::EIO", "Input/output error"),
    (Errno::ISDIR, "Errno::EISDIR", "Is a directory"),
    (Errno::LOOP, "Errno::ELOOP", "Too many levels of symbolic links"),
    (Errno::MFILE, "Errno::EMFILE", "Too many open files"),
    (Errno::NAMETOOLONG, "Errno::ENAMETOOLONG", "File name too long"),
    (Errno::NFILE, "Errno::ENFILE", "Too many open files in system"),
    (Errno::NODEV, "Errno::ENODEV", "No such device"),
    (Errno::NOENT, "Errno::ENOENT", "No such file or directory"),
    (Errno::NOSPC, "Errno::ENOSPC", "No space left on device"),
    (Errno::NOTDIR, "Errno::ENOTDIR", "Not a directory"),
    (Errno::NOTEMPTY, "Errno::ENOTEMPTY", "Directory not empty"),
    (Errno::NXIO, "Errno::ENXIO", "No such device or address"),
    (Errno::PERM, "Errno::EPERM", "Operation not permitted"),
    (Errno::ROFS, "Errno::EROFS", "Read-only file system"),
];

/// The classes of `Errno` that [`exception`] names. An interpreter must have them before a native function is called.
pub fn classes() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(_, class, _)| *class)
}

/// The exception for an error; `place` follows the words for it, and may be empty. An error that is none of the
/// operating system's is an IOError.
pub fn exception(error: &io::Error, place: &str) -> Raise {
    match number(error).and_then(|number| KNOWN.iter().find(|(known, ..)| *known == number)) {
        Some(&(_, class, words)) => raise(class, format!("{words}{place}")),
        // The superclass of all classes of Errno.
        None if error.raw_os_error().is_some() => raise("SystemCallError", format!("{error}{place}")),
        None => raise("IOError", format!("{error}{place}")),
    }
}

/// The number of an error, or one of its kind where there is only the kind.
fn number(error: &io::Error) -> Option<Errno> {
    let of_kind = || match error.kind() {
        ErrorKind::NotFound => Some(Errno::NOENT),
        ErrorKind::PermissionDenied => Some(Errno::ACCESS),
        ErrorKind::IsADirectory => Some(Errno::ISDIR),
        ErrorKind::NotADirectory => Some(Errno::NOTDIR),
        _ => None,
    };
    Errno::from_io_error(error).or_else(of_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_operating_system_is_a_system_call_error() {
        for (number, class, words) in KNOWN {
            let raised = exception(&io::Error::from(*number), " - a");
            assert_eq!((raised.class, raised.message), (*class, format!("{words} - a")));
            // CRuby has the words of the C library.
            let said = io::Error::from(*number).to_string();
            assert!(!cfg!(target_env = "gnu") || said.starts_with(&format!("{words} (")), "{said}");
        }
        let other = exception(&io::Error::from(Errno::DEADLK), "");
        assert_eq!(other.class, "SystemCallError");
        assert_eq!(exception(&ErrorKind::IsADirectory.into(), "").class, "Errno::EISDIR");
        assert_eq!(exception(&io::Error::other("it is not a regular file"), "").class, "IOError");
    }
}
