//! Process 1 of a container. The kernel treats that process unlike all others: it becomes the parent of every process
//! whose own parent has ended, its end is the end of all, and no signal does anything to it that it does not listen to.
//! So the server is a child of it: process 1 waits for the processes that are left to it, passes signals on, and ends
//! as the server does. When the server is replaced (an upgrade, or `--daemonize`), it is told by which process.

use std::collections::HashSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{self, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::cmsg_space;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{WaitOptions, WaitStatus, wait};

use crate::process::inherited;
use crate::process::program::Program;

/// Says to the server where process 1 listens.
const NAME: &str = "FOOLSGOLD_INIT";
/// A number in words.
const MESSAGE_BYTES: usize = 16;
/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;
/// The code of a signal that the kernel itself has sent, such as a terminal's Ctrl-C, which goes to the whole group.
const FROM_KERNEL: i32 = 0x80;
/// Signals that tell of a mistake in this program, and that of the end of a child.
const OUR_OWN: [Signal; 9] = [
    Signal::SIGABRT,
    Signal::SIGBUS,
    Signal::SIGCHLD,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGPIPE,
    Signal::SIGSEGV,
    Signal::SIGSYS,
    Signal::SIGTRAP,
];
/// Variables that name the process they are meant for.
const FOR_ONE: [&str; 2] = ["LISTEN_PID", "WATCHDOG_PID"];

/// As process 1: starts the server as a child, and returns at its end. `None` in every other process.
pub fn run(program: &Program, environment: &[(OsString, OsString)]) -> Option<Result<ExitCode, String>> {
    if process::id() != 1 {
        return None;
    }
    let told = |error: io::Error| format!("process 1 cannot start the server: {error}");
    Some(Init::start(program, environment).map_err(told).map(|mut init| init.wait()))
}

/// To be called first, below process 1: what the environment says to process 1 is meant for this one.
pub fn settle(program: &Program) -> Result<(), String> {
    if !is_below() {
        return Ok(());
    }
    // They were held back while this process was started.
    SigSet::all().thread_unblock().map_err(|error| format!("signals cannot be listened to: {error}"))?;
    let misnamed: Vec<&str> =
        FOR_ONE.into_iter().filter(|name| env::var_os(name).is_some_and(|id| id == "1")).collect();
    if misnamed.is_empty() {
        return Ok(());
    }
    let mut command = program.command();
    command.envs(misnamed.into_iter().map(|name| (name, process::id().to_string())));
    Err(format!("{} cannot be started: {}", program.path().display(), command.exec()))
}

/// Whether this process was started by our process 1.
pub fn is_below() -> bool {
    parent_id() == 1 && process::id() != 1 && env::var_os(NAME).is_some()
}

/// Tells process 1, where it is ours, that another process is the server from now on.
pub fn moved_to(pid: u32) {
    let Some(name) = env::var_os(NAME) else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| {
        // Whoever listens there may have ended, and is not to be waited for.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(pid.to_string().as_bytes(), &address(&name)?)
    });
    if let (Err(error), true) = (sent, is_below()) {
        tracing::warn!(target: "server", "process 1 cannot be told that process {pid} serves from now on: {error}");
    }
}

/// A socket that is no file: the file system may be read-only.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name.as_encoded_bytes())
}

struct Init {
    signals: SignalFd,
    socket: UnixDatagram,
    /// The server, which gets the signals.
    server: i32,
    /// Servers before it that have not ended.
    earlier: HashSet<i32>,
    /// The exit code of the last server, which has ended.
    outcome: Option<u8>,
}

impl Init {
    fn start(program: &Program, environment: &[(OsString, OsString)]) -> io::Result<Init> {
        let mut set = SigSet::all();
        OUR_OWN.iter().filter(|signal| **signal != Signal::SIGCHLD).for_each(|signal| set.remove(*signal));
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        // Containers may share such names.
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let name = OsString::from(format!("foolsgold-init-{nanos}"));
        let socket = UnixDatagram::bind_addr(&address(&name)?)?;
        socket.set_nonblocking(true)?;
        set_socket_passcred(&socket, true)?;
        let child = program.command().env(NAME, &name).spawn()?;
        // A socket is closed only when nobody holds it.
        drop(inherited::sockets(environment));
        let server = child.id().cast_signed();
        Ok(Init { signals, socket, server, earlier: HashSet::new(), outcome: None })
    }

    fn wait(&mut self) -> ExitCode {
        loop {
            let heard = self.signals.read_signal();
            self.hear_of_successors();
            let Ok(Some(heard)) = heard else { continue };
            let Ok(signal) = Signal::try_from(heard.ssi_signo.cast_signed()) else { continue };
            if signal == Signal::SIGCHLD {
                if let Some(code) = self.reap() {
                    return code;
                }
            } else if heard.ssi_code != FROM_KERNEL {
                self.pass_on(signal);
            }
        }
    }

    /// To the server; where that has ended, to those that finish what they have.
    fn pass_on(&self, signal: Signal) {
        let server = self.outcome.is_none().then_some(self.server);
        let earlier = self.earlier.iter().copied().filter(|_| server.is_none());
        for pid in server.into_iter().chain(earlier) {
            // It may have ended just now.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// The server, and nobody else, says who follows it; it does so before it ends.
    fn hear_of_successors(&mut self) {
        while let Some((sender, text)) = self.receive() {
            if let (true, Ok(next)) = (sender == self.server, text.parse()) {
                self.earlier.insert(std::mem::replace(&mut self.server, next));
            }
        }
    }

    fn receive(&self) -> Option<(i32, String)> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmCredentials(1))];
        let mut extra = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; MESSAGE_BYTES];
        let got = recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut extra, RecvFlags::empty()).ok()?;
        let sender = extra.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(of) => Some(of.pid.as_raw_nonzero().get()),
            _ => None,
        });
        Some((sender.unwrap_or_default(), String::from_utf8_lossy(&bytes[..got.bytes]).into_owned()))
    }

    /// Waits for all that has ended. With the exit code when the server is among them, and no earlier one is finishing
    /// what it has.
    fn reap(&mut self) -> Option<ExitCode> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get();
            self.earlier.remove(&pid);
            // A number may be used again, by an orphan, when the server has ended before those that came before it.
            if pid == self.server && self.outcome.is_none() {
                self.outcome = Some(code(status));
            }
        }
        self.outcome.filter(|code| *code != 0 || self.earlier.is_empty()).map(ExitCode::from)
    }
}

fn code(status: WaitStatus) -> u8 {
    let by_signal = || status.terminating_signal().map(|signal| BY_SIGNAL + signal);
    status.exit_status().or_else(by_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
