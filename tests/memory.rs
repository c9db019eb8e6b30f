//! Little memory: a server in a control group with a limit. The kernel must never take the front, whatever the workers
//! need; where this machine lets nobody make a control group the tests say so and end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::server::{self, Server};
use crate::support::{PATIENCE, ruby, within};
use rustix::process::{Pid, Signal, kill_process};

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
        let program = ruby::program();
        let mut all = vec!["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &program, "-t", "1"];
        all.extend(["-e", "production", "--queue-wait", "60s", "--request-time", "60s"]);
        all.extend(options);
        Server::spawn_by(&["sh", "-c", &enter], folder, &[], &all)
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
                    client.patience(Duration::from_secs(90));
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
    let mut command = server::command();
    let output = command.args(["status", "--json"]).current_dir(&server.folder).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[test]
fn workers_are_added_as_far_as_memory_goes_and_all_is_answered() {
    let Some(group) = Group::new("scaler") else { return };
    let server = group.serve(&["--min-workers", "1", "--max-workers", "24"]);
    under_load(&server, || server.log().contains("no memory for another worker, which may need"));
    let seen = status(&server);
    assert_eq!(seen["server"]["memory"]["limit_kib"], LIMIT / 1024, "{seen}");
    assert_eq!(seen["apps"][0]["pool"]["is_held_by_memory"], true, "{seen}");
    let workers = ruby::workers(&server).len();
    assert!((2..24).contains(&workers), "{workers} workers\n{}", server.log());
    assert!(!server.log().contains("SIGKILL"), "{}", server.log());
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
    assert!(within(PATIENCE, || ruby::workers(&server).len() == 2), "{}", server.log());
    let workers = ruby::workers(&server);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let mut client = server.client();
                client.patience(Duration::from_secs(90));
                assert_eq!(client.get("/").text(), "gold", "{}", server.log());
            }
        });
        let mut command = server::command();
        let output = command.arg("reload").current_dir(&server.folder).output().unwrap();
        is_over.store(true, Ordering::SeqCst);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("out of memory"), "{said}\n{}", server.log());
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
    assert!(within(PATIENCE, || ruby::workers(&server).len() > 1), "{}", server.log());
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

#[test]
fn in_a_full_group_workers_end_and_nothing_is_lost() {
    let Some(group) = Group::new("full") else { return };
    let server = group.serve(&["-w", "16"]);
    let (front, mold) = (oom_score_adj(server.id()), oom_score_adj(ruby::mold(&server)));
    assert!(within(PATIENCE, || !ruby::workers(&server).is_empty()), "{}", server.log());
    let worker = oom_score_adj(ruby::workers(&server)[0]);
    assert_eq!((mold - front, worker - front), (200, 400), "the front is the last that the kernel takes");
    // The kernel may kill workers, and we end them before it does: in either case all requests are answered.
    under_load(&server, || {
        let log = server.log();
        log.contains("memory is short") && log.contains("no memory for another worker")
    });
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
    kill_process(Pid::from_raw(worker.cast_signed()).unwrap(), Signal::KILL).unwrap();
    assert!(within(PATIENCE, || ends(&server, "crash") + ends(&server, "out_of_memory") > 0), "{}", server.log());
    assert_eq!(ends(&server, "crash"), 1, "{}", server.log());
}
