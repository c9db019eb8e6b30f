//! The response writer of one request in an interpreter.
//!
//! A short answer is collected and sent whole. An answer that takes long (see `run_state::TICK`) or grows large becomes
//! a stream: head and first bytes are sent at once, and each further chunk when the application yields it.

use std::ffi::c_int;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use engine::body::{SendError, Sink, stream};
use engine::snapshot::{Past, RunView};
use engine::{AppError, Body, Fault, Request, Responder, Response, ResponseHead};
use http::header::CONTENT_LENGTH;
use http::{Method, StatusCode};
use rustix::time::{ClockId, clock_gettime};

use crate::job::Job;
use crate::run_state::{NAP, RunState};
use crate::stack::Migration;
use mruby_sys as sys;

/// Bytes of a body of unknown length that are collected; a longer one becomes a stream.
const WHOLE_BYTES: usize = 64 << 10;
/// Bytes up to which a body of known length is collected and gets a Content-Length; a longer one becomes a stream.
const COLLECT_BYTES: usize = 16 << 20;
/// Bytes of a stream that wait between the interpreter and the front, which itself buffers for the client.
const STREAM_BYTES: usize = 256 << 10;

/// A request under way and its response so far.
pub struct ResponseWriter {
    /// The request; its body is read from here.
    pub request: Box<Request>,
    /// Time the request waited in the queue.
    pub queued: Duration,
    /// The first violation of the Rack SPEC in the answer, as text for the operator; None while there is none.
    pub bad: Option<String>,
    responder: Option<Responder>,
    head: ResponseHead,
    buffer: BytesMut,
    sink: Option<Sink>,
    /// Time for which the client had to be waited for, since the front's buffer was full. It is not the application's,
    /// and the deadline is put off by it.
    waited: Duration,
    /// The body, where it is a file.
    file: Option<Body>,
    is_unasked: bool,
    whole: bool,
    prompt: bool,
    migration: Migration,
    has_migrated: bool,
    /// The number of the interpreter.
    number: usize,
    /// The run state that the live page and the watchdog read; a long request describes itself there.
    run_state: Arc<RunState>,
    /// Processor time of the I/O thread at the watchdog's first tick for this request.
    worked: Option<Duration>,
}

/// Processor time that a thread must have spent on a request between two ticks of the watchdog for the request to count
/// as long. A request that was slow because other processes had the processor does not: moving it would only make it
/// slower.
const WORK: Duration = Duration::from_micros(500);

impl ResponseWriter {
    /// The writer for a request that begins to run after `queued` in the queue, in the interpreter with this number and
    /// run state.
    pub fn new(
        job: Job,
        queued: Duration,
        migration: Migration,
        number: usize,
        run_state: Arc<RunState>,
    ) -> ResponseWriter {
        ResponseWriter {
            request: job.request,
            queued,
            bad: None,
            responder: Some(job.responder),
            head: ResponseHead::default(),
            buffer: BytesMut::new(),
            sink: None,
            waited: Duration::ZERO,
            file: None,
            is_unasked: false,
            whole: false,
            prompt: false,
            migration,
            has_migrated: false,
            number,
            run_state,
            worked: None,
        }
    }

    /// Whether an order has ended its request.
    pub fn is_ended_by_order(&self) -> bool {
        self.run_state.is_ended()
    }

    /// Describes the request for the live page: id, method and path.
    pub fn about(&self) -> RunView {
        let Request { id, method, path, .. } = &*self.request;
        RunView { id: id.clone(), method: method.to_string(), path: path.clone(), ..RunView::default() }
    }

    /// Sets the response status. False, with the reason in `bad`, for one that is out of range or informational (1xx).
    pub fn status(&mut self, status: i64) -> bool {
        let taken = self.head.set_status(status).map_err(|error| error.0);
        let is_final = |()| match self.head.status.is_informational() {
            true => Err(format!("the status {status} cannot end a request")),
            false => Ok(()),
        };
        let taken = taken.and_then(is_final);
        self.note(taken)
    }

    /// Adds a response header. False, with the reason in `bad`, where name or value break the Rack SPEC.
    pub fn header(&mut self, name: &[u8], value: &[u8]) -> bool {
        let taken = self.head.add(name, value);
        self.note(taken.map_err(|error| error.0))
    }

    fn note(&mut self, taken: Result<(), String>) -> bool {
        match taken {
            Ok(()) => true,
            Err(why) => {
                self.bad.get_or_insert(why);
                false
            }
        }
    }

    /// Flags about the body, known from status, headers and method before the body is read: `sys::FRAMED`, `sys::HEAD`
    /// and `sys::NO_CONTENT`, added up.
    pub fn known(&self) -> c_int {
        let is_framed = self.head.is_chunked() || self.head.headers.contains_key(CONTENT_LENGTH);
        let has_no_content = matches!(self.head.status.as_u16(), 204 | 205 | 304);
        [(is_framed, sys::FRAMED), (self.request.method == Method::HEAD, sys::HEAD), (has_no_content, sys::NO_CONTENT)]
            .into_iter()
            .map(|(is_so, flag)| if is_so { flag } else { 0 })
            .sum()
    }

    /// Uses a file as the body and says whether it does. A file cannot be sent for a partial response (206) whose
    /// Content-Length differs from the file's size, nor for a chunked one. At the limit of open files the front gets
    /// the path, and opens it later.
    pub fn file(&mut self, path: &Path) -> bool {
        let length = self.head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let found = match files::open(path) {
            Ok((file, size)) => Some((Body::File(file, size), size)),
            Err(error) if files::is_short_of_files(&error) => {
                // The size is known without opening the file.
                let size = std::fs::metadata(path).ok().filter(Metadata::is_file).map(|meta| meta.len());
                size.map(|size| (Body::Unopened(path.to_owned()), size))
            }
            Err(_) => None,
        };
        let is_whole =
            |size| self.head.status != StatusCode::PARTIAL_CONTENT || length.is_none_or(|length: u64| length == size);
        self.file = found.filter(|(_, size)| !self.head.is_chunked() && is_whole(*size)).map(|(body, _)| body);
        self.file.is_some()
    }

    /// Marks the body as one that is not read, since the request is a HEAD.
    pub fn skip_body(&mut self) {
        self.is_unasked = true;
    }

    /// Announces a body that exists as a whole, with its length in bytes: it is collected up to `COLLECT_BYTES`. A
    /// larger one is streamed all the same: an array can hold one string many times over, and be larger than any
    /// memory.
    pub fn collect_whole(&mut self, length: usize) {
        self.whole = length <= COLLECT_BYTES;
        if self.whole {
            self.buffer.reserve(length);
        }
    }

    /// Whether the request has used `WORK` of processor time since the first tick; true where it runs in a runner
    /// already. Asked at each tick of the watchdog.
    pub fn has_worked_long(&mut self) -> bool {
        if self.has_migrated || !self.migration.can_migrate() {
            return true;
        }
        let now = thread_time();
        let before = *self.worked.get_or_insert(now);
        now.saturating_sub(before) >= WORK
    }

    /// Migrates the request from its I/O thread to a runner; does nothing in a runner. Called before anything that can
    /// block.
    pub fn migrate(&mut self) {
        if !self.has_migrated {
            self.has_migrated = true;
            self.run_state.leave_io();
            self.run_state.describe(self.about());
            self.migration.migrate();
        }
    }

    /// Appends a part of the body, and sends it where the response streams. An error where the client is gone or the
    /// deadline has passed.
    pub fn chunk(&mut self, chunk: &[u8]) -> Result<(), SendError> {
        self.buffer.extend_from_slice(chunk);
        // More than was announced: parts that are no Strings, or an array that has grown meanwhile.
        self.whole &= self.buffer.len() <= COLLECT_BYTES;
        if !self.whole && (self.prompt || self.buffer.len() >= WHOLE_BYTES) {
            return self.send();
        }
        Ok(())
    }

    /// Sends what is buffered, and from now on each chunk when it comes. Called when the request has become a long one,
    /// before it sleeps, and for Stream#flush.
    pub fn hurry(&mut self) -> Result<(), SendError> {
        if self.whole {
            return Ok(());
        }
        self.prompt = true;
        if self.buffer.is_empty() { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), SendError> {
        self.migrate();
        // An Array's parts are sent without running Ruby, so that no other check of the deadline happens.
        if Instant::now() >= self.request.deadline + self.waited {
            return Err(SendError::Late);
        }
        let chunk = self.buffer.split().freeze();
        if self.sink.is_none() {
            let (sink, source) = stream(STREAM_BYTES);
            self.sink = Some(sink);
            self.run_state.begin_stream();
            self.respond(Ok(Body::Stream(source)));
        }
        self.put(chunk)
    }

    /// Puts a chunk into the stream, and waits as long as the front has no room for it: a client that takes nothing
    /// more is the front's matter (`--write-time`). An error where the client is gone, or an order has ended the
    /// request.
    fn put(&mut self, chunk: Bytes) -> Result<(), SendError> {
        let Some(sink) = &self.sink else { return Ok(()) };
        let began = Instant::now();
        let sent = loop {
            match sink.send_blocking(chunk.clone(), Instant::now() + NAP) {
                Err(SendError::Late) if !self.is_ended_by_order() => {}
                sent => break sent,
            }
        };
        let waited = began.elapsed();
        self.waited += waited;
        self.run_state.put_off(waited);
        sent
    }

    /// Completes the response: sends what is buffered.
    pub fn finish(&mut self) {
        let rest = self.buffer.split().freeze();
        if self.sink.is_none() {
            let body = self.whole_body(rest);
            return self.respond(Ok(body));
        }
        let sent = if rest.is_empty() { Ok(()) } else { self.put(rest) };
        if let (Ok(()), Some(sink)) = (sent, self.sink.take()) {
            sink.finish();
        }
    }

    fn whole_body(&mut self, rest: Bytes) -> Body {
        match self.file.take() {
            Some(file) => file,
            None if self.is_unasked => Body::Unasked,
            None if rest.is_empty() => Body::Empty,
            None => Body::Full(rest),
        }
    }

    /// Whether the client has disconnected.
    pub fn has_lost_client(&self) -> bool {
        match &self.responder {
            Some(responder) => responder.is_abandoned(),
            None => self.sink.as_ref().is_some_and(Sink::is_gone),
        }
    }

    /// Answers with a fault, or breaks off a response that is being streamed.
    pub fn fail(&mut self, fault: Fault) {
        match self.sink.take() {
            Some(sink) => sink.fail(fault),
            None => self.respond(Err(fault)),
        }
    }

    fn respond(&mut self, body: Result<Body, Fault>) {
        let Some(responder) = self.responder.take() else { return };
        let head = std::mem::take(&mut self.head);
        responder.send_noting(body.map(|body| Response { head, body }), self.queued, || {
            let RunView { id, method, path, .. } = self.about();
            Past { id, method, path, worker: u32::try_from(self.number).ok(), ..Past::default() }
        });
    }
}

/// Processor time that the current thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The fault for an exception that the application did not rescue; a general one where its details are missing.
pub fn app_fault(error: Option<AppError>) -> Fault {
    Fault::App(Box::new(error.unwrap_or_else(|| AppError {
        class: "Exception".into(),
        message: "the application raised, and nothing could be learned of the exception".into(),
        ..AppError::default()
    })))
}
