//! Finds the application's file: what was named, or config.ru in the folder that was named, or in the current one.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The absolute path of a file that can be read, or a sentence on why there is none and what to do.
pub fn find(named: Option<&Path>) -> Result<PathBuf, String> {
    let named = named.unwrap_or(Path::new("."));
    let is_folder = match fs::metadata(named) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("{}: there is no such file; name the application's config.ru", named.display()));
        }
        Err(error) => return Err(format!("{}: cannot be looked at: {error}", named.display())),
    };
    let path = if is_folder { named.join("config.ru") } else { named.to_owned() };
    match File::open(&path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(format!("{}: is not a file", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
            return Err(format!(
                "{}: there is no config.ru in this folder; go to the application's folder or name its config.ru",
                folder.display()
            ));
        }
        Err(error) => return Err(format!("{}: cannot be read: {error}", path.display())),
    }
    fs::canonicalize(&path).map_err(|error| format!("{}: cannot be found again: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_folder_with_one_are_found_and_all_else_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refusal = |path: PathBuf| find(Some(&path)).unwrap_err();
        assert!(
            refusal(at("nothing.ru")).ends_with("nothing.ru: there is no such file; name the application's config.ru")
        );
        assert!(refusal(at("")).contains("there is no config.ru in this folder"));
        fs::create_dir(at("sub")).unwrap();
        fs::create_dir(at("sub/config.ru")).unwrap();
        assert!(refusal(at("sub")).ends_with("config.ru: is not a file"));
        fs::write(at("config.ru"), "run {}").unwrap();
        let real = fs::canonicalize(at("config.ru")).unwrap();
        assert_eq!(find(Some(&at("config.ru"))), Ok(real.clone()));
        assert_eq!(find(Some(&at(""))), Ok(real));
    }
}
