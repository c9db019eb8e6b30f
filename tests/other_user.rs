//! A server that gives up root: what only root can make, it has made before.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::support::successor::{Process, adopt_orphans, upgraded};
use crate::support::{Folder, MAX_WAIT, Server, app, can_mount, is_permitted, ruby, server, within};
use rustix::process::{Signal, geteuid};

/// A folder with this application that everybody may write to, and in it `roots`, which only root may.
fn folder(config: &str) -> Option<Folder> {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can become somebody else");
        return None;
    }
    let folder = ruby::folder(&[("config.ru", config)]);
    fs::create_dir(folder.join("roots")).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    Some(folder)
}

fn ask(folder: &Path, words: &[&str]) -> String {
    server::run(folder, &[], words).1
}

#[test]
fn the_control_socket_may_be_in_a_folder_of_roots() {
    adopt_orphans();
    let Some(folder) = folder(&app("", "'gold'")) else { return };
    let socket = folder.join("roots/control");
    let control = socket.display().to_string();
    let options =
        ["-b", "tcp://127.0.0.1:0", "-t", "1", "--user", "nobody", "--control", &control, "--pidfile", "a.pid"];
    let mut server = Server::spawn(folder, &[], &options);
    let found = fs::metadata(&socket).unwrap();
    assert_ne!(found.uid(), 0);
    assert_eq!(found.mode() & 0o777, 0o600);
    let status = || ask(&server.folder, &["status", "--control", &control]);
    assert!(status().contains(&server.id().to_string()), "{}", status());
    // A successor is not root, and cannot make another one.
    let next = upgraded(&mut server, "a.pid");
    let text = ask(&server.folder, &["status", "--control", &control]);
    assert!(text.contains(&next.0.to_string()), "{text}\n{}", server.log());
    next.end(Signal::TERM);
}

/// Both processes have it while the old one finishes its requests.
#[test]
fn a_control_socket_that_root_has_made_leads_to_the_new_process() {
    adopt_orphans();
    let Some(folder) = folder(&app("", "sleep 0.01 while File.exist?('hold'); 'gold'")) else { return };
    let control = folder.join("roots/control").display().to_string();
    let mut options = vec!["-b", "tcp://127.0.0.1:0", "--engine", "mruby", "-t", "1"];
    options.extend(["--user", "nobody", "--control", &control, "--pidfile", "a.pid"]);
    let mut server = Server::spawn(folder, &[], &options);
    let hold = server.folder.join("hold");
    fs::write(&hold, "").unwrap();
    let mut held = server.send_get("/");
    let status = |form: &[&str]| ask(&server.folder, &[&["status", "--control", &control][..], form].concat());
    let is_busy = || {
        let all: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
        all["apps"][0]["idle"].as_u64() == Some(0)
    };
    assert!(within(MAX_WAIT, is_busy), "{}", status(&["--json"]));
    server.signal(Signal::USR2);
    let next = Process::named_in(&server.folder.join("a.pid"), server.id());
    let process = format!("process {}", next.0);
    let is_next = || (0..10).all(|_| status(&[]).contains(&process));
    assert!(within(MAX_WAIT, is_next), "{}\n{}", status(&[]), server.log());
    fs::remove_file(&hold).unwrap();
    assert_eq!(held.reply().unwrap().text(), "gold", "{}", server.log());
    server.must_end();
}

#[test]
fn a_log_in_a_folder_of_roots_is_rotated() {
    let Some(folder) = folder(&app("", "'gold'")) else { return };
    let log = folder.join("roots/web.log");
    let options = ["-b", "unix://web.sock", "-t", "1", "--user", "nobody", "--log-file", log.to_str().unwrap()];
    let mut command = server::command();
    let child = Process(command.current_dir(&folder).args(options).spawn().unwrap().id());
    let has =
        |path: &Path, words: &str| within(MAX_WAIT, || fs::read_to_string(path).is_ok_and(|text| text.contains(words)));
    assert!(has(&log, "serving"));
    let signal = || child.signal(Signal::HUP);
    // As logrotate does it with `create`, which is Debian's default.
    let old = fs::metadata(&log).unwrap();
    fs::rename(&log, folder.join("roots/web.log.1")).unwrap();
    File::create(&log).unwrap();
    chown(&log, Some(old.uid()), Some(old.gid())).unwrap();
    signal();
    assert!(has(&log, "opened anew"));
    // And without: the log goes on in the old file, and says what is missing.
    fs::rename(&log, folder.join("roots/web.log.2")).unwrap();
    signal();
    assert!(has(&folder.join("roots/web.log.2"), "`create` in logrotate's configuration"));
}

/// Whoever may write to the folder of the log could otherwise have any file of the machine.
#[test]
fn a_link_of_the_user_leads_to_no_file_that_is_given_to_it() {
    let Some(folder) = folder(&app("", "'gold'")) else { return };
    let (file, log) = (folder.join("roots/precious"), folder.join("web.log"));
    fs::write(&file, "").unwrap();
    symlink(&file, &log).unwrap();
    let options = ["-b", "unix://web.sock", "-t", "1", "--user", "nobody", "--log-file", "web.log"];
    lchown(&log, Some(65_534), Some(65_534)).unwrap();
    let text = ask(&folder, &options);
    assert!(text.contains("a symbolic link that does not belong to root"), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().uid(), 0);
    // Nor does root create anything where such a link points to.
    fs::remove_file(&file).unwrap();
    for option in ["--log-file", "--redirect-stderr", "--pidfile", "--state"] {
        let text = ask(&folder, &["-b", "unix://web.sock", "-t", "1", "--user", "nobody", option, "web.log"]);
        assert!(text.contains("a symbolic link that does not belong to root"), "{option}: {text}");
        assert!(!file.exists(), "{option}");
    }
    fs::write(&file, "").unwrap();
    // Root's own links are what root wants.
    lchown(&log, Some(0), Some(0)).unwrap();
    let mut command = server::command();
    let _child = Process(command.current_dir(&folder).args(options).spawn().unwrap().id());
    assert!(within(MAX_WAIT, || fs::metadata(&file).unwrap().uid() != 0));
}

/// A server that stays root opens its log again at each rotation, and writes to it what the application prints.
#[test]
fn nor_does_a_link_of_the_user_of_the_workers() {
    let Some(folder) = folder("raise 'not reached'\n") else { return };
    let (file, log) = (folder.join("roots/precious"), folder.join("web.log"));
    symlink(&file, &log).unwrap();
    lchown(&log, Some(65_534), Some(65_534)).unwrap();
    let program = ruby::program();
    for option in ["--log-file", "--redirect-stderr", "--pidfile", "--state"] {
        let options = ["-b", "unix://web.sock", "--engine", "ruby", "--ruby", &program, "--ruby-user", "nobody"];
        let text = ask(&folder, &[&options[..], &[option, "web.log"]].concat());
        assert!(text.contains("a symbolic link that does not belong to root"), "{option}: {text}");
        assert!(!file.exists(), "{option}");
    }
}

/// What workers ask the server for: bodies in files, and connections. `/forged` sends what a worker would that wants a
/// file which its user may not read; `/another` what a worker would that wants to be taken for a process of root.
const ASKING: &str = r##"
    Page = Struct.new(:to_path) { def each = yield(File.read(to_path)) }
    run lambda { |env|
      case env["PATH_INFO"]
      when "/page" then next [200, {}, Page.new("page")]
      when "/taken"
        io = env["rack.hijack"].call
        io.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken")
        io.close
      when "/forged"
        slot = env["rack.hijack"].instance_variable_get(:@slot)
        fields = [slot.seq, 200, FoolsGold::Frames::FILE, 0, 0, File.absolute_path("roots/secret")]
        slot.add(FoolsGold::Frames::ANSWER, fields.pack("NnCnNa*"))
        slot.flush
        sleep 0.5
        exit!
      when "/another"
        wire = env["rack.hijack"].instance_variable_get(:@slot).instance_variable_get(:@wire)
        io = wire.send(:connect)
        numbers = [FoolsGold::Frames::VERSION, FoolsGold::Frames::CONTROL_ROLE, 1, 0, 0, Process.ppid]
        io.write(FoolsGold::Frames.frame(FoolsGold::Frames::HELLO,
                                         [*numbers, wire.instance_variable_get(:@token)].pack("CCNNNNa*")))
        next [200, {}, [IO.select([io], nil, nil, 5) ? io.read.inspect : "taken"]]
      end
      [200, {}, ["#{Process.uid} #{env["rack.input"].read.size}"]]
    }
"##;

/// GitHub's unicorn.rb, which many have copied, changes the user in `after_fork`.
#[test]
fn workers_whose_user_a_hook_has_changed_still_reach_the_server_and_get_no_files_of_roots() {
    let Some(folder) = folder(ASKING) else { return };
    let file = "worker_processes 2\npreload_app true\nlisten '127.0.0.1:0'\n\
                after_fork { |_, worker| worker.user('nobody') }\n";
    let secret = folder.join("roots/secret");
    for (path, text) in [(&folder.join("unicorn.rb"), file), (&folder.join("page"), "gold"), (&secret, "secret")] {
        fs::write(path, text).unwrap();
    }
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let server = ruby::serve_with("unicorn.rb", folder, &[]);
    let text = server.text("/");
    assert!(text != "0 0" && text.ends_with(" 0"), "{text}\n{}", server.log());
    // More than comes with a request: the worker asks for its file.
    let text = server.client().post("/", "x".repeat(600_000)).text();
    assert!(text.ends_with(" 600000"), "{text}\n{}", server.log());
    assert_eq!(server.text("/page"), "gold", "{}", server.log());
    assert_eq!(server.text("/taken"), "taken", "{}", server.log());
    assert_eq!(server.text("/another"), "\"\"", "{}", server.log());
    server.must_log("from another process or user");
    let forged = server.get("/forged");
    assert!(forged.status == 500 && !forged.text().contains("secret"), "{}\n{}", forged.text(), server.log());
    server.must_log("it names a file, which another user's worker must not");
}

/// `/pose` connects in the name of the second worker while that is being forked, and answers a request in its place
/// with a file that this user may not read.
const POSING: &str = r##"
    F = FoolsGold::Frames
    run lambda { |env|
      wire = env["rack.hijack"].instance_variable_get(:@slot).instance_variable_get(:@wire)
      control = nil
      loop do
        control = wire.open(F::CONTROL_ROLE, 2)
        # The server closes it at once as long as there is no such worker.
        break unless IO.select([control], nil, nil, 1)
        control.close
        sleep 0.01
      end
      File.delete("fork")
      sleep 0.01 until File.exist?("forked")
      sleep 0.5
      slot = wire.open(F::SLOT_ROLE, 2, 0)
      control.write(F.frame(F::READY, F.list(["pid", Process.pid.to_s])))
      kind, payload = F.read(slot) until kind == F::REQUEST
      fields = [payload.unpack1("N"), 200, F::FILE, 0, 0, File.absolute_path("roots/secret")]
      slot.write(F.frame(F::ANSWER, fields.pack("NnCnNa*")))
      [200, {}, ["posed"]]
    }
"##;

/// It has the token of a worker that runs as root until a hook changes its user.
#[test]
fn a_worker_that_connects_in_the_name_of_one_that_still_is_root_gets_no_files_of_roots() {
    let Some(folder) = folder(POSING) else { return };
    let file = "worker_processes 1\npreload_app true\nlisten '127.0.0.1:0'\n\
                before_fork { |_, worker| sleep 0.01 while File.exist?('fork') }\n\
                after_fork do |_, worker|\n  File.write('forked', '') if worker.nr == 1\n  \
                sleep 0.01 while worker.nr == 1 && File.exist?('hold')\n  worker.user('nobody')\nend\n";
    let secret = folder.join("roots/secret");
    for (path, text) in [(&folder.join("unicorn.rb"), file), (&secret, "secret")] {
        fs::write(path, text).unwrap();
    }
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let server = ruby::serve_with("unicorn.rb", folder, &[]);
    for name in ["fork", "hold"] {
        ruby::let_go(&server, name);
    }
    let mut posing = server.send_get("/pose");
    server.done(&["scale", "2"]);
    let victim = server.get("/");
    assert!(victim.status == 500 && !victim.text().contains("secret"), "{}\n{}", victim.text(), server.log());
    assert_eq!(posing.reply().unwrap().text(), "posed", "{}", server.log());
    server.must_log("it names a file, which another user's worker must not");
}

/// Its author could remove its Gemfile, so that the embedded engine fits, and reload it.
#[test]
fn no_application_runs_as_root_because_it_fits_the_embedded_engine() {
    let Some(folder) = folder("run ->(env) { [200, {}, [Process.uid.to_s]] }\n") else { return };
    let settings = "ruby-user = \"nobody\"\n\n[[app]]\nname = \"one\"\npath = \".\"\n";
    fs::write(folder.join("foolsgold.toml"), settings).unwrap();
    let server = Server::spawn(folder, &[], &["-b", "tcp://127.0.0.1:0", "--ruby", &ruby::program()]);
    assert!(server.log().contains("engine: ruby, because "), "{}", server.log());
    assert_ne!(server.text("/"), "0", "{}", server.log());
}

/// As root of a container without the capability KILL, which signals to a process of another user need.
#[test]
fn a_worker_that_may_not_be_killed_is_in_the_log() {
    let by = ["setpriv", "--bounding-set=-kill"];
    let app = "run ->(env) {\n  next [200, {}, ['gold']] unless env['PATH_INFO'] == '/stubborn'\n  \
               Thread.handle_interrupt(Object => :never) { sleep }\n}";
    let Some(folder) = folder(app).filter(|_| is_permitted(&by, "/")) else { return };
    let options = ["-w", "1", "-t", "1", "--ruby-user", "nobody", "--request-time", "500ms", "--kill-time", "300ms"];
    let server = ruby::serve_by(&by, folder, &[], &options);
    assert_eq!(server.get("/stubborn").status, 504, "{}", server.log());
    server.must_log("cannot be killed: it runs as another user");
}

/// A folder with an application that answers with its user id, where root may mount something.
fn folder_of_workers() -> Option<Folder> {
    if !can_mount() {
        return None;
    }
    folder("run lambda { |env| [200, {}, [Process.uid.to_s]] }")
}

/// Serves it after a shell script, in which `$RUBY` is the Ruby and /var/cache a place that nobody else sees.
fn serve_after(script: &str, folder: Folder, options: &[&str]) -> Server {
    let script = format!("mount -t tmpfs -o mode=0755 none /var/cache && {script}");
    // As root's own.
    fs::create_dir(folder.join("home")).unwrap();
    fs::set_permissions(folder.join("home"), Permissions::from_mode(0o700)).unwrap();
    let (home, program) = (folder.join("home").display().to_string(), ruby::program());
    let env = [("RUBY", program.as_str()), ("HOME", &home), ("XDG_CACHE_HOME", "")];
    let own = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "-w", "1"];
    Server::spawn_by(&["unshare", "--mount", "sh", "-c", &script], folder, &env, &[&own[..], options].concat())
}

/// Shell commands that put a native worker where root builds it for all users, from where bin/setup has built it: it is
/// not compiled once more.
fn native_of_root() -> String {
    let (built, _) = ruby::native();
    let folder = built.parent().unwrap().display();
    format!("(umask 022; mkdir -p /var/cache/foolsgold/native && cp -r '{folder}' /var/cache/foolsgold/native)")
}

/// A Ruby that writes its user id to a file, as a line, each time it runs; the path of both.
fn counted_ruby(folder: &Path) -> (String, PathBuf) {
    let ids = folder.join("ids");
    fs::write(&ids, "").unwrap();
    fs::set_permissions(&ids, Permissions::from_mode(0o666)).unwrap();
    let text = format!("#!/bin/sh\nid -u >>'{}'\nexec '{}' \"$@\"\n", ids.display(), ruby::program());
    (server::script(folder.join("ruby"), &text), ids)
}

/// Whoever may write to that Ruby could otherwise become root. The workers use the native worker that root has built.
#[test]
fn root_does_not_run_the_ruby_of_another_user() {
    for worker in ["auto", "native"] {
        let Some(folder) = folder_of_workers() else { return };
        let (program, ids) = counted_ruby(&folder);
        let script = format!("{} && exec \"$0\" \"$@\"", native_of_root());
        let options = ["--ruby", program.as_str(), "--ruby-user", "nobody", "--ruby-worker", worker];
        let server = serve_after(&script, folder, &options);
        server.reload("generation 2 serves");
        assert!(server.log().matches("1 worker (native)").count() >= 2, "{}", server.log());
        let ids = fs::read_to_string(&ids).unwrap();
        // To load the application, each time: the server itself sees the native worker.
        assert!(ids.lines().count() == 2 && ids.lines().all(|id| id != "0"), "{worker}: {ids}");
        assert_ne!(server.text("/"), "0", "{worker}");
    }
}

#[test]
fn a_native_worker_for_another_user_is_built_by_that_user() {
    let Some(folder) = folder_of_workers() else { return };
    let (program, ids) = counted_ruby(&folder);
    let (home, user) = (folder.join("shop"), 30_001);
    fs::create_dir(&home).unwrap();
    chown(&home, Some(user), Some(user)).unwrap();
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let users = format!("{users}\nfoolsgold-shop:x:{user}:{user}::{}:/bin/sh\n", home.display());
    fs::write(folder.join("passwd"), users).unwrap();
    let script = "mount --bind passwd /etc/passwd && exec \"$0\" \"$@\"";
    let options = ["--ruby", program.as_str(), "--ruby-user", "foolsgold-shop", "--ruby-worker", "native"];
    let server = serve_after(script, folder, &options);
    assert!(server.log().contains("1 worker (native)"), "{}", server.log());
    assert_eq!(fs::metadata(home.join(".cache/foolsgold/native")).unwrap().uid(), user);
    assert_eq!(server.text("/"), user.to_string());
    let ids = fs::read_to_string(&ids).unwrap();
    assert!(ids.lines().count() >= 2 && ids.lines().all(|id| id == user.to_string()), "{ids}");
}

#[test]
fn a_user_without_a_home_learns_that_root_can_build_the_native_worker() {
    let Some(folder) = folder_of_workers() else { return };
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let users = format!("{users}\nfoolsgold-guest:x:30002:30002::/nonexistent:/bin/sh\n");
    fs::write(folder.join("passwd"), users).unwrap();
    let program = ruby::program();
    let options = ["--ruby", program.as_str(), "--ruby-user", "foolsgold-guest"];

    let script = "mount -t tmpfs -o mode=0755 none /var/cache && mount --bind passwd /etc/passwd && exec \"$0\" \"$@\"";
    let start = server::command();
    let mut command = std::process::Command::new("timeout");
    command.args(["60", "unshare", "--mount", "sh", "-c", script]).arg(start.get_program()).args(options);
    command.args(["--ruby-worker", "native", "-b", "unix://web.sock", "--control", "off", "--engine", "ruby"]);
    let ran = command.current_dir(&folder).output().unwrap();
    let said = server::said(&ran);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    let remedy = format!("let root run `foolsgold native --ruby {program}`");
    assert!(said.contains("cannot be built by foolsgold-guest: ") && said.contains(&remedy), "{said}");

    // Nobody has asked for it here.
    let server = serve_after("mount --bind passwd /etc/passwd && exec \"$0\" \"$@\"", folder, &options);
    assert!(server.log().contains("1 worker (plain Ruby)"), "{}", server.log());
    assert_eq!(server.text("/"), "30002");
}

/// As in an image that root has made, whose user has neither a compiler nor a home, and on a read-only file system.
#[test]
fn a_native_worker_that_root_has_built_is_not_built_again() {
    let then = "\"$0\" native --ruby \"$RUBY\" && exec env MAKE=/no/make \"$0\" \"$@\"";
    for user in ["nobody", "root"] {
        let Some(folder) = folder_of_workers() else { return };
        let script = match user {
            "root" => format!("{} && mount -o remount,ro /var/cache && {then}", native_of_root()),
            _ => then.to_owned(),
        };
        let program = ruby::program();
        let mut options = vec!["--ruby", program.as_str(), "--ruby-worker", "native"];
        if user != "root" {
            options.extend(["--user", user]);
        }
        let server = serve_after(&script, folder, &options);
        assert!(server.log().contains("1 worker (native)"), "{user}: {}", server.log());
        assert_eq!(server.text("/") == "0", user == "root");
    }
}

#[test]
fn a_limit_of_processes_and_threads_is_named() {
    let Some(folder) = folder("run lambda { |env| [200, {}, ['gold']] }\n") else { return };
    // The number of a user that nobody else has: the limit counts what all of that user's programs have.
    let (user, program) = ((30_000 + std::process::id() % 20_000).to_string(), ruby::program());
    let start = server::command();
    let mut command = std::process::Command::new("timeout");
    command.args(["60", "prlimit", "--nproc=50"]).arg(start.get_program()).args(["--user", &user, "--group", &user]);
    command.args(["-b", "unix://web.sock", "--control", "off", "--engine", "ruby", "--ruby", &program]);
    let ran = command.args(["-w", "1", "-t", "60"]).current_dir(&folder).output().unwrap();
    let said = server::said(&ran);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for words in ["cannot start: ", "a limit of 50 processes and threads for this user (ulimit -u) is reached"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}
