//! Frames of molds and workers on their control connections.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use super::event_loop::EventLoop;
use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::fleet::{Event, Speaker, named};
use crate::message::Message;
use crate::process::is_of;
use crate::start_error::StartError;
use crate::wire::answer;
use crate::wire::control::Control;
use crate::wire::frames::{self, Frame, Reader, WireError, kind};

/// The time within which the front has received a signal that was sent to all processes of the service.
const SIGNAL_TIME: Duration = Duration::from_secs(1);

/// The most frames of one connection in the supervisor's queue. The others stay in the socket: a process that sends
/// frames faster than they are handled waits, and does not fill the server's memory.
const WAITING_MAX: usize = 16;

/// The class of the exception that a Ruby without Rack raises (`ruby/errors.rb`).
const NO_RACK: &str = "FoolsGold::NoRack";

/// Starts to read and write a control connection, and returns its sending end.
pub fn listen(stream: UnixStream, speaker: Speaker, messages: UnboundedSender<Message>) -> Control {
    let (reader, writer) = stream.into_split();
    let (control, orders) = Control::new();
    drop(tokio::spawn(Control::write(orders, writer)));
    drop(tokio::spawn(async move {
        if let Err(error) = read_frames(reader, speaker, &messages).await {
            tracing::error!(target: "engine", "{speaker} broke the protocol: {error}");
        }
        let _ = messages.send(Message::Disconnected(speaker));
    }));
    control
}

async fn read_frames(
    mut reader: OwnedReadHalf,
    speaker: Speaker,
    messages: &UnboundedSender<Message>,
) -> Result<(), WireError> {
    let mut buffer = BytesMut::new();
    let places = Arc::new(Semaphore::new(WAITING_MAX));
    loop {
        while let Some(frame) = frames::take(&mut buffer)? {
            // The semaphore is never closed.
            let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
            let _ = messages.send(Message::Received(speaker, frame, place));
        }
        match reader.read_buf(&mut buffer).await {
            Ok(count) if count > 0 => {}
            _ => return Ok(()),
        }
    }
}

impl EventLoop {
    /// Handles a frame of a mold or a worker.
    pub(super) fn receive(&mut self, speaker: Speaker, frame: Frame) {
        let number = frame.kind;
        if let Speaker::Worker(worker) = speaker {
            self.feed(Event::Alive(worker));
        }
        let received = match speaker {
            _ if number == kind::LOG => self.receive_log(speaker, frame),
            Speaker::Mold(pid) => self.receive_from_mold(pid, frame),
            Speaker::Worker(worker) => self.receive_from_worker(worker, frame),
        };
        if let Err(error) = received {
            tracing::error!(target: "engine", "{speaker} sent an invalid frame of kind {number}: {error}");
        }
    }

    /// Writes a log entry that a mold or a worker has sent.
    fn receive_log(&self, speaker: Speaker, frame: Frame) -> Result<(), WireError> {
        let mut reader = Reader::new(frame.payload, "a frame of orders");
        let level = reader.u8()?;
        let text = reader.text();
        match speaker {
            Speaker::Mold(mold) => self.log_for(&speaker.to_string(), None, Some(mold), level, &text),
            Speaker::Worker(worker) => {
                let pid = self.fleet.pid(worker);
                self.log_for(&named(worker, pid), Some(worker), pid, level, &text);
            }
        }
        Ok(())
    }

    fn receive_from_mold(&mut self, mold: u32, frame: Frame) -> Result<(), WireError> {
        let mut reader = Reader::new(frame.payload, "a frame of orders");
        match frame.kind {
            kind::BEFORE_EXEC => self.exec_hooks_ended(mold, reader.list()),
            kind::READY => {
                self.feed(Event::MoldReady(mold, pairs(reader.list())));
                let mut dispatch = self.pool.dispatch();
                dispatch.is_parallel = self.fleet.says("parallel", "yes");
                dispatch.has_short_slices = self.fleet.says("short_slices", "yes");
                dispatch.loads_in_workers = self.fleet.loads_in_workers();
            }
            kind::FAILED => self.feed(Event::MoldFailed(mold, self.failed(reader.list()))),
            kind::NO_NATIVE => self.feed(Event::MoldFailed(mold, StartError::NoNative)),
            kind::SHARED => self.feed(Event::MoldShares(mold, reader.list())),
            kind::FORKED => {
                let (worker, pid) = (reader.u32()?, reader.u32()?);
                if self.settings.user.as_ref().is_some_and(|user| !is_of(user.uid, pid)) {
                    return Err(WireError(format!("it says that worker {worker} is pid {pid}, which is not its own")));
                }
                self.feed(Event::Forked { mold, worker, pid });
            }
            kind::EXITED => {
                let (worker, pid, exit) = (reader.u32()?, reader.u32()?, Exit::of(reader.i32()?));
                self.feed(Event::Exited { mold, worker, pid, exit });
            }
            other => return Err(no_meaning(other, Speaker::Mold(mold))),
        }
        Ok(())
    }

    fn receive_from_worker(&mut self, worker: u32, frame: Frame) -> Result<(), WireError> {
        let mut reader = Reader::new(frame.payload, "a frame of orders");
        match frame.kind {
            kind::PING => {}
            kind::THREADS => self.questions.answered(reader.u32()?, reader.text()),
            kind::TRACE => {
                if let Some((id, lines)) = reader.list().split_first() {
                    self.settings.meter.recorder.add_backtrace(id, lines);
                }
            }
            kind::OUT_OF_BAND => self.pool.out_of_band_done(worker),
            kind::ENDING => self.asked_to_end(worker, reader.u8()? == 1),
            kind::READY => {
                let has_out_of_band = pairs(reader.list()).contains(&("out_of_band".to_owned(), "yes".to_owned()));
                self.links.entry(Speaker::Worker(worker)).and_modify(|link| link.has_out_of_band = has_out_of_band);
                self.feed(Event::WorkerReady(worker));
            }
            kind::FAILED => self.feed(Event::WorkerFailed(worker, self.failed(reader.list()))),
            kind::HOOK_FAILED => self.feed(Event::HookFailed(worker, failed_hook(reader.list()))),
            other => return Err(no_meaning(other, Speaker::Worker(worker))),
        }
        Ok(())
    }

    /// Returns the error for an application that cannot be loaded. For a missing gem it says how to get it.
    fn failed(&self, words: Vec<String>) -> StartError {
        let mut error = answer::error(words);
        if error.class == NO_RACK {
            return StartError::NoRack(Box::new(error));
        }
        let missing = error.message.strip_prefix("cannot load such file -- ");
        let missing = missing.filter(|path| error.class == "LoadError" && !path.starts_with(['/', '.']));
        if let Some(missing) = missing {
            let name = missing.split('/').next().unwrap_or(missing);
            let remedy = match &self.settings.gemfile {
                Some(gemfile) => format!("if it is of a gem, add that to {}, and `bundle install`", gemfile.display()),
                None => format!("if it is of a gem: `gem install {name}`, or a Gemfile and `bundle install`"),
            };
            error.message = format!("{} ({remedy})", error.message);
        }
        StartError::App(Box::new(error))
    }

    /// Handles a signal that asks a worker to exit. A service is stopped by a signal to all its processes: then the
    /// front ends too, and its workers with it. A signal that a worker has sent itself is meant for it alone.
    fn asked_to_end(&mut self, worker: u32, is_own: bool) {
        if is_own {
            self.feed(Event::AsksToEnd(worker));
        } else {
            self.feed_later(SIGNAL_TIME, Event::Expired(worker, ExitReason::Signal));
        }
    }
}

fn no_meaning(kind: u8, speaker: Speaker) -> WireError {
    WireError(format!("a frame of kind {kind} from the {speaker}, where it has no meaning"))
}

/// Returns the error for a hook that has kept a worker from starting.
fn failed_hook(words: Vec<String>) -> StartError {
    let mut words = words.into_iter();
    let (hook, place) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    StartError::Hook(hook, place, Box::new(answer::error(words.collect())))
}

/// Pairs up a list of alternating names and values.
fn pairs(list: Vec<String>) -> Vec<(String, String)> {
    let mut items = list.into_iter();
    iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::task::yield_now;

    use super::*;
    use crate::message::channel;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn names_and_values_alternate_and_a_name_without_a_value_is_left_out() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs(list(&["fork", "yes", "rack", "3.1", "odd"])), [pair("fork", "yes"), pair("rack", "3.1")]);
    }

    #[tokio::test]
    async fn frames_that_the_supervisor_does_not_take_stay_in_the_socket() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (messages, mut inbox) = channel();
        let _control = listen(ours, Speaker::Mold(1), messages);
        let frame = frames::frame(kind::LOG, |out| out.extend_from_slice(b"\x03words"));
        for _ in 0..3 * WAITING_MAX {
            theirs.write_all(&frame).await.unwrap();
        }
        let waiting = async {
            while inbox.len() < WAITING_MAX {
                yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap();
        for _ in 0..1000 {
            yield_now().await;
        }
        assert_eq!(inbox.len(), WAITING_MAX);
        for _ in 0..3 * WAITING_MAX {
            assert!(matches!(inbox.recv().await, Some(Message::Received(..))));
        }
    }

    #[test]
    fn a_hook_that_failed_is_told_with_its_place_if_that_is_known() {
        let words = |place: &str| failed_hook(list(&["after_fork", place, "IOError", "closed"])).to_string();
        assert_eq!(words("hooks.rb:3"), "the hook after_fork (hooks.rb:3) failed: IOError: closed");
        assert_eq!(words(""), "the hook after_fork failed: IOError: closed");
    }
}
