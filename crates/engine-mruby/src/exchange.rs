//! One request on its way through an interpreter: what the application has answered so far, and how it leaves.
//!
//! A short answer is collected and leaves whole. An answer that takes long (see `gauge::TICK`) or grows large becomes a
//! stream: head and first bytes leave at once, and each further chunk when it is made.

use std::ffi::c_int;
use std::fs::File;
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

use crate::gauge::Gauge;
use crate::stack::Leave;
use crate::sys;

/// A body that is larger than this, and not an array that is complete anyway, becomes a stream.
const WHOLE_BYTES: usize = 64 << 10;
/// A body of known length up to this is collected and has a Content-Length; beyond it, it becomes a stream too.
const COLLECT_BYTES: usize = 16 << 20;
/// How far an interpreter may be ahead of the front, which itself buffers for the client.
const STREAM_BYTES: usize = 256 << 10;

/// The state of one request.
pub struct Exchange {
    /// The request; its body is read from here.
    pub request: Request,
    /// How long it had waited.
    pub queued: Duration,
    /// Why the answer is refused, once it is.
    pub bad: Option<String>,
    responder: Option<Responder>,
    head: ResponseHead,
    buffer: BytesMut,
    sink: Option<Sink>,
    file: Option<(File, u64)>,
    is_unasked: bool,
    whole: bool,
    prompt: bool,
    leave: Leave,
    is_away: bool,
    /// The number of the interpreter.
    number: usize,
    /// Where a long request tells who it is.
    gauge: Option<Arc<Gauge>>,
    /// The processor time of the I/O thread when the request was first found to be late.
    worked: Option<Duration>,
}

/// What a thread must have worked for a request between two looks of the watchdog for the request to count as long.
/// One that took long because the processor was with somebody else is not: moving it would only make it longer.
const WORK: Duration = Duration::from_micros(500);

impl Exchange {
    /// A request that begins to run.
    pub fn new(request: Request, responder: Responder, queued: Duration, leave: Leave) -> Exchange {
        Exchange {
            request,
            queued,
            bad: None,
            responder: Some(responder),
            head: ResponseHead::default(),
            buffer: BytesMut::new(),
            sink: None,
            file: None,
            is_unasked: false,
            whole: false,
            prompt: false,
            leave,
            is_away: false,
            number: 0,
            gauge: None,
            worked: None,
        }
    }

    /// Run by this interpreter.
    pub fn by(self, number: usize, gauge: Arc<Gauge>) -> Exchange {
        Exchange { number, gauge: Some(gauge), ..self }
    }

    /// Who is running, for those who look.
    pub fn about(&self) -> RunView {
        let Request { id, method, path, .. } = &self.request;
        RunView { id: id.clone(), method: method.to_string(), path: path.clone(), ..RunView::default() }
    }

    /// Takes the status.
    pub fn status(&mut self, status: i64) -> bool {
        let taken = self.head.set_status(status).map_err(|error| error.0);
        let is_final = |()| match self.head.status.is_informational() {
            true => Err(format!("the status {status} cannot end a request")),
            false => Ok(()),
        };
        let taken = taken.and_then(is_final);
        self.note(taken)
    }

    /// Takes a header.
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

    /// What is known of the body before it is asked for.
    pub fn known(&self) -> c_int {
        let is_framed = self.head.is_chunked() || self.head.headers.contains_key(CONTENT_LENGTH);
        let has_no_content = matches!(self.head.status.as_u16(), 204 | 205 | 304);
        [(is_framed, sys::FRAMED), (self.request.method == Method::HEAD, sys::HEAD), (has_no_content, sys::NO_CONTENT)]
            .into_iter()
            .map(|(is_so, flag)| if is_so { flag } else { 0 })
            .sum()
    }

    /// Takes a file as the body, if it is one that can be sent whole: the file of a partial answer is not.
    pub fn file(&mut self, path: &Path) -> bool {
        let length = self.head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let opened = files::open(path).ok().filter(|(_, size)| {
            self.head.status != StatusCode::PARTIAL_CONTENT || length.is_none_or(|length: u64| length == *size)
        });
        self.file = opened.filter(|_| !self.head.is_chunked());
        self.file.is_some()
    }

    /// The body is that of an answer to HEAD, and is not asked.
    pub fn leave_body(&mut self) {
        self.is_unasked = true;
    }

    /// The body is complete when it is handed over, so many bytes, however many: collect all of it.
    /// More than `COLLECT_BYTES` is streamed all the same: it could be the same string many times over, and then be
    /// larger than any memory.
    pub fn collect_whole(&mut self, length: usize) {
        self.whole = length <= COLLECT_BYTES;
        if self.whole {
            self.buffer.reserve(length);
        }
    }

    /// Whether it has really used the time that it took, as far as that matters: asked at each look of the watchdog,
    /// about a request that is still on an I/O thread.
    pub fn has_worked_long(&mut self) -> bool {
        if self.is_away || !self.leave.leads_away() {
            return true;
        }
        let now = thread_time();
        let before = *self.worked.get_or_insert(now);
        now.saturating_sub(before) >= WORK
    }

    /// Leaves the I/O thread, if that is where it runs. To be called before anything that can block.
    pub fn leave(&mut self) {
        if !self.is_away {
            self.is_away = true;
            if let Some(gauge) = &self.gauge {
                gauge.leave_io();
                gauge.tell(self.about());
            }
            self.leave.leave();
        }
    }

    /// Takes a part of the body.
    pub fn chunk(&mut self, chunk: &[u8]) -> Result<(), SendError> {
        self.buffer.extend_from_slice(chunk);
        if !self.whole && (self.prompt || self.buffer.len() >= WHOLE_BYTES) {
            return self.send();
        }
        Ok(())
    }

    /// From now on nothing is held back. Called when the request has become a long one, and before it sleeps.
    pub fn hurry(&mut self) -> Result<(), SendError> {
        if self.whole {
            return Ok(());
        }
        self.prompt = true;
        if self.buffer.is_empty() { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), SendError> {
        self.leave();
        // A body that is taken without running Ruby meets no other check of the time.
        if Instant::now() >= self.request.deadline {
            return Err(SendError::Late);
        }
        let chunk = self.buffer.split().freeze();
        if self.sink.is_none() {
            let (sink, source) = stream(STREAM_BYTES);
            self.sink = Some(sink);
            self.respond(Ok(Body::Stream(source)));
        }
        let deadline = self.request.deadline;
        self.sink.as_ref().map_or(Ok(()), |sink| sink.send_blocking(chunk, deadline))
    }

    /// The answer is complete: sends what has not been sent.
    pub fn finish(&mut self) {
        if let Some(why) = self.bad.take() {
            return self.fail(Fault::BadAnswer(why));
        }
        let rest = self.buffer.split().freeze();
        match self.sink.take() {
            Some(sink) => {
                let sent = if rest.is_empty() { Ok(()) } else { sink.send_blocking(rest, self.request.deadline) };
                if sent.is_ok() {
                    sink.finish();
                }
            }
            None => {
                let body = self.whole_body(rest);
                self.respond(Ok(body));
            }
        }
    }

    fn whole_body(&mut self, rest: Bytes) -> Body {
        match self.file.take() {
            Some((file, length)) => Body::File(file, length),
            None if self.is_unasked => Body::Unasked,
            None if rest.is_empty() => Body::Empty,
            None => Body::Full(rest),
        }
    }

    /// There is no answer, or it breaks off.
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

/// What this thread has had of the processor.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The fault for an exception.
pub fn app_fault(error: Option<AppError>) -> Fault {
    Fault::App(Box::new(error.unwrap_or_else(|| AppError {
        class: "Exception".into(),
        message: "the application raised, and nothing could be learned of the exception".into(),
        ..AppError::default()
    })))
}
