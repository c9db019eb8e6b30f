//! Compiles the built-in files of Ruby's own library, which are unchanged, to bytecode. ruby/cruby.sha256 lists them;
//! they are in RUBY_DIR, else where bin/setup has unpacked them. The compiler is that of the mruby that is linked.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The built-in files of Ruby's own library, each behind its checksum.
const RUBY_FILES: &str = include_str!("ruby/cruby.sha256");

/// The folder of these files in backtraces.
const RUBY_FOLDER: &str = "<ruby>";

fn main() {
    let compiler = env::var_os("DEP_MRUBY_COMPILER").map_or_else(|| "mrbc".into(), PathBuf::from);
    compile_ruby(&compiler);
}

/// Compiles the files and writes the table of names and bytecode that prelude.rs includes.
fn compile_ruby(compiler: &Path) {
    println!("cargo:rerun-if-env-changed=RUBY_DIR");
    println!("cargo:rerun-if-changed=ruby/cruby.sha256");
    println!("cargo:rerun-if-changed={}", compiler.display());
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let ruby = env::var_os("RUBY_DIR").map_or_else(|| manifest.join("../../build/ruby/src"), PathBuf::from);
    let mut table = String::from("&[\n");
    for path in RUBY_FILES.lines().filter_map(|line| line.split_once("  ")).map(|(_, path)| path) {
        let source = ruby.join(path);
        println!("cargo:rerun-if-changed={}", source.display());
        let file = path.rsplit_once("lib/").map_or(path, |(_, file)| file);
        let name = file.trim_end_matches(".rb");
        let copy = out.join(RUBY_FOLDER).join(file);
        let code = copy.with_extension("mrb");
        let copied = copy.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&source, &copy));
        if let Err(error) = copied {
            fail(&format!(
                "Ruby's library is not there ({}: {error}): run bin/setup, or set RUBY_DIR to Ruby's unpacked source",
                source.display()
            ));
        }
        // Backtraces have the path that is given to the compiler.
        let given = format!("{RUBY_FOLDER}/{file}");
        let ended = Command::new(compiler).arg("-g").arg("-o").arg(&code).arg(&given).current_dir(&out).output();
        match ended {
            Ok(output) if output.status.success() => {}
            Ok(output) => fail(&format!("{given}: {}", String::from_utf8_lossy(&output.stderr))),
            Err(error) => fail(&format!("{}: {error}", compiler.display())),
        }
        let _ = writeln!(table, "    (c{name:?}, include_bytes!({code:?})),");
    }
    table.push_str("]\n");
    if let Err(error) = fs::write(out.join("cruby.rs"), table) {
        fail(&format!("cruby.rs: {error}"));
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1);
}
