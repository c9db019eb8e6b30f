//! Temporary files and folders. If the temporary folder is unusable (a read-only file system, a `TMPDIR` that does not
//! exist), files are kept in memory, up to a limit, and folders are made in `/dev/shm`. A folder is locked while its
//! process lives, so that a later process can recognise and remove those that dead ones have left.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, MemfdFlags, OFlags, fallocate, memfd_create};
use tempfile::TempDir;

/// Most bytes of all temporary files in memory together.
const MEMORY_BYTES: u64 = 64 << 20;
/// A file system in memory that nearly every machine and container has.
const SHARED_MEMORY: &str = "/dev/shm";
/// Longest path of a parent folder, so that the path of a Unix socket inside stays within the system's limit of about
/// 108 bytes.
const PATH_BYTES: usize = 80;
/// Attempts to make a folder: another process that sweeps may remove a new one before it is locked.
const TRIES: usize = 8;

static IN_MEMORY: AtomicU64 = AtomicU64::new(0);
static WHY_IN_MEMORY: Mutex<String> = Mutex::new(String::new());
static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// An unlinked temporary file; the system frees its space when it is closed.
#[derive(Debug)]
pub struct TempFile {
    file: File,
    /// Its part of [`MEMORY_BYTES`]; `None` if it is on disk.
    taken: Option<Taken>,
}

/// The part of [`MEMORY_BYTES`] of one file: the bytes from `freed` to `length`.
#[derive(Debug, Default)]
struct Taken {
    length: AtomicU64,
    freed: AtomicU64,
}

impl Taken {
    /// Gives everything back.
    fn clear(&self) {
        let length = self.length.swap(0, Ordering::Relaxed);
        IN_MEMORY.fetch_sub(length - self.freed.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl TempFile {
    /// Creates an empty file: in the temporary folder, else in memory.
    pub fn new() -> io::Result<TempFile> {
        match tempfile::tempfile_in(folder()) {
            Ok(file) => Ok(TempFile { file, taken: None }),
            Err(error) if is_no_place(&error) => {
                warn_once(&error);
                Ok(TempFile { file: in_memory()?, taken: Some(Taken::default()) })
            }
            Err(error) => Err(error),
        }
    }

    /// Creates a file in memory with this content, which does not count towards the limit.
    pub fn of(bytes: &[u8]) -> io::Result<TempFile> {
        let file = in_memory()?;
        file.write_all_at(bytes, 0)?;
        Ok(TempFile { file, taken: None })
    }

    /// Writes all bytes at position `at`. `StorageFull` if there is no space.
    pub fn put(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.make_room(at + bytes.len() as u64)?;
        self.file.write_all_at(bytes, at).map_err(|error| match (&self.taken, error.kind()) {
            (None, kind @ (ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) => {
                io::Error::new(kind, format!("{error}, in {}", folder().display()))
            }
            _ => error,
        })
    }

    /// Empties the file and frees its space.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.taken.iter().for_each(Taken::clear);
        Ok(())
    }

    /// Frees the space of the bytes before position `at`, which must have been written, and are zeros from then on.
    /// Returns whether the file system can do that.
    pub fn free_before(&self, at: u64) -> bool {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let is_freed = fallocate(&self.file, flags, 0, at).is_ok();
        if let Some(taken) = self.taken.as_ref().filter(|_| is_freed) {
            let before = taken.freed.fetch_max(at, Ordering::Relaxed);
            IN_MEMORY.fetch_sub(at.saturating_sub(before), Ordering::Relaxed);
        }
        is_freed
    }

    fn make_room(&self, length: u64) -> io::Result<()> {
        let Some(taken) = &self.taken else { return Ok(()) };
        let more = length.saturating_sub(taken.length.load(Ordering::Relaxed));
        let add = |sum: u64| sum.checked_add(more).filter(|sum| *sum <= MEMORY_BYTES);
        if IN_MEMORY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            let why = WHY_IN_MEMORY.lock().clone();
            let limit = MEMORY_BYTES >> 20;
            return Err(io::Error::new(ErrorKind::StorageFull, format!("the {limit} MiB of memory are full: {why}")));
        }
        taken.length.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }
}

/// Wraps a file opened elsewhere, which does not count towards the limit of those in memory.
impl From<File> for TempFile {
    fn from(file: File) -> TempFile {
        TempFile { file, taken: None }
    }
}

impl Deref for TempFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.taken.iter().for_each(Taken::clear);
    }
}

/// The folder for temporary files: `TMPDIR`, or `/tmp` where that is not set.
pub fn folder() -> PathBuf {
    or_usual(std::env::temp_dir())
}

/// This folder, or `/tmp` if its name is empty: Compose passes a variable without a value as an empty one, and an empty
/// path would be the working directory.
fn or_usual(named: PathBuf) -> PathBuf {
    if named.as_os_str().is_empty() { PathBuf::from("/tmp") } else { named }
}

/// Tries to create a temporary file, so that the log says at the start where they are kept.
pub fn check() {
    drop(TempFile::new());
}

fn in_memory() -> io::Result<File> {
    Ok(memfd_create("foolsgold", MemfdFlags::CLOEXEC)?.into())
}

/// Whether the folder is unusable, as opposed to a full disk or too many open files.
fn is_no_place(error: &io::Error) -> bool {
    use ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Why nothing can be made in a folder. The crate `tempfile` puts the path of its attempt into the error's text; the
/// kind suffices.
fn reason(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        kind => io::Error::from(kind).to_string(),
    }
}

fn warn_once(error: &io::Error) {
    if HAS_WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    let folder = folder();
    let limit = MEMORY_BYTES >> 20;
    let why = reason(error.kind());
    let text = format!(
        "no temporary file can be made in {} ({why}); name a folder that can be written to by TMPDIR",
        folder.display()
    );
    tracing::warn!(
        target: "server",
        "large bodies and responses that wait are kept in memory, {limit} MiB at most: {text}"
    );
    *WHY_IN_MEMORY.lock() = text;
}

/// A temporary folder, removed when this value is dropped.
#[derive(Debug)]
pub struct TempFolder {
    folder: TempDir,
    /// The open, locked folder. The lock also keeps systemd-tmpfiles from removing it for its age.
    lock: File,
}

impl TempFolder {
    /// Creates a folder whose name begins with `prefix`, for this user only: in the temporary folder, else in shared
    /// memory. Removes folders with this prefix that dead processes of this user have left there.
    pub fn new(prefix: &str) -> io::Result<TempFolder> {
        TempFolder::with(prefix, |_| Ok(())).map(|(folder, ())| folder)
    }

    /// Creates a folder and fills it by `fill`. If that fails, as on a full disk, tries the next place.
    pub fn with<T>(prefix: &str, fill: impl Fn(&Path) -> io::Result<T>) -> io::Result<(TempFolder, T)> {
        let mut why = Vec::new();
        for place in [folder(), PathBuf::from(SHARED_MEMORY)] {
            let made = if place.as_os_str().len() > PATH_BYTES {
                Err(io::Error::other("its name is too long for the path of a socket"))
            } else {
                TempFolder::made_in(&place, prefix)
            };
            let filled = made.and_then(|folder| {
                // Folders of dead processes may be why there is no space.
                folder.sweep(&place, prefix);
                fill(folder.path()).map(|content| (folder, content))
            });
            match filled {
                Ok(filled) => return Ok(filled),
                Err(error) => why.push(format!("{}: {error}", place.display())),
            }
        }
        Err(io::Error::other(format!(
            "no temporary folder can be made ({}): name one that can be written to by TMPDIR",
            why.join("; ")
        )))
    }

    fn made_in(place: &Path, prefix: &str) -> io::Result<TempFolder> {
        let private = Permissions::from_mode(0o700);
        for _ in 0..TRIES {
            let made = tempfile::Builder::new().prefix(prefix).permissions(private.clone()).tempdir_in(place);
            let folder = made.map_err(|error| io::Error::new(error.kind(), reason(error.kind())))?;
            let Ok(lock) = open(folder.path()) else { continue };
            match lock.try_lock() {
                Ok(()) if is_same(folder.path(), &lock) => return Ok(TempFolder { folder, lock }),
                // As where a network file system has no locks.
                Err(TryLockError::Error(error)) => {
                    return Err(io::Error::new(error.kind(), format!("its folders cannot be locked: {error}")));
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {}
            }
        }
        Err(io::Error::other("each new folder was taken away at once"))
    }

    /// Lets the members of this group enter the folder, too.
    pub fn let_in(&self, group: u32) -> io::Result<()> {
        std::os::unix::fs::chown(self.path(), None, Some(group))?;
        fs::set_permissions(self.path(), Permissions::from_mode(0o710))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the folder still exists and was not replaced by another one of this name.
    pub fn is_there(&self) -> bool {
        is_same(self.path(), &self.lock)
    }

    fn sweep(&self, place: &Path, prefix: &str) {
        let Ok(ours) = fs::symlink_metadata(self.path()) else { return };
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_named = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
            if is_named && path != self.path() && is_left(&path, ours.uid()) {
                // Another process may have removed it already.
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Whether this is a folder of this user that no process has locked.
fn is_left(path: &Path, uid: u32) -> bool {
    let is_ours = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == uid);
    is_ours && open(path).is_ok_and(|folder| folder.try_lock().is_ok())
}

fn open(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(folder)
}

fn is_same(path: &Path, folder: &File) -> bool {
    let (named, opened) = (fs::symlink_metadata(path), folder.metadata());
    named.is_ok_and(|named| opened.is_ok_and(|opened| (named.dev(), named.ino()) == (opened.dev(), opened.ino())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_left_is_removed_and_one_that_is_in_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        let made = || {
            let folder = TempFolder::made_in(place.path(), "ours-").unwrap();
            folder.sweep(place.path(), "ours-");
            folder
        };
        let first = made();
        fs::write(first.path().join("file"), "gold").unwrap();
        let left = place.path().join("ours-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "old").unwrap();
        fs::create_dir(place.path().join("other-left")).unwrap();
        fs::write(place.path().join("ours-file"), "").unwrap();
        std::os::unix::fs::symlink(place.path().join("other-left"), place.path().join("ours-link")).unwrap();
        let second = made();
        assert!(!left.exists() && first.path().join("file").exists() && second.path().exists());
        for name in ["other-left", "ours-file", "ours-link"] {
            assert!(fs::symlink_metadata(place.path().join(name)).is_ok(), "{name} is none of ours");
        }
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
        assert_eq!(fs::metadata(first.path()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_called_so() {
        let place = tempfile::tempdir().unwrap();
        let error = TempFolder::made_in(&place.path().join("none"), "ours-").unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NotFound, "there is no such folder"));
        assert_eq!(reason(ErrorKind::PermissionDenied), "permission denied");
    }

    #[test]
    fn an_empty_name_of_the_folder_is_none() {
        assert_eq!(or_usual(PathBuf::new()), Path::new("/tmp"));
        assert_eq!(or_usual("/var/tmp".into()), Path::new("/var/tmp"));
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let file = |taken| TempFile { file: in_memory().unwrap(), taken };
        let (one, other) = (file(Some(Taken::default())), file(Some(Taken::default())));
        one.put(b"gold", 0).unwrap();
        one.put(b"gold", 2).unwrap();
        assert_eq!(IN_MEMORY.load(Ordering::Relaxed), 6);
        let mut read = [0; 6];
        one.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"gogold");
        assert_eq!(other.put(b"x", MEMORY_BYTES - 6).unwrap_err().kind(), ErrorKind::StorageFull);
        one.clear().unwrap();
        other.put(b"x", MEMORY_BYTES - 6).unwrap();
        assert!(other.free_before(MEMORY_BYTES - 16));
        assert_eq!(IN_MEMORY.load(Ordering::Relaxed), 11, "what was written there and later");
        drop((one, other));
        assert_eq!(IN_MEMORY.load(Ordering::Relaxed), 0);
        file(None).put(b"x", 2 * MEMORY_BYTES).unwrap();
    }

    #[test]
    fn files_are_kept_in_memory_where_the_folder_is_of_no_use_and_not_where_it_is_full() {
        use ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem, StorageFull};
        for kind in [NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem] {
            assert!(is_no_place(&kind.into()), "{kind}");
        }
        // EMFILE has no kind of its own.
        let no_file = io::Error::from_raw_os_error(24);
        assert!(!is_no_place(&StorageFull.into()) && !is_no_place(&no_file));
    }

    #[test]
    fn a_folder_that_was_replaced_by_another_of_its_name_is_not_there() {
        let place = tempfile::tempdir().unwrap();
        let folder = TempFolder::made_in(place.path(), "ours-").unwrap();
        assert!(folder.is_there());
        fs::rename(folder.path(), place.path().join("away")).unwrap();
        assert!(!folder.is_there());
        fs::create_dir(folder.path()).unwrap();
        assert!(!folder.is_there());
    }

    #[test]
    fn a_folder_that_cannot_be_filled_leaves_nothing_and_the_error_names_each_place() {
        let tried = Mutex::new(Vec::new());
        let made = TempFolder::with("ours-never-filled-", |folder| {
            tried.lock().push(folder.to_owned());
            Err::<(), io::Error>(io::Error::other("it is full"))
        });
        let error = made.unwrap_err().to_string();
        assert!(error.contains("it is full") && error.contains("TMPDIR"), "{error}");
        let tried = tried.into_inner();
        assert!(!tried.is_empty() && tried.iter().all(|folder| !folder.exists()), "{tried:?}");
        assert!(error.contains(SHARED_MEMORY), "{error}");
    }
}
