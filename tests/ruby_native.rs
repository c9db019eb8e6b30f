//! The native worker, as a user meets it: built by one command, taken when it is there, and done without when it is not
//! right.

use std::fs;
use std::path::Path;

use crate::support::{MAX_WAIT, Server, can_mount, ruby, server, within};

const APP: &str = "run ->(env) { [200, { \"content-type\" => \"text/plain\" }, [env[\"PATH_INFO\"]]] }\n";

/// Serves with this folder as the user's cache, and without what root may have built for all users of this machine.
fn serve(cache: &str) -> Server {
    serve_with(cache, &["--ruby", &ruby::program()])
}

fn serve_with(cache: &str, more: &[&str]) -> Server {
    let common = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "-w", "1", "-t", "1"];
    let options = [&common[..], more].concat();
    let script = "mount -t tmpfs none /var/cache && exec \"$0\" \"$@\"";
    let by: &[&str] = if has_one_for_all() { &["unshare", "--mount", "sh", "-c", script] } else { &[] };
    Server::spawn_by(by, ruby::folder(&[("config.ru", APP)]), &[("XDG_CACHE_HOME", cache)], &options)
}

fn has_one_for_all() -> bool {
    Path::new("/var/cache/foolsgold/native").exists()
}

#[test]
fn it_is_built_by_one_command_and_then_taken() {
    if has_one_for_all() && !can_mount() {
        return;
    }
    let folder = server::folder();
    let cache = folder.to_str().unwrap();
    let plain = serve(cache);
    plain.must_log("1 worker (plain Ruby)");
    plain.must_log("`foolsgold native` builds the faster native one");

    let built = ruby::build_native(cache);
    assert!(built.starts_with(cache) && built.is_file(), "{built:?}");
    assert_eq!(ruby::build_native(cache), built, "what is there is not built again");
    let native_copy = folder.join("copy");
    fs::copy(&built, &native_copy).unwrap();
    let native = serve(cache);
    native.must_log("1 worker (native)");
    assert_eq!(native.text("/gold"), "/gold");
    assert!(!native.log().contains("foolsgold native"), "{}", native.log());
    // It has what is damaged next in its memory.
    drop(native);

    // One that is damaged is not taken, whether Ruby would refuse it or die of it: the second is cut off within a page.
    for damaged in [b"not an extension".to_vec(), fs::read(&native_copy).unwrap()[..5000].to_vec()] {
        fs::write(&built, damaged).unwrap();
        let spoiled = serve(cache);
        spoiled.must_log("1 worker (plain Ruby)");
        spoiled.must_log("`foolsgold native` builds the faster native one");
        assert_eq!(spoiled.text("/gold"), "/gold");
    }
    // The command builds it anew: whatever is wrong with it, it is not as it was built.
    assert_eq!(ruby::build_native(cache), built);
    assert_eq!(fs::read(&built).unwrap().len(), fs::read(&native_copy).unwrap().len());
}

#[test]
fn where_it_is_there_ruby_is_started_once() {
    let (_, cache) = ruby::native();
    let folder = server::folder();
    let notes = folder.join("notes").display().to_string();
    let text = format!("#!/bin/sh\necho started >>'{notes}'\nexec '{}' \"$@\"\n", ruby::program());
    let counted = server::script(folder.join("ruby"), &text);
    for (starts, worker) in [(1, "auto"), (2, "native")] {
        let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &counted, "-w", "1", "-t", "1"];
        let options = [&options[..], &["--ruby-worker", worker]].concat();
        let app = ruby::folder(&[("config.ru", APP)]);
        let server = Server::spawn_by(&[], app, &[("XDG_CACHE_HOME", cache.as_str())], &options);
        server.must_log("1 worker (native)");
        assert_eq!(fs::read_to_string(&notes).unwrap().lines().count(), starts, "{worker}: {}", server.log());
    }
}

#[test]
fn one_for_another_ruby_is_not_taken_and_one_for_this_is_built_where_it_must_be_had() {
    if has_one_for_all() && !can_mount() {
        return;
    }
    let (built, _) = ruby::native();
    let name = built.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let (_, digest) = name.rsplit_once('-').unwrap();
    let folder = server::folder();
    let other = folder.join(format!("foolsgold/native/ruby-9.9.0-x86_64-linux-gnu-{digest}"));
    fs::create_dir_all(&other).unwrap();
    for file in fs::read_dir(built.parent().unwrap()).unwrap().map(|file| file.unwrap()) {
        fs::copy(file.path(), other.join(file.file_name())).unwrap();
    }
    let cache = folder.to_str().unwrap();
    let plain = serve(cache);
    plain.must_log("1 worker (plain Ruby)");
    plain.must_log("`foolsgold native` builds the faster native one");
    let native = serve_with(cache, &["--ruby", &ruby::program(), "--ruby-worker", "native"]);
    native.must_log("1 worker (native)");
    assert_eq!(native.text("/gold"), "/gold");
}

#[test]
fn it_is_taken_where_the_temporary_folder_is_full() {
    if !can_mount() {
        return;
    }
    let (_, cache) = ruby::native();
    let script = "mount -t tmpfs none /var/cache && mount -t tmpfs -o size=64k none full && \
                  { head -c 100k /dev/zero >full/all; exec \"$0\" \"$@\"; }";
    let (app, program) = (ruby::folder(&[("config.ru", APP), ("full/x", "")]), ruby::program());
    let place = app.join("full").display().to_string();
    let env = [("XDG_CACHE_HOME", cache.as_str()), ("TMPDIR", &place)];
    let options = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &program, "-w", "1", "-t", "1"];
    let server = Server::spawn_by(&["unshare", "--mount", "sh", "-c", script], app, &env, &options);
    server.must_log("1 worker (native)");
}

/// The doctor changes nothing.
#[test]
fn the_doctor_does_not_build_it() {
    let folder = server::folder_with(&[("config.ru", APP)]);
    let cache = folder.join("cache");
    fs::create_dir(&cache).unwrap();
    let mut command = server::command();
    command.args(["doctor", "--ruby", &ruby::program(), "--ruby-worker", "native"]).env("XDG_CACHE_HOME", &cache);
    let output = command.current_dir(&folder).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the same on ruby "), "{said}{errors}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0, "{said}{errors}");
}

/// Number of threads of a process that have the policy SCHED_BATCH, 3 (sched(7)): field 41 of their stat
/// (proc_pid_stat(5)).
fn batches(pid: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    // The third field of the file is the first one behind the name.
    let policy = |stat: &str| stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(41 - 3).map(str::to_owned);
    stats.filter(|stat| policy(stat).as_deref() == Some("3")).count()
}

#[test]
fn the_threads_that_serve_requests_have_the_scheduling_policy_that_is_asked_for() {
    let app = "run ->(_) { [200, {}, [\"gold\"]] }";
    let common = ["-w", "1", "-t", "2", "--io-threads", "2", "--ruby-worker", "native"];
    for (more, wanted) in [(&[][..], (2, 2)), (&["--scheduling", "normal"][..], (0, 0))] {
        let server = ruby::serve(app, &[&common[..], more].concat());
        assert_eq!(server.text("/"), "gold");
        // Two I/O threads, and two threads of the worker, one of which is its main thread.
        let seen = || (batches(server.id()), batches(ruby::workers(&server)[0]));
        assert!(within(MAX_WAIT, || seen() == wanted), "{more:?}: {:?}", seen());
    }
}
