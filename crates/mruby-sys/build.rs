//! Compiles the C side of the border and links mruby: that of MRUBY_DIR, else the one that bin/setup has built, else
//! the one of `mruby-config` on the PATH. Our C is compiled with the flags of mruby's build, since a missing one would
//! silently shift the fields of its structs. Crates that depend on this one get the path of
//! the compiler to bytecode (mrbc) as DEP_MRUBY_COMPILER.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

struct Mruby {
    flags: Vec<String>,
    includes: Vec<PathBuf>,
    library: PathBuf,
    /// The program mrbc, which compiles Ruby to bytecode.
    compiler: PathBuf,
}

fn main() {
    println!("cargo:rerun-if-env-changed=MRUBY_DIR");
    println!("cargo:rerun-if-changed=c");
    let mruby = find();
    let mut shim = cc::Build::new();
    shim.files(sources()).includes(&mruby.includes).opt_level(2).flag("-Wno-unused-parameter");
    for flag in &mruby.flags {
        shim.flag(flag);
    }
    shim.flag("-fno-strict-aliasing").compile("fools_gold_shim");
    println!("cargo:rerun-if-changed={}", mruby.library.display());
    let folder = mruby.library.parent().unwrap_or(Path::new("/"));
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=mruby");
    println!("cargo:rustc-link-lib=m");
    println!("cargo::metadata=compiler={}", mruby.compiler.display());
}

/// The C files, in the order of their names, so that each build is the same.
fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir("c").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    files.sort();
    files
}

fn find() -> Mruby {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let built = manifest.join("../../build/mruby/host");
    let given = env::var_os("MRUBY_DIR").map(PathBuf::from);
    if let Some(mruby) = given.as_deref().and_then(in_folder) {
        return mruby;
    }
    if let Some(given) = given {
        fail(&format!(
            "MRUBY_DIR names {}, but there is no lib/libmruby.a with lib/libmruby.flags.mak in it",
            given.display()
        ));
    }
    in_folder(&built).or_else(from_config).unwrap_or_else(|| {
        fail("mruby is not there yet: run bin/setup, or set MRUBY_DIR to a folder with include/ and lib/libmruby.a")
    })
}

fn in_folder(folder: &Path) -> Option<Mruby> {
    let folder = folder.canonicalize().ok()?;
    let library = folder.join("lib/libmruby.a");
    let makefile = fs::read_to_string(folder.join("lib/libmruby.flags.mak")).ok()?;
    let flags = makefile.lines().find(|line| line.starts_with("MRUBY_CFLAGS"))?;
    let flags = flags.split_whitespace().filter(|word| word.starts_with("-D")).map(str::to_owned).collect();
    let compiler = folder.join("bin/mrbc");
    library.is_file().then(|| Mruby { flags, includes: vec![folder.join("include")], library, compiler })
}

fn from_config() -> Option<Mruby> {
    let ask = |what: &str| -> Option<String> {
        let output = Command::new("mruby-config").arg(what).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let flags: Vec<String> = ask("--cflags")?.split_whitespace().map(str::to_owned).collect();
    let library = PathBuf::from(ask("--libmruby-path")?);
    let flags = flags.into_iter().filter(|flag| flag.starts_with("-D") || flag.starts_with("-I")).collect();
    library.is_file().then(|| Mruby { flags, includes: Vec::new(), library, compiler: "mrbc".into() })
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1);
}
