//! Lists the Ruby files, and the sources of the native worker, that become part of the binary.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    list("ruby", "scripts.rs", &["rb"])?;
    list("native", "native.rs", &["rb", "c", "h"])
}

/// Writes a Rust array of the files in a folder with this ending, sorted by name, each with its text.
fn list(folder: &str, to: &str, endings: &[&str]) -> io::Result<()> {
    let here = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&here).join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending)));
    paths.sort();
    let entries: String = paths
        .iter()
        .map(|path| format!("({:?}, include_str!({path:?})),\n", path.file_name().unwrap_or_default()))
        .collect();
    fs::write(Path::new(&out).join(to), format!("&[\n{entries}]\n"))
}
