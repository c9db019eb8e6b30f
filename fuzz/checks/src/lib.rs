//! What the fuzz targets do with the bytes that they are given: a function for each. Here, since a program of libFuzzer
//! links only with the flags that bin/fuzz gives, and what it calls is compiled with all other tests.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a panic is how a target says no, and what it tries is shown to whoever asks for it"
)]

pub mod chunks;
pub mod environment;
pub mod interpreter;
pub mod pattern;
pub mod request_head;
pub mod response_head;
pub mod syntax;
pub mod tree;
pub mod worker_frames;

#[path = "../../../crates/engine-mruby/tests/support/mod.rs"]
mod support;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    type Check = fn(&[u8]);

    /// The names of the files in a folder, without their endings, sorted.
    fn names(folder: &Path) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<String> = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().into()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_target_takes_its_first_inputs() {
        let targets: [(&str, Check); 9] = [
            ("chunks", chunks::check),
            ("environment", environment::check),
            ("interpreter", interpreter::check),
            ("pattern", pattern::check),
            ("request_head", request_head::check),
            ("response_head", response_head::check),
            ("syntax", syntax::check),
            ("tree", tree::check),
            ("worker_frames", worker_frames::check),
        ];
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(names(&fuzz.join("fuzz_targets")), targets.map(|(name, _)| name));
        let seeded = names(&fuzz.join("seeds"));
        for (name, check) in targets {
            // What libFuzzer begins with, seeds or none.
            check(b"");
            let seeds = fuzz.join("seeds").join(name);
            assert_eq!(seeds.is_dir(), name != "syntax", "{name}: only the target of programs has no first inputs");
            for seed in fs::read_dir(seeds).into_iter().flatten() {
                check(&fs::read(seed.unwrap().path()).unwrap());
            }
        }
        assert!(seeded.iter().all(|name| targets.iter().any(|(target, _)| target == name)), "{seeded:?}");
    }
}
