//! The channel between a process and the one that it starts in its place: the child's standard input is a socket to the
//! parent. Listening sockets go down; "serving" or the reason of a failure goes up.
//!
//! Each message is one packet of text whose first line is a word. Down: `background` or `upgrade`, then `socket` with
//! kind and address for each socket, `ordered` for each application with manual orders, then `begin`; after the report
//! of an upgrade `ordered` for each application whose orders have changed meanwhile, `reloaded` for each that was
//! reloaded meanwhile, `free` (the pid file is free) and `yours` (the files of Unix sockets belong to the child). Up,
//! the report: `serving` with the addresses that were taken, or `refused` with the unusable settings, one in a line, or
//! `failed` with the reason.
//!
//! Parent and child may be different versions of the program. Orders come in two messages, the first with all of them,
//! the second for older versions; of an application the first that can be read counts. Later fields are added at the
//! end, where this version ignores them.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::count;
use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};

use crate::process::exit::NotServing;

/// Variable with the process id of the parent. It counts only for a child of that process, since processes further down
/// inherit it.
pub const PARENT: &str = "FOOLSGOLD_PARENT";

/// Variable with the process id of a command that has started this server as its own, such as `rails server` with the
/// gem. It counts only for a child of that process.
const ENDS_WITH: &str = "FOOLSGOLD_ENDS_WITH";

/// Longest message; a failure has a backtrace at most. Longer ones are cut.
const MESSAGE_BYTES: usize = 60_000;
/// Time for the first messages; the parent has them ready when it starts its child.
const HELLO_TIME: Duration = Duration::from_secs(30);

/// Why this process was started by another foolsgold process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedAs {
    /// To serve in the background, while the parent only waits for its report.
    Background,
    /// To replace the parent.
    Upgrade,
}

/// Report of a process about its start, for its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartOutcome {
    /// The child serves, and has taken the sockets of these addresses.
    Serving(Vec<String>),
    /// The child does not serve, and exits.
    NotServing(NotServing),
}

impl StartOutcome {
    /// The message that carries it.
    fn message(&self) -> String {
        let (word, lines) = match self {
            StartOutcome::Serving(taken) => ("serving", taken.join("\n")),
            StartOutcome::NotServing(NotServing::Refused(problems)) => ("refused", problems.join("\n")),
            StartOutcome::NotServing(NotServing::Failed(why)) => ("failed", why.clone()),
        };
        if lines.is_empty() { word.to_owned() } else { format!("{word}\n{lines}") }
    }

    fn read(text: &str) -> Option<StartOutcome> {
        let (word, rest) = text.split_once('\n').unwrap_or((text, ""));
        let lines = || rest.lines().map(str::to_owned).collect();
        match word {
            "serving" => Some(StartOutcome::Serving(lines())),
            "refused" => Some(StartOutcome::NotServing(NotServing::Refused(lines()))),
            "failed" => Some(StartOutcome::NotServing(NotServing::Failed(rest.to_owned()))),
            _ => None,
        }
    }
}

/// A listening socket from systemd or another process.
#[derive(Debug)]
pub struct InheritedSocket {
    pub socket: OwnedFd,
    /// The address as it was configured; of an activated one `fd://` and its number.
    pub asked: String,
    /// A service manager made it: its file must not be removed.
    pub is_activated: bool,
}

/// One end of the channel.
#[derive(Debug, Clone)]
pub struct Channel(Arc<OwnedFd>);

/// The parent process, and what it has handed over.
#[derive(Debug)]
pub struct Parent {
    pub started_as: StartedAs,
    pub pid: u32,
    pub channel: Channel,
    pub sockets: Vec<InheritedSocket>,
    pub ordered: Vec<Ordered>,
}

/// Manual orders for an application, which a successor keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    pub app: String,
    /// Least and greatest number of workers, if they were set.
    pub scale: Option<(usize, usize)>,
    /// Bounds that an operator has set, within which signals move that.
    pub bounds: Option<(usize, usize)>,
    pub is_paused: bool,
}

impl Ordered {
    /// The messages that carry it: with all fields, and with those that older versions know. These ignore a message
    /// with another number of fields.
    fn messages(&self) -> [String; 2] {
        let [(min, max), (fewest, most)] = [self.scale, self.bounds].map(Option::unwrap_or_default);
        let held = if self.is_paused { "paused" } else { "" };
        let begin = format!("ordered\n{}\n{min}\n{max}", self.app);
        [format!("{begin}\n{fewest}\n{most}\n{held}"), format!("{begin}\n{held}")]
    }

    /// Reads a message and adds its orders to `all`. Returns them; `None` if it is another message, or if `all` has
    /// orders of this application already: then it is the message for older versions.
    pub fn take<'a>(text: &str, all: &'a mut Vec<Ordered>) -> Option<&'a Ordered> {
        let one = Ordered::read(text).filter(|one| all.iter().all(|other| other.app != one.app))?;
        all.push(one);
        all.last()
    }

    /// Reads the message; `None` if it is another one.
    fn read(text: &str) -> Option<Ordered> {
        let parts: Vec<&str> = text.split('\n').collect();
        let (app, scale, bounds, held) = match parts[..] {
            ["ordered", app, min, max, held] => (app, [min, max], ["0", "0"], held),
            ["ordered", app, min, max, fewest, most, held, ..] => (app, [min, max], [fewest, most], held),
            _ => return None,
        };
        let pair = |[least, greatest]: [&str; 2]| Some((least.parse().ok()?, greatest.parse().ok()?));
        let set = |pair: (usize, usize)| (pair.1 > 0).then_some(pair);
        let (scale, bounds) = (set(pair(scale)?), set(pair(bounds)?));
        Some(Ordered { app: app.to_owned(), scale, bounds, is_paused: held == "paused" })
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.app)?;
        if self.scale.is_none() && !self.is_paused {
            return f.write_str(" not paused");
        }
        if let Some((min, max)) = self.scale {
            let fewest = if min == max { String::new() } else { format!("{min} to ") };
            write!(f, " {fewest}{}", count(max, "worker"))?;
        }
        let and = if self.scale.is_some() { "," } else { "" };
        if self.is_paused { write!(f, "{and} paused") } else { Ok(()) }
    }
}

/// The value of a variable that the parent process has set for this one; `None` if the parent is no FoolsGold.
pub fn variable(name: &str) -> Option<String> {
    let is_meant = env::var(PARENT).is_ok_and(|parent| parent == parent_id().to_string());
    env::var(name).ok().filter(|_| is_meant)
}

/// Sends this process one SIGTERM when its parent exits, if the parent is a command that asks for it by
/// `FOOLSGOLD_ENDS_WITH`: a command that is killed cannot pass a signal on. Does not use the kernel's parent-death
/// signal, which comes once for each thread of the parent and is cleared by a change of user. An error if the parent
/// has exited already.
pub fn end_with_command(environment: &[(OsString, OsString)]) -> Result<(), String> {
    let parent = getppid();
    let Some(command) = parent.filter(|parent| asks_to_end(environment, *parent)) else { return Ok(()) };
    // Without a descriptor or a thread, the server outlives a command that is killed.
    let Ok(process) = pidfd_open(command, PidfdFlags::empty()) else { return Ok(()) };
    if getppid() != parent {
        return Err(format!("process {command}, which started this one, has ended"));
    }
    let watch = move || {
        while poll(&mut [PollFd::new(&process, PollFlags::IN)], None) == Err(Errno::INTR) {}
        let _ = kill_process(getpid(), Signal::TERM);
    };
    let _ = thread::Builder::new().name("command".into()).spawn(watch);
    Ok(())
}

/// Whether the parent asks this process to end with it.
fn asks_to_end(environment: &[(OsString, OsString)], parent: Pid) -> bool {
    let value = environment.iter().find(|(name, _)| name == ENDS_WITH).and_then(|(_, value)| value.to_str());
    value == Some(&parent.to_string())
}

impl Parent {
    /// Whether this process was started by another foolsgold process; if so, takes over what that hands over.
    pub fn find(environment: &[(OsString, OsString)]) -> Result<Option<Parent>, String> {
        let value = environment.iter().find(|(name, _)| name == PARENT).and_then(|(_, value)| value.to_str());
        let pid = parent_id();
        let is_socket = || socket_type(io::stdin()).is_ok_and(|kind| kind == SocketType::SEQPACKET);
        if value != Some(&pid.to_string()) || !is_socket() {
            return Ok(None);
        }
        let broken = |error: io::Error| format!("the process that started this one does not speak to it: {error}");
        Parent::take(pid).map(Some).map_err(broken)
    }

    fn take(pid: u32) -> io::Result<Parent> {
        let channel = Channel(Arc::new(io::stdin().as_fd().try_clone_to_owned()?));
        // Processes that the application starts must not find the channel there.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        channel.set_receive_timeout(Some(HELLO_TIME))?;
        let started_as = match channel.receive()?.0.as_str() {
            "background" => StartedAs::Background,
            "upgrade" => StartedAs::Upgrade,
            other => return Err(io::Error::other(format!("{other:?} is no beginning"))),
        };
        let mut sockets = Vec::new();
        let mut ordered = Vec::new();
        loop {
            let (text, socket) = channel.receive()?;
            if text.starts_with("ordered\n") {
                Ordered::take(&text, &mut ordered);
                continue;
            }
            let mut words = text.split('\n');
            match (words.next(), words.next(), words.next(), socket) {
                (Some("socket"), Some(kind), Some(asked), Some(socket)) => {
                    sockets.push(InheritedSocket {
                        socket,
                        asked: asked.to_owned(),
                        is_activated: kind == "activated",
                    });
                }
                (Some("begin"), ..) => break,
                _ => return Err(io::Error::other(format!("{text:?} has no meaning"))),
            }
        }
        channel.set_receive_timeout(None)?;
        Ok(Parent { started_as, pid, channel, sockets, ordered })
    }
}

impl Channel {
    /// Starts a child with the other end of a new channel as its standard input.
    pub fn start(mut command: Command, started_as: StartedAs) -> io::Result<(Channel, Child)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let child = command.stdin(Stdio::from(theirs)).spawn()?;
        let channel = Channel(Arc::new(ours));
        channel.say(match started_as {
            StartedAs::Background => "background",
            StartedAs::Upgrade => "upgrade",
        })?;
        Ok((channel, child))
    }

    /// Hands over a socket.
    pub fn hand(&self, socket: BorrowedFd<'_>, asked: &str, is_activated: bool) -> io::Result<()> {
        let kind = if is_activated { "activated" } else { "bound" };
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut extra = SendAncillaryBuffer::new(&mut space);
        let sockets = [socket];
        extra.push(SendAncillaryMessage::ScmRights(&sockets));
        let text = format!("socket\n{kind}\n{asked}");
        sendmsg(&self.0, &[IoSlice::new(text.as_bytes())], &mut extra, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Hands over manual orders.
    pub fn order(&self, ordered: &Ordered) -> io::Result<()> {
        ordered.messages().iter().try_for_each(|message| self.say(message))
    }

    /// Reports the outcome of this process's start.
    pub fn report(&self, outcome: &StartOutcome) -> io::Result<()> {
        self.say(&outcome.message())
    }

    /// Waits for the child's report. Errors as for [`Channel::receive`], and one of kind `InvalidData` for an unknown
    /// message.
    pub fn outcome(&self) -> io::Result<StartOutcome> {
        let (text, _) = self.receive()?;
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, format!("it says {text:?}, which has no meaning"));
        StartOutcome::read(&text).ok_or_else(unknown)
    }

    /// Sends a message, cut to [`MESSAGE_BYTES`].
    pub fn say(&self, text: &str) -> io::Result<()> {
        let bytes = &text.as_bytes()[..text.floor_char_boundary(MESSAGE_BYTES)];
        sendmsg(&self.0, &[IoSlice::new(bytes)], &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next message of the other end, with a socket if it carries one. Errors: kind `UnexpectedEof` when the other
    /// end has closed, `WouldBlock` after the time set by [`Channel::set_receive_timeout`].
    pub fn receive(&self) -> io::Result<(String, Option<OwnedFd>)> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut extra = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = vec![0; MESSAGE_BYTES];
        let mut into = [IoSliceMut::new(&mut bytes)];
        let got = loop {
            match recvmsg(&self.0, &mut into, &mut extra, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                got => break got?,
            }
        };
        // Messages are never empty.
        if got.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(got.bytes);
        let socket = extra.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
            _ => None,
        });
        Ok((String::from_utf8_lossy(&bytes).into_owned(), socket))
    }

    /// Sets how long [`Channel::receive`] waits; `None` is for ever.
    pub fn set_receive_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, limit)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_child_of_the_command_ends_with_it() {
        let parent = Pid::from_raw(4711).unwrap();
        let ends_with = |value: &str| asks_to_end(&[(ENDS_WITH.into(), value.into())], parent);
        assert_eq!(["4711", "4712", "", "x"].map(ends_with), [true, false, false, false]);
        assert!(!asks_to_end(&[], parent));
    }

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (outcome, text) in [
            (StartOutcome::Serving(Vec::new()), "serving"),
            (StartOutcome::Serving(lines(&["tcp://[::]:80", "fd://3"])), "serving\ntcp://[::]:80\nfd://3"),
            (StartOutcome::NotServing(NotServing::Refused(lines(&["--port: no", "b"]))), "refused\n--port: no\nb"),
            (StartOutcome::NotServing(NotServing::Failed("one\n  two".into())), "failed\none\n  two"),
        ] {
            assert_eq!(outcome.message(), text);
            assert_eq!(StartOutcome::read(text), Some(outcome));
        }
        assert_eq!(
            (StartOutcome::read(""), StartOutcome::read("servings\nx"), StartOutcome::read("free")),
            (None, None, None)
        );
    }

    #[test]
    fn orders_are_read_as_they_were_written() {
        let none = Ordered { app: "shop".to_owned(), scale: None, bounds: None, is_paused: true };
        let scaled = Ordered { scale: Some((2, 8)), bounds: Some((1, 8)), is_paused: false, ..none.clone() };
        for ordered in [none, scaled] {
            let [all, older] = ordered.messages();
            assert_eq!(Ordered::read(&all), Some(ordered.clone()));
            assert_eq!(Ordered::read(&older), Some(Ordered { bounds: None, ..ordered }));
        }
    }

    #[test]
    fn orders_of_older_and_newer_versions_are_read_as_far_as_they_are_known() {
        let scaled = Ordered { app: "shop".to_owned(), scale: Some((2, 8)), bounds: None, is_paused: true };
        assert_eq!(Ordered::read("ordered\nshop\n2\n8\npaused"), Some(scaled.clone()));
        let newer = Ordered::read("ordered\nshop\n2\n8\n1\n9\npaused\nlater\n7");
        assert_eq!(newer, Some(Ordered { bounds: Some((1, 9)), ..scaled.clone() }));
        assert_eq!(scaled.messages()[1], "ordered\nshop\n2\n8\npaused");
        for other in ["free", "ordered\nshop", "ordered\nshop\n2\n8\n1\n9", "ordered\nshop\nx\n8\n"] {
            assert_eq!(Ordered::read(other), None, "{other:?}");
        }
    }
}
