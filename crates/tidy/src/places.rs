//! Words that are allowed in certain places only: the HTTP library, unsafe code, arguments and the environment.

use crate::tree::{Tree, has_word};

struct Place {
    words: &'static [&'static str],
    /// Prefixes of paths that may contain them.
    may: &'static [&'static str],
    instead: &'static str,
}

const PLACES: [Place; 3] = [
    Place {
        words: &["hyper::", "use hyper"],
        // The load generator is an HTTP client and uses no engine.
        may: &["crates/front/", "crates/loadgen/src/", "bench/", "tests/"],
        instead: "only front names hyper: use the engine's types",
    },
    Place {
        words: &["unsafe"],
        may: &[
            // Calls the interpreter, in C, and owns it: it is opened and closed once.
            "crates/engine-mruby/src/vm.rs",
            // Called by C, with the address of the host and pointers to texts.
            "crates/engine-mruby/src/host.rs",
            // Called by C as well; the interpreter holds patterns by their address.
            "crates/engine-mruby/src/patterns.rs",
            // Gives C the keys of the Rack environment by pointer and length.
            "crates/engine-mruby/src/environment.rs",
            // Sets the interpreter's deadline from the watchdog's thread.
            "crates/engine-mruby/src/run_state.rs",
            // An interpreter, which has pointers, goes from thread to thread, and its work runs on another stack.
            "crates/engine-mruby/src/interpreter.rs",
            // A suspended stack is resumed in another thread.
            "crates/engine-mruby/src/stack.rs",
            // The declarations of the C functions, and of the types that both sides share.
            "crates/mruby-sys/",
            // SQLite is a library in C.
            "crates/ruby-data/src/sqlite/",
        ],
        instead: "only borders to C and stacks that change their thread are unsafe code: find a crate that is safe",
    },
    Place {
        words: &["env::var", "env::vars", "env::var_os", "env::vars_os", "env::args", "env::args_os", "env::set_var"],
        // An application's ENV is the environment itself, read when Ruby asks for it.
        may: &[
            "crates/server/",
            "crates/arena/src/command/",
            "crates/engine-mruby/src/native/log.rs",
            "bench/",
            "fuzz/checks/",
            "tests/",
        ],
        instead: "only programs read arguments and the environment: take the value as a setting",
    },
];

/// Complaints about words outside their places.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    // Build scripts run on the builder's machine, tests and examples are programs of their own, and this crate contains
    // the words that it forbids.
    let own_program = |path: &str| path.contains("/tests/") || path.contains("/examples/");
    let free = |path: &str| path.ends_with("build.rs") || path.starts_with("crates/tidy/") || own_program(path);
    for file in tree.ending(&[".rs"]).filter(|file| !free(&file.path)) {
        let closed = PLACES.iter().filter(|place| !place.may.iter().any(|start| file.path.starts_with(start)));
        for place in closed {
            for (line, code) in file.code() {
                if place.words.iter().any(|word| has_word(code, word)) {
                    complaints.push(format!("{}:{line}: {}", file.path, place.instead));
                }
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_their_place_are_found() {
        let bad = "use hyper::body;\nlet x = unsafe { 1 };\nlet y = std::env::var(\"Y\");\n// hyper:: in a comment\n";
        let found = check(&Tree::of(&[("crates/engine/src/a.rs", bad)]));
        assert_eq!(found.len(), 3, "{found:?}");
        let found = check(&Tree::of(&[("crates/engine-mruby/src/pool.rs", "unsafe { 1 }")]));
        assert_eq!(found.len(), 1, "{found:?}");
        let tree = Tree::of(&[
            ("crates/front/src/a.rs", "use hyper::body;"),
            ("crates/engine-mruby/src/vm.rs", "unsafe { 1 }"),
            ("crates/server/src/a.rs", "std::env::vars_os()"),
            ("crates/x/build.rs", "env::var(\"X\")"),
            ("crates/engine/src/a.rs", "env!(\"CARGO_PKG_VERSION\")"),
        ]);
        assert_eq!(check(&tree), Vec::<String>::new());
    }
}
