//! Lists the Ruby files that become part of the binary.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&here).join("ruby");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths: Vec<_> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rb"));
    paths.sort();
    let entries: String = paths
        .iter()
        .map(|path| format!("({:?}, include_str!({path:?})),\n", path.file_name().unwrap_or_default()))
        .collect();
    fs::write(Path::new(&out).join("scripts.rs"), format!("&[\n{entries}]\n"))
}
