//! The native worker, as a user meets it: built by one command, taken when it is there, and done without when it is not
//! right.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{PATIENCE, Server, can_mount, ruby, server, within};

const APP: &str = "run ->(env) { [200, { \"content-type\" => \"text/plain\" }, [env[\"PATH_INFO\"]]] }\n";

/// Serves with this folder as the user's cache, and without what root may have built for all users of this machine.
fn serve(cache: &str) -> Server {
    let program = ruby::program();
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &program, "-w", "1", "-t", "1"];
    let script = "mount -t tmpfs none /var/cache && exec \"$0\" \"$@\"";
    let by: &[&str] = if has_one_for_all() { &["unshare", "--mount", "sh", "-c", script] } else { &[] };
    Server::spawn_by(by, ruby::folder(&[("config.ru", APP)]), &[("XDG_CACHE_HOME", cache)], &options)
}

fn has_one_for_all() -> bool {
    Path::new("/var/cache/foolsgold/native").exists()
}

/// Builds it into this cache and gives its path.
fn build(cache: &str) -> PathBuf {
    let mut command = server::command();
    let output = command.args(["native", "--ruby", &ruby::program()]).env("XDG_CACHE_HOME", cache).output().unwrap();
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{told}\nbin/setup brings the headers of Ruby");
    let path = said.split_whitespace().rfind(|word| word.ends_with(".so")).unwrap_or_else(|| panic!("{said}"));
    PathBuf::from(path)
}

#[track_caller]
fn wait_for(server: &Server, text: &str) {
    assert!(within(PATIENCE, || server.log().contains(text)), "no {text:?} in\n{}", server.log());
}

#[test]
fn it_is_built_by_one_command_and_then_taken() {
    if has_one_for_all() && !can_mount() {
        eprintln!("skipped: root has built one for all users, and mount is not permitted here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().to_str().unwrap();
    let plain = serve(cache);
    wait_for(&plain, "1 worker (plain Ruby)");
    wait_for(&plain, "`foolsgold native` builds the faster native one");

    let built = build(cache);
    assert!(built.starts_with(cache) && built.is_file(), "{built:?}");
    assert_eq!(build(cache), built, "what is there is not built again");
    let native_copy = folder.path().join("copy");
    fs::copy(&built, &native_copy).unwrap();
    let native = serve(cache);
    wait_for(&native, "1 worker (native)");
    assert_eq!(native.text("/gold"), "/gold");
    assert!(!native.log().contains("foolsgold native"), "{}", native.log());

    // One that is spoiled costs a line in the log, and nothing else.
    fs::write(&built, "not an extension").unwrap();
    let spoiled = serve(cache);
    wait_for(&spoiled, "1 worker (plain Ruby)");
    assert_eq!(spoiled.text("/gold"), "/gold");
    drop(spoiled);

    // The command builds it anew, whether Ruby refuses it or dies of it: this one is cut off within a page.
    for damaged in [b"not an extension".to_vec(), fs::read(&native_copy).unwrap()[..5000].to_vec()] {
        fs::write(&built, damaged).unwrap();
        assert_eq!(build(cache), built);
        assert_eq!(fs::read(&built).unwrap().len(), fs::read(&native_copy).unwrap().len());
    }
}
