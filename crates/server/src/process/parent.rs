//! The channel between a process and the one it starts in its place: the child's standard input is a socket to its
//! parent, over which listening sockets come down, and "I serve" or "I cannot, because" goes up.
//!
//! Each message is one packet of text whose first line is a word. Down: `background` or `upgrade`, then `socket` with
//! its kind and its address for each socket, `ordered` with what was ordered by hand for each application that was told
//! something, then `begin`; after an upgrade `free` (the pid file is nobody's) and `yours` (so are the files of Unix
//! sockets). Up: `serving` with the addresses that were taken, or `refused` with the settings that cannot be used, one
//! in a line, or `failed` with why.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use engine::count;
use rustix::cmsg_space;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::process::exit::NotServing;

/// Says to a process who started it. It counts only for a child of that process, so that the processes below, which
/// inherit it, do not take it for theirs.
pub const PARENT: &str = "FOOLSGOLD_PARENT";

/// A message is cut to this: what is said of a failure has a backtrace at most.
const MESSAGE_BYTES: usize = 60_000;
/// The parent has everything ready when it starts its child.
const HELLO_TIME: Duration = Duration::from_secs(30);

/// Why this process was started by another of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedAs {
    /// To serve in the background, while the parent only waits for it.
    Background,
    /// To take the parent's place.
    Upgrade,
}

/// What a process says of its start to the one that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartOutcome {
    /// It serves, and has taken the sockets for these addresses.
    Serving(Vec<String>),
    /// It does not, and ends.
    NotServing(NotServing),
}

impl StartOutcome {
    /// As a message.
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

/// A listening socket from somebody else.
#[derive(Debug)]
pub struct Handed {
    pub socket: OwnedFd,
    /// As it was asked for; of an activated one `fd://` and its number.
    pub asked: String,
    /// A service manager made it: its file is none of ours.
    pub is_activated: bool,
}

/// One end of the channel.
#[derive(Debug, Clone)]
pub struct Channel(Arc<OwnedFd>);

/// What a process was given by the one that started it.
#[derive(Debug)]
pub struct Parent {
    pub started_as: StartedAs,
    pub pid: u32,
    pub channel: Channel,
    pub sockets: Vec<Handed>,
    pub ordered: Vec<Ordered>,
}

/// What somebody ordered by hand for an application: it holds in a process that takes the place of another, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    pub app: String,
    /// The fewest and the most workers.
    pub scale: Option<(usize, usize)>,
    pub is_paused: bool,
}

impl Ordered {
    /// As a message.
    fn message(&self) -> String {
        let (min, max) = self.scale.unwrap_or_default();
        let held = if self.is_paused { "paused" } else { "" };
        format!("ordered\n{}\n{min}\n{max}\n{held}", self.app)
    }

    fn read(text: &str) -> Option<Ordered> {
        let [_, app, min, max, held] = text.split('\n').collect::<Vec<_>>()[..] else { return None };
        let scale = (min.parse().ok()?, max.parse().ok()?);
        Some(Ordered { app: app.to_owned(), scale: (scale.1 > 0).then_some(scale), is_paused: held == "paused" })
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.app)?;
        if let Some((min, max)) = self.scale {
            let fewest = if min == max { String::new() } else { format!("{min} to ") };
            write!(f, " {fewest}{}", count(max, "worker"))?;
        }
        let and = if self.scale.is_some() { "," } else { "" };
        if self.is_paused { write!(f, "{and} paused") } else { Ok(()) }
    }
}

impl Parent {
    /// Looks whether this process was started by another of its kind, and takes what that hands over.
    pub fn find(environment: &[(OsString, OsString)]) -> Result<Option<Parent>, String> {
        let told = environment.iter().find(|(name, _)| name == PARENT).and_then(|(_, value)| value.to_str());
        let pid = parent_id();
        let is_socket = || socket_type(io::stdin()).is_ok_and(|kind| kind == SocketType::SEQPACKET);
        if told != Some(&pid.to_string()) || !is_socket() {
            return Ok(None);
        }
        let broken = |error: io::Error| format!("the process that started this one does not speak to it: {error}");
        Parent::take(pid).map(Some).map_err(broken)
    }

    fn take(pid: u32) -> io::Result<Parent> {
        let channel = Channel(Arc::new(io::stdin().as_fd().try_clone_to_owned()?));
        // What the application starts must not find the channel there.
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        channel.patience(Some(HELLO_TIME))?;
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
                ordered.extend(Ordered::read(&text));
                continue;
            }
            let mut words = text.split('\n');
            match (words.next(), words.next(), words.next(), socket) {
                (Some("socket"), Some(kind), Some(asked), Some(socket)) => {
                    sockets.push(Handed { socket, asked: asked.to_owned(), is_activated: kind == "activated" });
                }
                (Some("begin"), ..) => break,
                _ => return Err(io::Error::other(format!("{text:?} has no meaning"))),
            }
        }
        channel.patience(None)?;
        Ok(Parent { started_as, pid, channel, sockets, ordered })
    }
}

impl Channel {
    /// Starts a child with the other end.
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

    /// Tells what was ordered by hand.
    pub fn order(&self, ordered: &Ordered) -> io::Result<()> {
        self.say(&ordered.message())
    }

    /// Tells what came of the start of this process.
    pub fn report(&self, outcome: &StartOutcome) -> io::Result<()> {
        self.say(&outcome.message())
    }

    /// Waits for what comes of the start of the other process. An error as for [`Channel::receive`], and one of the
    /// kind `InvalidData` when what it says has no meaning.
    pub fn outcome(&self) -> io::Result<StartOutcome> {
        let (text, _) = self.receive()?;
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, format!("it says {text:?}, which has no meaning"));
        StartOutcome::read(&text).ok_or_else(unknown)
    }

    /// Says this.
    pub fn say(&self, text: &str) -> io::Result<()> {
        let bytes = &text.as_bytes()[..text.floor_char_boundary(MESSAGE_BYTES)];
        sendmsg(&self.0, &[IoSlice::new(bytes)], &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// What the other end says next. An error of the kind `UnexpectedEof` when it is gone, `WouldBlock` when it takes
    /// longer than [`Channel::patience`] allows.
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
        // No message is empty.
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

    /// How long [`Channel::receive`] waits; for ever if nothing is said.
    pub fn patience(&self, limit: Option<Duration>) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, limit)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
