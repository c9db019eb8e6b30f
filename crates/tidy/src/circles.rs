//! Files of a crate do not depend on each other in a circle: a file in one cannot be read, tested or moved alone.
//!
//! A file depends on the file that declares what it names: by `use crate::`, `super::` or `self::`, by a path in the
//! code, and in C by `#include` and by a function's name. Re-exports are followed to the declaration, so a facade (`mod
//! a; pub use a::A;`) does not lead to its other children, and `mod a;` and `pub use` are no dependencies of the
//! facade. A parent counts like any file: if it calls its child, and the child uses a type of the parent, that is a
//! circle of two, because a child must be understandable without its parent; the type belongs in a child of its own.
//! That holds for lib.rs and main.rs as well. Method calls are not seen.
//!
//! The same holds for the folders of a crate's src/, called rooms: they depend on each other downwards only. A file in
//! src/ itself is a room of its own, unless it is the crate's root; `a.rs` beside `a/` is a part of that room.

use std::collections::{BTreeMap, BTreeSet};

use crate::c_calls;
use crate::imports::{self, Arrows};
use crate::tree::Tree;

/// Where the crates are, the programs of bench/ included.
const CRATES: [&str; 2] = ["crates/", "bench/"];
/// Where C of ours is. That in mruby/ becomes a part of mruby's own files.
const WITH_C: [&str; 2] = ["crates/", "mruby/"];

/// Complaints about circles, one for each.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for root in roots(tree) {
        match imports::of(tree, root) {
            Ok(arrows) => {
                complaints.extend(told(&arrows, &circles(&arrows)));
                let rooms = between_rooms(root, &arrows);
                // Those of files alone are told already.
                let of_rooms: Vec<_> = circles(&rooms).into_iter().filter(has_folder).collect();
                complaints.extend(told(&rooms, &of_rooms));
            }
            Err(error) => complaints.push(error),
        }
    }
    for folder in folders_of_c(tree) {
        let arrows = c_calls::of(tree, &folder);
        complaints.extend(told(&arrows, &circles(&arrows)));
    }
    complaints
}

fn roots(tree: &Tree) -> impl Iterator<Item = &str> {
    let roots = tree.ending(&["/src/lib.rs", "/src/main.rs"]).map(|file| file.path.as_str());
    roots.filter(|path| is_in(path, &CRATES))
}

fn folders_of_c(tree: &Tree) -> BTreeSet<String> {
    let files = tree.ending(&[".c"]).filter(|file| is_in(&file.path, &WITH_C));
    files.filter_map(|file| Some(file.path.rsplit_once('/')?.0.to_owned())).collect()
}

fn is_in(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// The dependencies between rooms.
fn between_rooms(root: &str, arrows: &Arrows) -> Arrows {
    let source = &root[..=root.rfind('/').unwrap_or_default()];
    let files: BTreeSet<&str> = arrows.keys().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    let room = |file: &str| {
        let name = file.strip_prefix(source).filter(|_| file != root)?;
        let folder = name.split_once('/').map_or(name.trim_end_matches(".rs"), |(folder, _)| folder);
        let folder = format!("{source}{folder}/");
        let is_there = files.iter().any(|file| file.starts_with(&folder));
        Some(if is_there { folder } else { file.to_owned() })
    };
    let mut rooms = Arrows::new();
    for ((from, to), names) in arrows {
        if let (Some(from), Some(to)) = (room(from), room(to))
            && from != to
        {
            rooms.entry((from, to)).or_default().extend(names.iter().cloned());
        }
    }
    rooms
}

/// The complaints about these circles.
fn told(arrows: &Arrows, circles: &[BTreeSet<&str>]) -> Vec<String> {
    let tell = |circle: &BTreeSet<&str>| {
        let inside = arrows.iter().filter(|((from, to), _)| circle.contains(&**from) && circle.contains(&**to));
        let lines = inside.map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("\n      {from} takes {} from {to}", names.join(", "))
        });
        let first = circle.first().copied().unwrap_or_default();
        let is_room = has_folder(circle);
        format!(
            "{first}: is in a circle of {} {}: move what one of them takes from another to {} below both{}",
            circle.len(),
            if is_room { "rooms" } else { "files" },
            if is_room { "a room, or a file in src/," } else { "a file" },
            lines.collect::<String>()
        )
    };
    circles.iter().map(tell).collect()
}

/// Whether one of these is a folder.
fn has_folder(circle: &BTreeSet<&str>) -> bool {
    circle.iter().any(|name| name.ends_with('/'))
}

/// Groups of files that all reach each other (strongly connected components).
fn circles(arrows: &Arrows) -> Vec<BTreeSet<&str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().push(to);
    }
    let reach = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = next.get(from).cloned().unwrap_or_default();
        while let Some(file) = open.pop() {
            if reached.insert(file) {
                open.extend(next.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reach(file))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for file in next.keys().filter(|file| leads(file, file)) {
        if !found.iter().any(|circle| circle.contains(file)) {
            found.push(next.keys().filter(|other| leads(file, other) && leads(other, file)).copied().collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Complaints about the files of a crate, whose root declares the modules.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> = files.iter().map(|(path, text)| (format!("crates/x/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Tree::of(&files))
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle_and_it_says_by_what() {
        let circle = found(&[
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use crate::b::B; pub struct A(B);"),
            ("src/b.rs", "pub struct B; fn f() -> Option<super::a::A> { None }"),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        assert!(circle[0].starts_with("crates/x/src/a.rs: is in a circle of 2 files"), "{circle:?}");
        assert!(circle[0].contains("crates/x/src/a.rs takes B from crates/x/src/b.rs"), "{circle:?}");
        assert!(circle[0].contains("crates/x/src/b.rs takes A from crates/x/src/a.rs"), "{circle:?}");
    }

    #[test]
    fn paths_in_macros_and_through_imported_modules_count() {
        let circle = found(&[
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "pub fn f() { println!(\"{}\", crate::b::g()); }"),
            ("src/b.rs", "use crate::a; pub fn g() { assert_eq!(1, { a::f(); 1 }); }"),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
    }

    #[test]
    fn a_chain_a_test_and_a_text_are_no_circle() {
        let circle = found(&[
            ("src/lib.rs", "mod a; mod b; use a::A;"),
            ("src/a.rs", "use crate::b::B; pub struct A(B);"),
            (
                "src/b.rs",
                "pub struct B; // crate::a::A\nfn f() { g(\"crate::a::A\") }\n#[cfg(test)] mod t { use crate::a::A; }",
            ),
        ]);
        assert_eq!(circle, Vec::<String>::new());
    }

    #[test]
    fn a_facade_leads_to_the_home_of_what_is_taken_and_nowhere_else() {
        let facade = "mod a; mod one; mod two; pub use one::One; pub use two::Two;";
        let one = ("src/m/one.rs", "pub struct One;");
        let circle = found(&[
            ("src/lib.rs", "mod m;"),
            ("src/m/mod.rs", facade),
            one,
            ("src/m/two.rs", "use super::a::A; pub struct Two(A);"),
            ("src/m/a.rs", "use crate::m::One; pub struct A(One);"),
        ]);
        assert_eq!(circle, Vec::<String>::new());
        let circle = found(&[
            ("src/lib.rs", "mod m;"),
            ("src/m/mod.rs", facade),
            one,
            ("src/m/two.rs", "use super::a::A; pub struct Two(A);"),
            ("src/m/a.rs", "use crate::m::Two; pub struct A(Option<Box<Two>>);"),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
    }

    #[test]
    fn a_parent_that_calls_its_child_and_lends_it_a_type_is_a_circle() {
        let child = ("src/m/child.rs", "use super::Type; pub fn f(_: Type) {}");
        let parent = "mod child; pub struct Type; fn g() { child::f(Type) }";
        let circle = found(&[("src/lib.rs", "mod m;"), ("src/m/mod.rs", parent), child]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        let facade = "mod child; pub struct Type; pub use child::f;";
        assert_eq!(found(&[("src/lib.rs", "mod m;"), ("src/m/mod.rs", facade), child]), Vec::<String>::new());
        let user = "mod child; pub struct Type; pub use child::f; fn g() { f(Type) }";
        assert_eq!(found(&[("src/lib.rs", "mod m;"), ("src/m/mod.rs", user), child]).len(), 1);
    }

    #[test]
    fn rooms_that_take_from_each_other_are_a_circle_though_no_files_are() {
        let root = ("src/main.rs", "mod up; mod down;");
        let rooms = [("src/up/mod.rs", "pub mod a; pub mod b;"), ("src/down/mod.rs", "pub mod c;")];
        let a = ("src/up/a.rs", "pub struct A(crate::down::c::C);");
        let b = ("src/up/b.rs", "pub struct B;");
        let below = found(&[root, rooms[0], rooms[1], a, b, ("src/down/c.rs", "pub struct C;")]);
        assert_eq!(below, Vec::<String>::new());
        let both = found(&[root, rooms[0], rooms[1], a, b, ("src/down/c.rs", "pub struct C(crate::up::b::B);")]);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].starts_with("crates/x/src/down/: is in a circle of 2 rooms"), "{both:?}");
        assert!(both[0].contains("crates/x/src/up/ takes C from crates/x/src/down/"), "{both:?}");
    }

    #[test]
    fn a_file_in_src_is_a_room_of_its_own() {
        let root = ("src/lib.rs", "mod message; mod up;");
        let up = ("src/up/mod.rs", "pub mod a; pub mod b;");
        let a = ("src/up/a.rs", "pub struct A(crate::message::Message);");
        let b = ("src/up/b.rs", "pub struct B;");
        let leaf = ("src/message.rs", "pub struct Message;");
        assert_eq!(found(&[root, up, a, b, leaf]), Vec::<String>::new());
        let both = found(&[root, up, a, b, ("src/message.rs", "pub struct Message(crate::up::b::B);")]);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].starts_with("crates/x/src/message.rs: is in a circle of 2 rooms"), "{both:?}");
        assert!(both[0].contains("crates/x/src/up/ takes Message from crates/x/src/message.rs"), "{both:?}");
    }

    #[test]
    fn the_root_is_no_room_and_a_file_beside_a_folder_of_its_name_is_in_that() {
        let root = ("src/lib.rs", "mod up; pub struct Root; fn f() { up::a::f() }");
        let up = ("src/up.rs", "pub mod a; pub mod b; pub struct Up; fn f() { a::f() }");
        let a = ("src/up/a.rs", "pub fn f() {}");
        let b = ("src/up/b.rs", "pub struct B(super::Up, crate::Root);");
        assert_eq!(found(&[root, up, a, b]), Vec::<String>::new());
    }

    #[test]
    fn programs_of_bench_and_c_in_mruby_are_checked_too() {
        let circle = check(&Tree::of(&[
            ("bench/x/src/main.rs", "mod a; mod b;"),
            ("bench/x/src/a.rs", "pub struct A(crate::b::B);"),
            ("bench/x/src/b.rs", "pub struct B(Option<Box<crate::a::A>>);"),
            ("mruby/a.c", "int fg_a(void) { return fg_b(); }\n"),
            ("mruby/b.c", "int fg_b(void) { return fg_a(); }\n"),
        ]));
        assert_eq!(circle.len(), 2, "{circle:?}");
        assert!(circle[0].starts_with("bench/x/src/a.rs: is in a circle of 2 files"), "{circle:?}");
        assert!(circle[1].starts_with("mruby/a.c: is in a circle of 2 files"), "{circle:?}");
    }

    #[test]
    fn files_of_c_that_call_each_other_are_a_circle() {
        let a = ("c/a.c", "#include \"x.h\"\nint fg_a(void) { return fg_b(\"{\"); }\n");
        let header = ("c/x.h", "int fg_a(void);\nint fg_b(const char *);\n");
        let circle = found(&[header, a, ("c/b.c", "int\nfg_b(const char *x)\n{\n  return x ? fg_a() : 0;\n}\n")]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        assert!(circle[0].contains("crates/x/c/a.c takes fg_b from crates/x/c/b.c"), "{circle:?}");
        let plain = "/* fg_a() */ static int fg_a(void) { return 1; } int fg_b(const char *x) { return fg_a(); }\n";
        assert_eq!(found(&[header, a, ("c/b.c", plain)]), Vec::<String>::new());
    }

    #[test]
    fn what_does_not_parse_is_told() {
        assert!(found(&[("src/lib.rs", "mod a")])[0].starts_with("crates/x/src/lib.rs: is no Rust"));
    }
}
