//! Little memory: a server in a control group with a limit. The kernel must never take the front, whatever the workers
//! need; where this machine lets nobody make a control group the tests say so and end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::server::{self, Server};
use crate::support::successor::signal;
use crate::support::{MAX_WAIT, ruby, within};
use rustix::process::Signal;

const LIMIT: u64 = 160 << 20;

/// Each worker comes to need 12 MiB of its own.
const HUNGRY: &str = "run lambda { |env|\n  $own ||= []\n  $own << 'y' * (1 << 20) if $own.size < 12\n  \
                      sleep 0.03\n  [200, {}, ['gold']]\n}\n";

/// A control group of this test, removed with this value.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Option<Group> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let path = |mark: &str| {
            let line = groups.lines().find(|line| line.contains(mark))?;
            Some(line.rsplit_once(':')?.1.trim_start_matches('/').to_owned())
        };
        let first = path(":memory:").map(|path| (PathBuf::from("/sys/fs/cgroup/memory").join(path), "limit_in_bytes"));
        let second = path("0::").map(|_| (PathBuf::from("/sys/fs/cgroup"), "max"));
        for (around, limit) in [first, second].into_iter().flatten() {
            let folder = around.join(format!("foolsgold-{name}-{}", std::process::id()));
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Group(folder);
            if fs::write(group.0.join(format!("memory.{limit}")), LIMIT.to_string()).is_ok() {
                return Some(group);
            }
        }
        eprintln!("not tested: no control group with a limit of memory can be made here");
        None
    }

    fn serve(&self, options: &[&str]) -> Server {
        self.serve_app(HUNGRY, options)
    }

    fn serve_app(&self, app: &str, options: &[&str]) -> Server {
        let folder = ruby::folder(&[("config.ru", app)]);
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$0\" \"$@\"", self.0.display());
        let own = ["-t", "1", "-e", "production", "--queue-wait", "60s", "--request-time", "60s"];
        ruby::serve_by(&["sh", "-c", &enter], folder, &[], &[&own[..], options].concat())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel needs a moment after the last process.
        within(Duration::from_secs(5), || fs::remove_dir(&self.0).is_ok());
    }
}

fn oom_score_adj(pid: u32) -> i32 {
    fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse().unwrap()
}

/// Asks all the time, from 30 clients, until this is so; every answer must be right.
fn under_load(server: &Server, is_reached: impl Fn() -> bool) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let mut client = server.client();
                    client.set_timeout(Duration::from_secs(90));
                    let reply = client.get("/");
                    assert_eq!((reply.status, reply.text().as_str()), (200, "gold"), "{}", server.log());
                }
            });
        }
        let reached = within(Duration::from_secs(60), &is_reached);
        is_over.store(true, Ordering::SeqCst);
        assert!(reached, "{}", server.log());
    });
}

fn status(server: &Server) -> serde_json::Value {
    let (output, _) = server::run(&server.folder, &[], &["status", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Threads of a Ruby allocate one at a time: they gain nothing by heaps of their own, whose memory adds up.
#[test]
fn threads_of_a_worker_share_two_heaps_unless_a_variable_says_otherwise() {
    // Each heap of glibc's malloc but the first is mapped as 64 MiB: a used part, and a rest that nothing may access.
    let app = "HEAPS = /^(\\h+)-(\\h+) ---p 0+ 00:00 0 *$/\nrun lambda { |_|\n  \
               rests = File.read('/proc/self/maps').scan(HEAPS).map { |from, to| to.hex - from.hex }\n  \
               heaps = rests.count { |size| size.between?(32 << 20, 64 << 20) }\n  \
               [200, {}, [[heaps, ENV['MALLOC_ARENA_MAX'], `echo $MALLOC_ARENA_MAX`.strip].inspect]] }\n";
    let said = |variables: &[(&str, &str)], file: &str| {
        let files = [("config.ru", app), ("puma.rb", "ENV['SEEN'] = ENV['MALLOC_ARENA_MAX'].inspect\n")];
        let own = ["-w", "1", "-t", "8", "-C", file];
        ruby::serve_files(&files, variables, &own).text("/")
    };
    let usual = said(&[("MALLOC_ARENA_MAX", "0")], "-");
    if !usual.starts_with("[0, ") {
        for file in ["-", "puma.rb"] {
            assert!(["[0, nil, \"\"]", "[1, nil, \"\"]"].contains(&said(&[], file).as_str()), "{}", said(&[], file));
        }
        assert!(usual.ends_with(", \"0\", \"0\"]") && !usual.starts_with("[1, "), "{usual}");
    }
}

#[test]
fn workers_are_added_as_far_as_memory_goes_and_all_is_answered() {
    let Some(group) = Group::new("scaler") else { return };
    let server = group.serve(&["--min-workers", "1", "--max-workers", "24"]);
    under_load(&server, || server.log().contains("no memory for another worker: "));
    let seen = status(&server);
    assert_eq!(seen["server"]["memory"]["limit_kib"], LIMIT / 1024, "{seen}");
    let pool = &seen["apps"][0]["pool"];
    assert_eq!(pool["is_held_by_memory"], true, "{seen}");
    // The numbers are those of the decision: what is used and what all may still need is more than there is.
    let of = |name: &str| pool["shortage"][name].as_u64().unwrap();
    assert_eq!((of("limit_kib"), of("full_kib")), (LIMIT / 1024, LIMIT / 100 * 90 / 1024), "{pool}");
    let is_more = of("used_kib") + of("worker_kib") + of("growth_kib") > of("full_kib");
    assert!(is_more || pool["shortage"]["is_rest"] == true, "{pool}");
    let workers = ruby::workers(&server).len();
    assert!((2..24).contains(&workers), "{workers} workers\n{}", server.log());
    assert!(!server.log().contains("SIGKILL"), "{}", server.log());
}

#[test]
fn nothing_is_said_of_more_workers_where_all_are_there() {
    let Some(group) = Group::new("whole") else { return };
    // There is no room for a successor beside its predecessor: that is no want of workers.
    let app =
        "$own = 'y' * (40 << 20)\nrun lambda { |env|\n  $own.setbyte(rand($own.size), 1)\n  [200, {}, ['gold']]\n}\n";
    let server = group.serve_app(app, &["-w", "2", "--preload=no", "--max-requests", "20"]);
    let replaced = |server: &Server| ends(server, "max_requests") >= 2;
    let is_told = std::cell::RefCell::new(None);
    ruby::expect_workers(&server, 2);
    under_load(&server, || {
        let seen = status(&server);
        let app = &seen["apps"][0];
        // One that is draining is listed until it exits, and its successor is wanting until then.
        let stays = |worker: &&serde_json::Value| worker["state"] != "draining";
        let all = app["workers"].as_array().is_some_and(|all| all.iter().filter(stays).count() == 2);
        if all && app["pool"]["is_held_by_memory"] == true {
            is_told.replace(Some(app.to_string()));
        }
        replaced(&server)
    });
    assert_eq!(is_told.take(), None, "{}", server.log());
}

#[test]
fn a_death_by_the_kernel_is_told_once() {
    let Some(group) = Group::new("once") else { return };
    let app = "run lambda { |env|\n  'x' * (400 << 20) if env['PATH_INFO'] == '/all'\n  [200, {}, ['gold']]\n}\n";
    let server = group.serve_app(app, &["-w", "2"]);
    ruby::expect_workers(&server, 2);
    // It took the memory that a reply needs, so it dies, and is not run again.
    assert_eq!(server.client().post("/all", "").status, 502, "{}", server.log());
    let is_end = |line: &&str| line.contains("worker") && line.contains(") exited: killed by");
    assert!(within(MAX_WAIT, || server.log().lines().any(|line| is_end(&line))), "{}", server.log());
    // The mold tells of ends in their order, so of this one before that of another.
    let dead = server.log().lines().find(is_end).unwrap().split("(pid ").nth(1).unwrap().to_owned();
    let other = ruby::workers(&server).into_iter().find(|pid| !dead.starts_with(&pid.to_string())).unwrap();
    signal(other, Signal::KILL);
    server.must_log(&format!("(pid {other}) exited: "));
    let log = server.log();
    let pid = dead.split(')').next().unwrap();
    let ends: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("engine: worker") && line.contains(&format!("(pid {pid}) exited")))
        .collect();
    assert_eq!(ends.len(), 1, "{log}");
}

/// The same application, which holds so many MiB of its own once it is loaded.
fn loaded(mib: usize) -> String {
    format!("LOADED = 'z' * ({mib} << 20)\n{HUNGRY}")
}

fn ends(server: &Server, reason: &str) -> u64 {
    status(server)["apps"][0]["restarts_by"][reason].as_u64().unwrap_or(0)
}

#[test]
fn a_reload_for_which_there_is_no_memory_fails_and_takes_no_worker_along() {
    let Some(group) = Group::new("reload") else { return };
    let server = group.serve_app(&loaded(70), &["-w", "2"]);
    ruby::expect_workers(&server, 2);
    let workers = ruby::workers(&server);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let mut client = server.client();
                client.set_timeout(Duration::from_secs(90));
                assert_eq!(client.get("/").text(), "gold", "{}", server.log());
            }
        });
        let (code, said) = server::stderr_of(&server.folder, &[], &["reload"]);
        is_over.store(true, Ordering::SeqCst);
        assert!(code != Some(0) && said.contains("out of memory"), "{said}\n{}", server.log());
    });
    assert_eq!(ends(&server, "out_of_memory"), 0, "{}", server.log());
    assert_eq!(workers.len(), 2);
    assert_eq!(ruby::workers(&server), workers, "{}", server.log());
}

#[test]
fn where_each_worker_loads_the_application_so_many_are_started_as_fit() {
    let Some(group) = Group::new("each") else { return };
    let server = group.serve_app(&loaded(20), &["-w", "12", "--preload=no"]);
    under_load(&server, || server.log().contains("no memory for another worker"));
    assert!(within(MAX_WAIT, || ruby::workers(&server).len() > 1), "{}", server.log());
    let workers = ruby::workers(&server).len();
    assert!((2..5).contains(&workers), "{workers} workers\n{}", server.log());
}

#[test]
fn files_that_are_read_take_no_worker_its_place() {
    let Some(group) = Group::new("files") else { return };
    // It is on the disk: what is still to be written the kernel cannot drop.
    let app = "FILE = File.join(Dir.pwd, 'large')\n\
               File.open(FILE, 'wb') { |io| 150.times { io.write('x' * (1 << 20)) }; io.fsync }\n\
               run lambda { |env|\n  into = +''\n  \
               2.times { File.open(FILE, 'rb') { |io| nil while io.read(1 << 20, into) } }\n  \
               [200, {}, ['gold']]\n}\n";
    let server = group.serve_app(app, &["-w", "3"]);
    let mut client = server.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").text(), "gold");
    }
    assert!(!within(Duration::from_secs(3), || server.log().contains("memory is short")), "{}", server.log());
    assert_eq!(ruby::workers(&server).len(), 3, "{}", server.log());
}

/// The kernel's file with the number of bytes that a group uses.
fn usage(group: &Group) -> PathBuf {
    let files = ["memory.usage_in_bytes", "memory.current"].map(|file| group.0.join(file));
    files.into_iter().find(|file| file.exists()).unwrap()
}

#[test]
fn where_memory_fills_slowly_a_worker_shuts_down_before_the_kernel_kills_and_nothing_is_lost() {
    let Some(group) = Group::new("slow") else { return };
    // Quickly to 120 MiB, from there on by 8 MiB a second at most: two looks at memory come before it is full.
    let app = format!(
        "run lambda {{ |env|\n  $own ||= []\n  used = File.read('{}').to_i >> 20\n  \
         $own << 'y' * (used < 120 ? 1 << 20 : 16 << 10) if $own.sum(&:size) < 12 << 20\n  \
         sleep 0.03\n  [200, {{}}, ['gold']]\n}}\n",
        usage(&group).display()
    );
    let server = group.serve_app(&app, &["-w", "16"]);
    let (front, mold) = (oom_score_adj(server.id()), oom_score_adj(ruby::mold(&server)));
    assert!(within(MAX_WAIT, || !ruby::workers(&server).is_empty()), "{}", server.log());
    let worker = oom_score_adj(ruby::workers(&server)[0]);
    assert_eq!((mold - front, worker - front), (200, 400), "the front is the last that the kernel takes");
    under_load(&server, || {
        let log = server.log();
        log.contains("memory is short") && log.contains("no memory for another worker")
    });
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn where_memory_fills_at_once_the_kernel_kills_workers_and_nothing_is_lost() {
    let Some(group) = Group::new("full") else { return };
    let server = group.serve(&["-w", "16"]);
    under_load(&server, || server.log().contains("no memory for another worker"));
    assert_eq!(server.text("/"), "gold");
}

#[test]
fn a_worker_that_ends_long_after_the_kernel_has_killed_somebody_else_has_crashed() {
    let Some(group) = Group::new("stranger") else { return };
    let server = group.serve(&["-w", "2"]);
    let greedy = "echo $$ > \"$0/cgroup.procs\"; echo 1000 > /proc/self/oom_score_adj; \
                  exec \"$1\" -e 'all = []; loop { all << \"x\" * (1 << 20) }'";
    let stranger = Command::new("sh").args(["-c", greedy]).arg(&group.0).arg(ruby::program()).status().unwrap();
    assert!(!stranger.success(), "{stranger}");
    // What the kernel has killed is made something of for five to ten seconds.
    assert!(!within(Duration::from_secs(11), || false));
    let worker = ruby::workers(&server)[0];
    signal(worker, Signal::KILL);
    assert!(within(MAX_WAIT, || ends(&server, "crash") + ends(&server, "out_of_memory") > 0), "{}", server.log());
    assert_eq!(ends(&server, "crash"), 1, "{}", server.log());
}
