//! A ring is only built in a new or empty folder: an existing folder is never changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn ring(folder: &Path) -> Output {
    // If the guard lets something pass, no mirror is contacted.
    let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
    command.env("MIRROR", "http://127.0.0.1:9/debian").env("PATH", "/nowhere:/usr/bin:/bin");
    command.arg("ring").arg(folder).output().unwrap()
}

/// The names below a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_machine_itself_and_folders_of_others_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full");
    fs::create_dir_all(full.join("etc")).unwrap();
    fs::write(full.join("etc/hosts"), "mine\n").unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "mine\n").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    for (given, says) in [
        (Path::new("/"), "this machine's own root"),
        (Path::new("//tmp/.."), "this machine's own root"),
        (&link, "this machine's own root"),
        (&full, "is not empty, and no ring"),
        (&plain, "is not empty, and no ring"),
        (Path::new("ring"), "a ring takes a path from the root"),
    ] {
        let output = ring(given);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success() && said.contains(says), "{}: {said}", given.display());
    }
    assert!(!Path::new("/etc/arena-ring").exists());
    assert_eq!(names(folder.path()), ["full", "link", "plain"]);
    assert_eq!((names(&full), names(&full.join("etc"))), (vec!["etc".to_owned()], vec!["hosts".to_owned()]));
    assert_eq!(
        fs::read_to_string(full.join("etc/hosts")).unwrap() + &fs::read_to_string(&plain).unwrap(),
        "mine\nmine\n"
    );
}

/// The script can be run by hand too.
#[test]
fn the_script_takes_its_words_in_any_order_and_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "mine\n").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bin/ring");
    let given = folder.path().to_str().unwrap();
    for (words, says) in [
        ([given, "--yjit"], "is not empty, and no ring"),
        (["--yjit", given], "is not empty, and no ring"),
        ([given, "--jit"], "unknown option --jit; it takes --yjit and a folder"),
    ] {
        let output = Command::new("bash").arg(&script).args(words).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{words:?}: {said}");
    }
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_ring_needs_none_of_the_folders_that_come_with_the_program() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
    let output = command.args(["--home", "/nosuch", "ring", "here"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("here: a ring takes a path from the root"), "{said}");
}
