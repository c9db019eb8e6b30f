//! The body of a response as hyper reads it. Dropping it ends the request: the access log entry is written, and the
//! connection is free for the next one, when the socket has all that hyper has taken.

use std::fs::File;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use engine::Fault;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::connection::link::Link;
use crate::log::body_fault::{BodyRequest, FaultCount};
use crate::log::fault_log;
use crate::log::record::Record;
use crate::response::spool::Spool;
use crate::transport::sendfile::{self, Part};

/// A part of a stream for which the task was woken is written without a further yield if it is shorter than this. The
/// write of a longer one costs more than the yield, after which more may be there to be written with it.
const SHORT_PART_BYTES: usize = 4 * 1024;

/// Advice about an application's Content-Length that is not the length of its body.
const REMEDY: &str = "leave that header to the server, or count bytes and not characters (bytesize)";

/// A response body.
pub(crate) struct Out {
    kind: Kind,
    /// Bytes of the Content-Length that are not sent yet; `None` without that header.
    announced: Option<u64>,
    link: Arc<Link>,
    record: Option<Box<Record>>,
    /// The error that broke the body off. hyper gets it only when all earlier output is written, since it then drops
    /// the rest.
    failed: Option<io::Error>,
    /// The count of a fault, with the request if the body can fail or be too long.
    faults: FaultCount,
    /// Whether a stream had nothing when it was last read.
    has_waited: bool,
}

pub(crate) enum Kind {
    Empty,
    Full(Bytes),
    Spool(Spool, Direct),
    File(FileReader),
}

/// What an engine writes to the client itself, in the middle of a stream.
#[derive(Default)]
pub(crate) enum Direct {
    #[default]
    Nothing,
    /// The engine asks to write; the wire was asked for the socket.
    Asked,
    /// The engine has the socket; the number of bytes that it has written comes when it gives that back.
    Writing(oneshot::Receiver<u64>),
    /// The engine has written bytes, of which hyper does not know this number yet.
    Written(u64),
    /// The engine has reported nothing, so it is not known how much it has written.
    Lost,
}

pub(crate) struct FileReader {
    file: Arc<File>,
    at: u64,
    len: u64,
    /// A task on a blocking thread that reads a part that is not in the page cache.
    reading: Option<JoinHandle<io::Result<()>>>,
}

impl Out {
    pub(crate) fn new(kind: Kind, announced: Option<u64>, link: Arc<Link>, record: Option<Box<Record>>) -> Out {
        Out { kind, announced, link, record, failed: None, faults: FaultCount::default(), has_waited: false }
    }

    /// Sets the count of a fault.
    pub(crate) fn counting(mut self, faults: FaultCount) -> Out {
        self.faults = faults;
        self
    }

    /// Logs a fault of the body.
    #[cold]
    fn log(&self, fault: &Fault) {
        if let Some(request) = self.faults.request() {
            fault_log::write(fault, &request.identity, Duration::ZERO);
        }
    }

    /// Counts and records a fault, the first time.
    fn tell(&mut self, fault: &Fault) {
        self.faults.fail(fault, || self.record.as_deref().map(Record::past));
    }

    /// Counts and records a fault of the body, for the access log, too.
    fn note(&mut self, fault: &Fault) {
        self.tell(fault);
        if let Some(record) = &mut self.record {
            record.fault = fault.name();
        }
    }

    /// Breaks the body off after earlier output is written: the client gets that, as with other servers.
    fn fail<T>(&mut self, fault: &Fault) -> Poll<T> {
        self.note(fault);
        self.failed = Some(io::Error::other(fault.to_string()));
        self.link.awaited.flush();
        Poll::Pending
    }

    /// Counts bytes to be sent and cuts what exceeds the announced length.
    fn count(&mut self, mut bytes: Bytes) -> Bytes {
        let mut is_longer = false;
        if let Some(left) = &mut self.announced {
            if bytes.len() as u64 > *left {
                bytes.truncate(*left as usize);
                is_longer = true;
            }
            *left -= bytes.len() as u64;
        }
        if is_longer {
            let fault =
                Fault::BadAnswer(format!("the body is longer than its Content-Length: the rest is not sent; {REMEDY}"));
            self.log(&fault);
            self.note(&fault);
        }
        if let Some(record) = &mut self.record {
            record.bytes += bytes.len() as u64;
        }
        bytes
    }

    /// A placeholder for bytes that the engine has written to the client itself; none if other bytes come next. The
    /// engine may do so where the length of the body was announced: otherwise hyper would have to write, around these
    /// bytes, the sizes of chunks.
    fn poll_direct(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Kind::Spool(spool, direct) = &mut self.kind else { return Poll::Ready(None) };
        loop {
            match direct {
                Direct::Nothing | Direct::Asked => {
                    let Some(length) = spool.poll_direct(cx) else {
                        if matches!(direct, Direct::Asked) {
                            self.link.keep_socket();
                            *direct = Direct::Nothing;
                        }
                        return Poll::Ready(None);
                    };
                    if self.announced.is_none_or(|left| left < length) {
                        drop(spool.take_direct());
                        continue;
                    }
                    let Some(socket) = self.link.ask_for_socket() else {
                        *direct = Direct::Asked;
                        return Poll::Pending;
                    };
                    *direct = match (socket, spool.take_direct()) {
                        (Ok(socket), Some(request)) => {
                            self.link.set_lent(true);
                            Direct::Writing(request.grant(socket))
                        }
                        // It was declined meanwhile; or too many files are open.
                        _ => Direct::Nothing,
                    };
                }
                Direct::Writing(written) => {
                    let written = std::task::ready!(Pin::new(written).poll(cx));
                    self.link.set_lent(false);
                    *direct = match written {
                        Ok(count) => {
                            spool.note_written(count);
                            Direct::Written(count.min(self.announced.unwrap_or(0)))
                        }
                        Err(_) => Direct::Lost,
                    };
                }
                Direct::Written(0) => *direct = Direct::Nothing,
                Direct::Written(left) => {
                    let bytes = sendfile::placeholder(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= bytes.len() as u64;
                    let bytes = self.count(bytes);
                    self.link.add_part(Part::written(bytes.len()), None);
                    return Poll::Ready(Some(bytes));
                }
                Direct::Lost => return Poll::Ready(None),
            }
        }
    }

    /// Ends the body, or breaks it off if more was announced.
    fn finish<T>(&mut self) -> Poll<Option<T>> {
        let left = self.announced.unwrap_or(0);
        if left == 0 {
            return Poll::Ready(None);
        }
        let fault = Fault::BadAnswer(format!(
            "the body is {} shorter than its Content-Length: the connection is cut; {REMEDY}",
            engine::count(left, "byte")
        ));
        self.log(&fault);
        self.fail(&fault)
    }

    /// Breaks the body off because its file cannot be read.
    fn unread<T>(&mut self, error: &io::Error) -> Poll<T> {
        let fault = Fault::Broken(format!("the file of a response cannot be read: {error}"));
        if self.link.set_file_broken()
            && let Some(request) = self.faults.request()
        {
            fault_log::write_unread(&fault, &request.identity, "cannot read the file of a response", error);
        }
        self.fail(&fault)
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.failed.is_some() {
            return if this.link.awaited.is_flush() { Poll::Pending } else { Poll::Ready(this.failed.take().map(Err)) };
        }
        loop {
            if matches!(this.kind, Kind::Spool(..))
                && let Some(bytes) = std::task::ready!(this.poll_direct(cx))
            {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            let next = match &mut this.kind {
                Kind::Empty => None,
                Kind::Full(bytes) => {
                    let bytes = std::mem::take(bytes);
                    this.kind = Kind::Empty;
                    Some(Ok(bytes))
                }
                Kind::Spool(spool, Direct::Lost) => Some(Err(lost(std::task::ready!(spool.poll_next(cx))))),
                Kind::Spool(spool, _) => {
                    let next = spool.poll_next(cx);
                    let has_waited = std::mem::replace(&mut this.has_waited, next.is_pending());
                    let next = std::task::ready!(next);
                    if has_waited && matches!(&next, Some(Ok(part)) if part.len() < SHORT_PART_BYTES) {
                        // All tasks that were ready when the part came have run since, as after a yield.
                        this.link.has_yielded();
                    }
                    next
                }
                Kind::File(reader) => match std::task::ready!(reader.poll_next(cx)) {
                    Some(Err(error)) => return this.unread(&error),
                    Some(Ok(bytes)) => Some(Ok(bytes)),
                    None => None,
                },
            };
            match next {
                None => return this.finish(),
                Some(Err(fault)) => {
                    if !matches!(&this.kind, Kind::Spool(spool, _) if spool.has_logged_fault()) {
                        this.log(&fault);
                    }
                    return this.fail(&fault);
                }
                Some(Ok(bytes)) => {
                    let bytes = this.count(bytes);
                    if bytes.is_empty() {
                        continue;
                    }
                    if let Kind::File(reader) = &mut this.kind {
                        reader.take(&bytes, &this.link, this.faults.request());
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Empty) && self.announced.is_none_or(|left| left == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(bytes) if self.announced.is_none() => SizeHint::with_exact(bytes.len() as u64),
            Kind::File(reader) if self.announced.is_none() => SizeHint::with_exact(reader.len - reader.at),
            // hyper then uses the Content-Length header, if there is one.
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if self.announced == Some(0)
            && matches!(self.kind, Kind::Full(_))
            && let Kind::Full(bytes) = std::mem::replace(&mut self.kind, Kind::Empty)
        {
            // With a Content-Length of 0, hyper does not ask for the body.
            drop(self.count(bytes));
        }
        self.link.answered();
        // All announced bytes make the response complete, even if the application has not ended the body.
        let is_whole = self.announced == Some(0) || is_read_out(&self.kind);
        let cut_by = (!is_whole).then(|| self.link.cut_by());
        if let Some(fault) = &cut_by {
            self.tell(fault);
        }
        let Some(mut record) = self.record.take() else { return };
        if let (true, Some(fault)) = (record.fault.is_empty(), cut_by) {
            record.fault = fault.name();
        }
        // The socket may not take all of it.
        record.faults = std::mem::take(&mut self.faults);
        match std::mem::replace(&mut self.kind, Kind::Empty) {
            Kind::Spool(_, Direct::Writing(written)) => log_when_written(record, written),
            Kind::Spool(_, Direct::Written(left)) => {
                record.bytes += left;
                self.link.keep_until_flushed(record);
            }
            _ => self.link.keep_until_flushed(record),
        }
    }
}

/// The fault of a stream whose engine did not report how much it has written to the client: that with which the stream
/// ends then.
fn lost(next: Option<Result<Bytes, Fault>>) -> Fault {
    match next {
        Some(Err(fault)) => fault,
        _ => Fault::Broken("it is not known how much of a body was written to the client".to_owned()),
    }
}

/// Writes the access log entry of a client that has gone when it is known how many bytes the engine has written to it,
/// which is soon.
fn log_when_written(mut record: Box<Record>, written: oneshot::Receiver<u64>) {
    // Without an event loop, the server ends.
    let Ok(event_loop) = tokio::runtime::Handle::try_current() else { return };
    drop(event_loop.spawn(async move {
        record.bytes += written.await.unwrap_or(0);
    }));
}

fn is_read_out(kind: &Kind) -> bool {
    match kind {
        Kind::Empty => true,
        Kind::Full(_) => false,
        Kind::Spool(spool, Direct::Nothing) => spool.is_read_out(),
        Kind::Spool(..) => false,
        Kind::File(reader) => reader.at == reader.len,
    }
}

impl FileReader {
    pub(crate) fn new(file: File, len: u64) -> FileReader {
        FileReader { file: Arc::new(file), at: 0, len, reading: None }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The next bytes for hyper, or a placeholder for a part that is in the page cache now; `take` records that hyper
    /// has them.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.at == self.len {
            return Poll::Ready(None);
        }
        let left =
            usize::try_from(self.len - self.at).map_or(sendfile::PART_BYTES, |left| left.min(sendfile::PART_BYTES));
        let next = match self.reading.is_none().then(|| sendfile::now(&self.file, self.at, left)) {
            Some(Ok(Some(bytes))) => Ok(bytes),
            Some(Err(error)) => Err(error),
            Some(Ok(None)) | None => {
                let read = std::task::ready!(self.poll_read(cx, left));
                read.map(|()| sendfile::placeholder(left))
            }
        };
        Poll::Ready(Some(next))
    }

    /// Brings the next part into memory, in a thread that may wait for the disk. If the system gives no such thread,
    /// the calling I/O thread waits, and with it all of its connections.
    fn poll_read(&mut self, cx: &mut Context<'_>, left: usize) -> Poll<io::Result<()>> {
        let at = self.at;
        let begin = || {
            // A task that gets no thread stays in tokio's queue: it must not keep the file open until there is one.
            let file = Arc::downgrade(&self.file);
            let read = move |file: Arc<File>| sendfile::bring_into_memory(&file, at, left);
            tokio::task::spawn_blocking(move || file.upgrade().map_or(Ok(()), read))
        };
        let Some(reading) = self.reading.take().or_else(|| begun(begin)) else {
            return Poll::Ready(sendfile::bring_into_memory(&self.file, at, left));
        };
        let read = std::task::ready!(Pin::new(self.reading.insert(reading)).poll(cx));
        self.reading = None;
        Poll::Ready(read.unwrap_or_else(|_| Err(io::Error::other("the reading thread died"))))
    }

    /// Records that hyper has taken these bytes; the wire sends what a placeholder stands for.
    fn take(&mut self, bytes: &Bytes, link: &Link, request: Option<&Arc<BodyRequest>>) {
        if sendfile::is_placeholder(bytes) {
            let part = Part::new(self.file.clone(), self.at, bytes.len());
            link.add_part(part, request.cloned());
        }
        self.at += bytes.len() as u64;
    }
}

/// The task that `begin` starts in another thread; `None` if the system gives no thread for it. At the limit of threads
/// (`pids.max`, TasksMax) tokio panics, unless it has a thread that can run the task later.
fn begun<T>(begin: impl FnOnce() -> JoinHandle<T>) -> Option<JoinHandle<T>> {
    catch_unwind(AssertUnwindSafe(begin)).ok()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use super::*;
    use crate::connection::link::tests::{link, logged, record, run, wait_for};
    use crate::response::chunked_by_app::CodedSource;
    use crate::tests_support::block_on;

    /// A spool that begins with a piece.
    fn spool(source: engine::Source) -> Spool {
        let request = BodyRequest::new(fault_log::RequestIdentity::default(), Instant::now(), Duration::ZERO);
        Spool::start(vec!["first".into()], None, CodedSource::new(source, false), 1 << 30, Arc::new(request))
    }

    /// The next bytes of a body that goes on.
    async fn next(out: &mut Out) -> Bytes {
        let frame = poll_fn(|cx| Pin::new(&mut *out).poll_frame(cx)).await;
        frame.unwrap().unwrap().into_data().unwrap()
    }

    #[test]
    fn a_task_for_which_there_is_no_thread_is_none() {
        block_on(async {
            let task = begun(|| tokio::task::spawn_blocking(|| "read")).unwrap();
            assert_eq!(task.await.unwrap(), "read");
            // As tokio does.
            assert!(begun(|| -> JoinHandle<()> { panic!("OS can't spawn worker thread") }).is_none());
        });
    }

    #[test]
    fn the_outcome_of_a_read_in_another_thread_is_returned_once() {
        block_on(async {
            let file = tempfile::tempfile().unwrap();
            file.set_len(10).unwrap();
            let mut reader = FileReader::new(file, 10);
            for length in [10, 11] {
                let read = poll_fn(|cx| reader.poll_read(cx, length)).await;
                assert_eq!(read.is_ok(), length == 10, "{length}");
                assert!(reader.reading.is_none());
            }
        });
    }

    #[test]
    fn a_read_for_which_there_is_no_thread_yet_keeps_no_file_open() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        let (open, closed) = std::sync::mpsc::channel::<()>();
        runtime.block_on(async {
            let busy = tokio::task::spawn_blocking(move || closed.recv().is_err());
            let mut reader = FileReader::new(tempfile::tempfile().unwrap(), 10);
            let file = Arc::downgrade(&reader.file);
            let read = poll_fn(|cx| Poll::Ready(reader.poll_read(cx, 10))).await;
            assert!(read.is_pending());
            drop(reader);
            assert!(file.upgrade().is_none());
            drop(open);
            assert!(busy.await.unwrap());
        });
    }

    /// What was ready when a part came has run before the task that writes it.
    #[test]
    fn a_short_part_that_the_task_was_woken_for_is_written_without_a_further_yield() {
        let link = link();
        run(&link);
        block_on(async {
            let (sink, source) = engine::body::stream(SHORT_PART_BYTES);
            let mut out = Out::new(Kind::Spool(spool(source), Direct::default()), None, link.clone(), None);
            assert_eq!(next(&mut out).await, "first");
            assert!(link.must_yield(), "it was there");
            link.wrote();
            let long = "g".repeat(SHORT_PART_BYTES);
            for (part, must_yield) in [("short", false), (long.as_str(), true), ("short", false)] {
                let waits = poll_fn(|cx| Poll::Ready(Pin::new(&mut out).poll_frame(cx).is_pending())).await;
                assert!(waits);
                sink.send(Bytes::copy_from_slice(part.as_bytes())).await.unwrap();
                assert_eq!(next(&mut out).await.len(), part.len());
                assert_eq!(link.must_yield(), must_yield, "{} bytes", part.len());
                link.wrote();
            }
        });
    }

    /// An engine that got the socket then would overtake these bytes.
    #[test]
    fn a_socket_is_asked_for_no_longer_when_other_bytes_come_first() {
        let link = link();
        run(&link);
        assert!(link.ask_for_socket().is_none());
        block_on(async {
            let (_sink, source) = engine::body::stream(1);
            let mut out = Out::new(Kind::Spool(spool(source), Direct::Asked), Some(9), link.clone(), None);
            assert_eq!(next(&mut out).await, "first");
            link.give_socket(|| panic!("the socket is no longer asked for"));
        });
    }

    /// Seven bytes were sent before.
    #[test]
    fn what_the_engine_has_written_is_logged_also_if_hyper_does_not_hear_of_it() {
        let (sender, written) = oneshot::channel();
        sender.send(5).unwrap();
        let directs = [(Direct::Written(5), logged()), (Direct::Writing(written), logged())];
        block_on(async {
            for (direct, (link, lines)) in directs {
                run(&link);
                let (_sink, source) = engine::body::stream(1);
                let kind = Kind::Spool(spool(source), direct);
                drop(Out::new(kind, Some(9), link.clone(), Some(record(&link, 200))));
                // A task of its own may wait for the number.
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                link.flushed();
                let line = wait_for(1, &lines).remove(0);
                assert!(line.contains(" 200 12 "), "{line}");
            }
        });
    }
}
