//! What tests of upgrades and of the background need: processes that are no children of the test, clients that keep
//! asking, and a stand-in for systemd.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

use super::client::Client;
use super::{MAX_WAIT, Server, ruby, server, within};

/// Makes this process the parent of all that is left behind below it, so that it can wait for them.
pub fn adopt_orphans() {
    set_child_subreaper(Some(rustix::process::getpid())).unwrap();
}

/// Sends a signal to a process, which need not be a child.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Sends a signal to a process that may have ended.
pub fn kill(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

/// A process by its number, ended and waited for when this goes.
pub struct Process(pub u32);

impl Process {
    /// The one that a pid file names, when it names another than this.
    #[track_caller]
    pub fn named_in(file: &Path, other_than: u32) -> Process {
        let mut pid = None;
        within(MAX_WAIT, || {
            pid = pid_in(file).filter(|pid| *pid != other_than);
            pid.is_some()
        });
        Process(pid.unwrap_or_else(|| panic!("{} names no process but {other_than}", file.display())))
    }

    pub fn signal(&self, number: Signal) {
        signal(self.0, number);
    }

    pub fn is_alive(&self) -> bool {
        ruby::is_alive(self.0)
    }

    /// Waits until it has ended.
    pub fn ended(&self) -> bool {
        within(MAX_WAIT, || !self.is_alive())
    }

    /// Sends a signal that must end it.
    #[track_caller]
    pub fn end(&self, number: Signal) {
        self.signal(number);
        assert!(self.ended(), "process {} goes on", self.0);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.cast_signed()).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let below = ruby::processes(self.0);
        if self.is_alive() {
            kill(self.0, Signal::KILL);
        }
        within(MAX_WAIT, || !self.is_alive());
        let _ = waitpid(Some(self.pid()), WaitOptions::NOHANG);
        within(MAX_WAIT, || !below.iter().any(|pid| ruby::is_alive(*pid)));
    }
}

/// Upgrades a server by USR2 and waits until its old process has ended. Returns the new one, which this pid file in
/// the server's folder names.
#[track_caller]
pub fn upgraded(server: &mut Server, pidfile: &str) -> Process {
    server.signal(Signal::USR2);
    let next = Process::named_in(&server.folder.join(pidfile), server.id());
    server.must_end();
    next
}

/// The number in a pid file.
pub fn pid_in(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Clients that ask all the time, on connections they keep, and look at every answer.
pub struct Load {
    clients: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
}

impl Load {
    /// So many; each answer must be one of a server that `connect` leads to, and end with the path.
    pub fn start(count: usize, connect: impl Fn() -> Client + Send + Sync + 'static) -> Load {
        Load::resting(Duration::ZERO, count, connect)
    }

    /// The same, with clients that pause for `rest` after each answer, for tests whose load need not be heavy: clients
    /// without a pause take the processors from everything else.
    pub fn resting(rest: Duration, count: usize, connect: impl Fn() -> Client + Send + Sync + 'static) -> Load {
        let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let connect = Arc::new(connect);
        let client = |number| {
            let (stop, served, connect) = (stop.clone(), served.clone(), connect.clone());
            thread::spawn(move || ask_until(number, rest, &stop, &served, &*connect))
        };
        let clients = (0..count).map(client).collect();
        Load { clients, stop, served }
    }

    pub fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    /// Waits until so many more have been answered.
    #[track_caller]
    pub fn goes_on(&self, more: usize) {
        let before = self.served();
        assert!(within(MAX_WAIT, || self.served() >= before + more), "answers stopped at {}", self.served());
    }

    /// Ends it; a client that had one wrong answer has panicked with it.
    #[track_caller]
    pub fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let outcomes: Vec<_> = self.clients.into_iter().map(JoinHandle::join).collect();
        let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        assert_eq!(failed, 0, "of {} clients, after {} answers", outcomes.len(), self.served.load(Ordering::Relaxed));
        self.served.load(Ordering::Relaxed)
    }
}

fn ask_until(number: usize, rest: Duration, stop: &AtomicBool, served: &AtomicUsize, connect: &dyn Fn() -> Client) {
    let mut client = connect();
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let path = format!("/{number}/{round}");
        let reply = client.get(&path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert!(reply.text().ends_with(&path), "{path} was answered with {:?}", reply.text());
        served.fetch_add(1, Ordering::Relaxed);
        if reply.header("connection") == Some("close") {
            client = connect();
        }
        if !rest.is_zero() {
            thread::park_timeout(rest);
        }
    }
}

/// Stands in for systemd: a socket for NOTIFY_SOCKET, and all that came there.
pub struct Manager(UnixDatagram);

impl Manager {
    /// Listens on a socket in this folder; also returns the socket's path.
    pub fn listen(folder: &Path) -> (Manager, String) {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(MAX_WAIT)).unwrap();
        (Manager(socket), path.display().to_string())
    }

    /// Starts a server with this `config.ru` as its service, on a free port.
    pub fn serve(config: &str, env: &[(&str, &str)], options: &[&str]) -> (Manager, Server) {
        let folder = server::folder_with(&[("config.ru", config)]);
        let (manager, notify) = Manager::listen(&folder);
        let env = [env, &[("NOTIFY_SOCKET", &*notify)]].concat();
        (manager, Server::spawn(folder, &env, &[&["-b", "tcp://127.0.0.1:0", "-t", "1"], options].concat()))
    }

    /// All messages that have come by now and were not read.
    pub fn heard(&self) -> String {
        let mut all = String::new();
        let mut bytes = [0; 4096];
        self.0.set_nonblocking(true).unwrap();
        while let Ok(count) = self.0.recv(&mut bytes) {
            all.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        self.0.set_nonblocking(false).unwrap();
        all
    }

    /// The next message that has this in it.
    #[track_caller]
    pub fn hears(&self, words: &str) -> String {
        let mut all = String::new();
        let mut bytes = [0; 4096];
        loop {
            match self.0.recv(&mut bytes) {
                Ok(count) => {
                    let message = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    if message.contains(words) {
                        return message;
                    }
                    all.push_str(&message);
                }
                Err(error) => panic!("{words:?} did not come ({error}); what came:\n{all}"),
            }
        }
    }
}
