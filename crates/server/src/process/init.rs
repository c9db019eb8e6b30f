//! Process 1 of a container. The kernel treats it unlike all others: it becomes the parent of every orphan, its exit
//! ends the container, and signals without a handler do not affect it. So the server is its child: process 1 reaps
//! orphans, passes signals on, and exits as the server does. When the server is replaced (an upgrade, or
//! `--daemonize`), it learns the new process id.

use std::collections::HashSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{self, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::cmsg_space;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{WaitOptions, WaitStatus, wait};

use crate::process::exit::CANNOT_START;
use crate::process::inherited;
use crate::process::program::Program;

/// Variable that tells the server the address of process 1's socket.
const NAME: &str = "FOOLSGOLD_INIT";
/// Length of a decimal process id, with room to spare.
const MESSAGE_BYTES: usize = 16;
/// Added to the number of a fatal signal for the exit code, as in shells.
const BY_SIGNAL: i32 = 128;
/// `si_code` of signals that the kernel sends, such as a terminal's Ctrl-C, which goes to the whole group.
const FROM_KERNEL: i32 = 0x80;
/// Signals that report an error in this program, and SIGCHLD.
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
/// Variables that contain the process id that they are meant for.
const FOR_ONE: [&str; 2] = ["LISTEN_PID", "WATCHDOG_PID"];

/// In process 1: starts the server as a child and returns its exit code once it exits. `None` in every other process.
pub fn run(program: &Program, environment: &[(OsString, OsString)]) -> Option<Result<ExitCode, String>> {
    if process::id() != 1 {
        return None;
    }
    let failed = |error: io::Error| format!("process 1 cannot start the server: {error}");
    Some(Init::start(program, environment).map_err(failed).map(|mut init| init.wait()))
}

/// Must be called first in a child of process 1: rewrites variables that name process 1, by starting the program again.
pub fn fix_variables(program: &Program) -> Result<(), String> {
    if !is_below() {
        return Ok(());
    }
    let misnamed: Vec<&str> =
        FOR_ONE.into_iter().filter(|name| env::var_os(name).is_some_and(|id| id == "1")).collect();
    if misnamed.is_empty() {
        return Ok(());
    }
    let mut command = program.command();
    command.envs(misnamed.into_iter().map(|name| (name, process::id().to_string())));
    Err(format!("{} cannot be started: {}", program.path.display(), command.exec()))
}

/// Whether this process was started by our process 1.
pub fn is_below() -> bool {
    parent_id() == 1 && process::id() != 1 && env::var_os(NAME).is_some()
}

/// Tells process 1, if it is ours, that another process is the server from now on.
pub fn moved_to(pid: u32) {
    let Some(name) = env::var_os(NAME) else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| {
        // Its receiver may have exited, and must not be waited for.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(pid.to_string().as_bytes(), &address(&name)?)
    });
    if let (Err(error), true) = (sent, is_below()) {
        tracing::warn!(target: "server", "process 1 cannot be told that process {pid} serves from now on: {error}");
    }
}

/// An abstract socket, since the file system may be read-only.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name.as_encoded_bytes())
}

struct Init {
    signals: SignalFd,
    socket: UnixDatagram,
    /// The server, which gets the signals.
    server: i32,
    /// Previous servers that have not exited.
    earlier: HashSet<i32>,
    /// Exit code of the last server, once it has exited.
    outcome: Option<u8>,
}

impl Init {
    fn start(program: &Program, environment: &[(OsString, OsString)]) -> io::Result<Init> {
        let are_open = inherited::are_open(environment);
        let mut set = SigSet::all();
        OUR_OWN.iter().filter(|signal| **signal != Signal::SIGCHLD).for_each(|signal| set.remove(*signal));
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        // Containers may share the namespace of these names.
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let name = OsString::from(format!("foolsgold-init-{nanos}"));
        let socket = UnixDatagram::bind_addr(&address(&name)?)?;
        socket.set_nonblocking(true)?;
        set_socket_passcred(&socket, true)?;
        let child = program.command().env(NAME, &name).spawn()?;
        // A socket is closed only when all its holders have closed it. Where one is missing, its number may be that of
        // a file of this process by now, and the server refuses to start.
        if are_open {
            drop(inherited::sockets(environment));
        }
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

    /// Passes a signal to the server or, if that has exited, to previous ones that still finish requests.
    fn pass_on(&self, signal: Signal) {
        let server = self.outcome.is_none().then_some(self.server);
        let earlier = self.earlier.iter().copied().filter(|_| server.is_none());
        server.into_iter().chain(earlier).for_each(|pid| send(pid, signal));
        if server.is_some() && self.is_gone() {
            self.earlier.iter().for_each(|pid| send(*pid, signal));
        }
    }

    /// Whether the server is no process any more although it was not reaped here: it was a successor, and so the child
    /// of the previous server, which has reaped it.
    fn is_gone(&self) -> bool {
        self.outcome.is_none() && kill(Pid::from_raw(self.server), None) == Err(Errno::ESRCH)
    }

    /// Reads the process id of a successor. Only the server itself may send it; it does so before it exits.
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

    /// Reaps all children that have exited. Returns the exit code once the server has, and no previous server is
    /// finishing requests.
    fn reap(&mut self) -> Option<ExitCode> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get();
            self.earlier.remove(&pid);
            // An orphan may have the same number, if the server has exited before its predecessors.
            if pid == self.server && self.outcome.is_none() {
                self.outcome = Some(code(status));
            }
        }
        if self.is_gone() {
            self.outcome = Some(CANNOT_START);
        }
        self.outcome.filter(|code| *code != 0 || self.earlier.is_empty()).map(ExitCode::from)
    }
}

/// Sends a signal. That the process has exited just now is no error. A missing right is reported: such a container does
/// not stop until it is killed.
fn send(pid: i32, signal: Signal) {
    if kill(Pid::from_raw(pid), signal) == Err(Errno::EPERM) {
        let _ = writeln!(
            io::stderr(),
            "foolsgold: process 1 may not pass {signal} on to process {pid}, which runs as another user (--user): give \
             the container the capability KILL (docker run --cap-add KILL), or start it as that user"
        );
    }
}

fn code(status: WaitStatus) -> u8 {
    let by_signal = || status.terminating_signal().map(|signal| BY_SIGNAL + signal);
    status.exit_status().or_else(by_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
