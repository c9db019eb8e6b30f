//! The program under test: started in a folder of its own, its output in a file there, killed and reaped when the
//! value goes. A failing test keeps the folder and says where it is.

use std::fs::{self, File, Permissions};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Client, MAX_WAIT, Reply, within};

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

/// Variables that the program reads although their names are not its own.
const OF_OTHERS: [&str; 12] = [
    "RACK_ENV",
    "APP_ENV",
    "RAILS_ENV",
    "HANAMI_ENV",
    "PORT",
    "WEB_CONCURRENCY",
    "RAILS_MAX_THREADS",
    "MAX_THREADS",
    "PUMA_MAX_THREADS",
    "PUMA_PERSISTENT_TIMEOUT",
    "BUNDLE_GEMFILE",
    "BUNDLE_LOCKFILE",
];

/// A folder of one test, removed when the last clone is dropped. A failing test keeps it and says where it is.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    whole: Arc<Whole>,
}

impl Folder {
    /// A folder inside this one. While the returned value lives, the whole folder stays.
    pub fn at(&self, name: impl AsRef<Path>) -> Folder {
        Folder { path: self.path.join(name), whole: self.whole.clone() }
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

struct Whole(PathBuf);

impl Drop for Whole {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("kept for you: {}", self.0.display());
        } else {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A fresh folder for one test; its name has the process and a number, so tests do not meet.
pub fn folder() -> Folder {
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("foolsgold-test-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    Folder { whole: Arc::new(Whole(path.clone())), path }
}

/// The same with these files in it.
pub fn folder_with(files: &[(&str, &str)]) -> Folder {
    let folder = folder();
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Writes an executable script and returns its path.
pub fn script(path: PathBuf, text: &str) -> String {
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// The program, ready to be given arguments, untouched by settings of whoever runs the tests.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foolsgold"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("FOOLS_GOLD") || OF_OTHERS.contains(&&*name) {
            command.env_remove(&*name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// A started program, killed and waited for when this is dropped.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running server.
pub struct Server {
    child: KillOnDrop,
    pub folder: Folder,
    /// Zero where it was not asked to listen on TCP.
    pub port: u16,
}

impl Server {
    /// Serves this `config.ru` on a free port.
    pub fn start(config: &str, options: &[&str]) -> Server {
        Server::with(config, &[], options)
    }

    /// The same with environment variables.
    pub fn with(config: &str, env: &[(&str, &str)], options: &[&str]) -> Server {
        Server::on_free_port(&[("config.ru", config)], env, options)
    }

    /// Serves a folder with these files, one of which is `config.ru`, on a free port.
    pub fn files(files: &[(&str, &str)], options: &[&str]) -> Server {
        Server::on_free_port(files, &[], options)
    }

    fn on_free_port(files: &[(&str, &str)], env: &[(&str, &str)], options: &[&str]) -> Server {
        Server::spawn(folder_with(files), env, &[&["-b", "tcp://127.0.0.1:0"], options].concat())
    }

    /// Starts in `folder` with exactly these options, and waits until it serves.
    pub fn spawn(folder: Folder, env: &[(&str, &str)], options: &[&str]) -> Server {
        Server::spawn_by(&[], folder, env, options)
    }

    /// Starts it likewise, and does not wait.
    pub fn begin(folder: Folder, env: &[(&str, &str)], options: &[&str]) -> Server {
        Server::begin_by(&[], Stdio::null(), folder, env, options)
    }

    /// The same as [`Server::spawn`], by a program that becomes ours.
    pub fn spawn_by(by: &[&str], folder: Folder, env: &[(&str, &str)], options: &[&str]) -> Server {
        let mut server = Server::begin_by(by, Stdio::null(), folder, env, options);
        server.wait_ready();
        server
    }

    /// The same as [`Server::begin`], by a program that becomes ours and has this as its standard input.
    pub fn begin_by(by: &[&str], stdin: Stdio, folder: Folder, env: &[(&str, &str)], options: &[&str]) -> Server {
        let log = File::create(folder.join("log")).unwrap();
        let mut command = command();
        if let Some((program, words)) = by.split_first() {
            let mut other = Command::new(program);
            other.args(words).arg(command.get_program());
            for (name, _) in command.get_envs() {
                other.env_remove(name);
            }
            command = other;
        }
        command.current_dir(&folder).args(options).stdin(stdin).stdout(log.try_clone().unwrap()).stderr(log);
        command.envs(env.iter().copied());
        Server { child: KillOnDrop(command.spawn().unwrap()), folder, port: 0 }
    }

    /// Ready means: its log names an address, and something answers there.
    pub fn wait_ready(&mut self) {
        let ready = within(MAX_WAIT, || {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                panic!("foolsgold ended at start with {status}:\n{}", self.log());
            }
            let log = self.log();
            self.port = port(&log).unwrap_or(0);
            self.port != 0 || log.contains("unix://")
        });
        assert!(ready, "foolsgold did not say where it listens:\n{}", self.log());
    }

    /// A new connection.
    pub fn client(&self) -> Client {
        Client::tcp(self.port)
    }

    /// A new connection on which a request without a body was sent.
    pub fn send_get(&self, path: &str) -> Client {
        let mut client = self.client();
        client.send_get(path);
        client
    }

    /// One request on a connection of its own.
    pub fn get(&self, path: &str) -> Reply {
        self.client().get(path)
    }

    /// The body of one request, which must be answered with 200.
    pub fn text(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "GET {path}: {}\n{}", reply.text(), self.log());
        reply.text()
    }

    /// All it has written so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the log has this in it.
    pub fn logs(&self, words: &str) -> bool {
        within(MAX_WAIT, || self.log().contains(words))
    }

    /// Waits until the log has this in it, as it must.
    #[track_caller]
    pub fn must_log(&self, words: &str) {
        assert!(self.logs(words), "{words:?} is not in the log:\n{}", self.log());
    }

    /// Asks for new code by SIGUSR1, and waits until the log has these words about it.
    #[track_caller]
    pub fn reload(&self, words: &str) {
        self.signal(Signal::USR1);
        self.must_log(words);
    }

    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Port of its admin listener, which the log names.
    #[track_caller]
    pub fn admin_port(&self) -> u16 {
        let log = self.log();
        let (_, after) =
            log.split_once("are on http://").unwrap_or_else(|| panic!("no admin listener in the log:\n{log}"));
        after.split('/').next().unwrap().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// The value of a metric, by its name with labels.
    #[track_caller]
    pub fn metric(&self, key: &str) -> f64 {
        let text = Client::tcp(self.admin_port()).get_as("/metrics", "localhost").text();
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{key} is not in\n{text}")).parse().unwrap()
    }

    /// Runs a command such as `status` for this server, which must succeed; returns what it says on both streams.
    #[track_caller]
    pub fn done(&self, words: &[&str]) -> String {
        let (output, said) = run(&self.folder, &[], words);
        assert!(output.status.success(), "{words:?}: {said}\n{}", self.log());
        said
    }

    /// What the command `status` says of it.
    #[track_caller]
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.done(&["status", "--json"])).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child.0), signal).unwrap();
    }

    /// Waits until it ends by itself.
    pub fn ended(&mut self, limit: Duration) -> Option<ExitStatus> {
        let mut status = None;
        within(limit, || {
            status = self.child.0.try_wait().unwrap();
            status.is_some()
        });
        status
    }

    /// Sends a signal that must end it, with any exit status.
    #[track_caller]
    pub fn ended_by(&mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.ended(MAX_WAIT).unwrap_or_else(|| panic!("it goes on\n{}", self.log()))
    }

    /// Waits until it has ended, as it must, with exit status 0.
    #[track_caller]
    pub fn must_end(&mut self) {
        let status = self.ended(MAX_WAIT);
        assert!(status.is_some_and(|status| status.success()), "{status:?}\n{}", self.log());
    }

    /// Sends a signal that must end it with exit status 0.
    #[track_caller]
    pub fn end(&mut self, signal: Signal) {
        self.end_within(signal, MAX_WAIT);
    }

    /// The same, within this time.
    #[track_caller]
    pub fn end_within(&mut self, signal: Signal, limit: Duration) {
        self.signal(signal);
        let status = self.ended(limit);
        assert!(status.is_some_and(|status| status.success()), "{status:?}\n{}", self.log());
    }

    /// Whether it is still there: a crash under hostile input must not pass unseen.
    pub fn is_alive(&mut self) -> bool {
        self.child.0.try_wait().unwrap().is_none()
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// Runs the program in a folder to its end; also what it has said, on both streams.
pub fn run(folder: &Path, env: &[(&str, &str)], words: &[&str]) -> (Output, String) {
    let output = command().current_dir(folder).envs(env.iter().copied()).args(words).output().unwrap();
    let said = said(&output);
    (output, said)
}

/// Runs it likewise and checks its exit code; returns what it has said.
#[track_caller]
pub fn exits_with(code: i32, folder: &Path, env: &[(&str, &str)], words: &[&str]) -> String {
    let (output, said) = run(folder, env, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

/// Runs it likewise; its exit code, and what it has said on standard error.
pub fn stderr_of(folder: &Path, env: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String) {
    let (output, _) = run(folder, env, words);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What a program that has ended has said, on both streams.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// The line for a setting in the table that the command `config` prints, split into its columns.
pub fn setting<'a>(said: &'a str, name: &str) -> Vec<&'a str> {
    let found = said.lines().find(|line| line.starts_with(&format!("  {name} ")));
    let line = found.unwrap_or_else(|| panic!("{name} is not in:\n{said}"));
    line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// The first real port that the log names as one that it serves, on this machine or on all addresses.
fn port(log: &str) -> Option<u16> {
    ["tcp://127.0.0.1:", "tcp://[::]:", "tcp://0.0.0.0:"].into_iter().find_map(|mark| {
        log.match_indices(mark).find_map(|(at, mark)| {
            let digits: String = log[at + mark.len()..].chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|port| *port != 0)
        })
    })
}

/// The folder of the repository's own files.
pub fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The gems that bin/gems gets.
pub fn gems() -> PathBuf {
    let gems = repository().join("build/gems");
    assert!(gems.join("gems").is_dir(), "the gems are not there: run bin/gems, or all of bin/setup");
    gems
}
