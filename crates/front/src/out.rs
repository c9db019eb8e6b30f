//! A response's body as hyper takes it. It ends the request when it is dropped: the connection is free for the next
//! one and the access-log line is written.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use engine::Fault;
use http_body::{Body, Frame, SizeHint};
use tokio::task::JoinHandle;

use crate::access_log::Record;
use crate::fault_log::{self, Whose};
use crate::link::Link;
use crate::spool::Spool;

/// Bytes of a file read at once, in a thread that may block.
const READ_BYTES: u64 = 128 * 1024;

/// The body.
pub(crate) struct Out {
    kind: Kind,
    /// What the application announced and is not sent yet; `None` where it announced nothing.
    announced: Option<u64>,
    link: Arc<Link>,
    record: Option<Box<Record>>,
    /// What broke it off: told to hyper, which then drops what it has not written, when that is written.
    failed: Option<io::Error>,
    /// The request, for the log; none where the body cannot fail. In a box, since most bodies have none.
    whose: Option<Box<Whose>>,
}

pub(crate) enum Kind {
    Empty,
    Full(Bytes),
    Spool(Spool),
    File(FileReader),
}

pub(crate) struct FileReader {
    file: Arc<File>,
    at: u64,
    len: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Out {
    pub(crate) fn new(kind: Kind, announced: Option<u64>, link: Arc<Link>, record: Option<Box<Record>>) -> Out {
        Out { kind, announced, link, record, failed: None, whose: None }
    }

    /// Of this request.
    pub(crate) fn of(mut self, whose: Option<Whose>) -> Out {
        self.whose = whose.map(Box::new);
        self
    }

    fn fault(&mut self, fault: &Fault) -> io::Error {
        if let Some(record) = &mut self.record {
            record.fault = fault.name();
        }
        io::Error::other(fault.to_string())
    }

    /// Breaks it off when what came before has been written: the client gets that, as under other servers.
    fn fail<T>(&mut self, error: io::Error) -> Poll<T> {
        self.failed = Some(error);
        self.link.set_awaits_flush(true);
        Poll::Pending
    }

    /// Counts bytes on their way out and cuts what is beyond the announced length.
    fn count(&mut self, mut bytes: Bytes) -> Bytes {
        if let Some(left) = &mut self.announced {
            if bytes.len() as u64 > *left {
                tracing::error!(target: "app", "a response is longer than its Content-Length; the rest is not sent");
                bytes.truncate(*left as usize);
                if let Some(record) = &mut self.record {
                    record.fault = Fault::BadAnswer(String::new()).name();
                }
            }
            *left -= bytes.len() as u64;
        }
        if let Some(record) = &mut self.record {
            record.bytes += bytes.len() as u64;
        }
        bytes
    }

    /// The end, unless more was announced.
    fn finish(&mut self) -> Option<Result<Frame<Bytes>, io::Error>> {
        if self.announced.is_none_or(|left| left == 0) {
            return None;
        }
        tracing::error!(target: "app", "a response is shorter than its Content-Length; the connection is cut");
        Some(Err(self.fault(&Fault::BadAnswer("shorter than announced".into()))))
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.failed.is_some() {
            return if this.link.awaits_flush() { Poll::Pending } else { Poll::Ready(this.failed.take().map(Err)) };
        }
        loop {
            let next = match &mut this.kind {
                Kind::Empty => match this.finish() {
                    Some(Err(error)) => return this.fail(error),
                    end => return Poll::Ready(end),
                },
                Kind::Full(bytes) => {
                    let bytes = std::mem::take(bytes);
                    this.kind = Kind::Empty;
                    Some(Ok(bytes))
                }
                Kind::Spool(spool) => std::task::ready!(spool.poll_next(cx)),
                Kind::File(reader) => std::task::ready!(reader.poll_next(cx)),
            };
            return Poll::Ready(match next {
                None => match this.finish() {
                    Some(Err(error)) => return this.fail(error),
                    end => end,
                },
                Some(Err(fault)) => {
                    if let Some(whose) = &this.whose {
                        fault_log::write(&fault, whose, Duration::ZERO);
                    }
                    let error = this.fault(&fault);
                    return this.fail(error);
                }
                Some(Ok(bytes)) => {
                    let is_surplus = !bytes.is_empty() && this.announced == Some(0);
                    let bytes = this.count(bytes);
                    if is_surplus {
                        this.kind = Kind::Empty;
                        return Poll::Ready(None);
                    }
                    if bytes.is_empty() {
                        continue;
                    }
                    Some(Ok(Frame::data(bytes)))
                }
            });
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Empty) && self.announced.is_none_or(|left| left == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty if self.is_end_stream() => SizeHint::with_exact(0),
            Kind::Full(bytes) if self.announced.is_none() => SizeHint::with_exact(bytes.len() as u64),
            Kind::File(reader) if self.announced.is_none() => SizeHint::with_exact(reader.len - reader.at),
            // hyper goes by the Content-Length header then, where there is one.
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.link.end();
        // As much as was announced is all of it, though the application may not have come to its end.
        if let Some(record) = &mut self.record
            && record.fault.is_empty()
            && self.announced != Some(0)
            && !is_read_out(&self.kind)
        {
            record.fault = self.link.cut_by().name();
        }
    }
}

fn is_read_out(kind: &Kind) -> bool {
    match kind {
        Kind::Empty => true,
        Kind::Full(_) => false,
        Kind::Spool(spool) => spool.is_read_out(),
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

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        if self.at == self.len {
            return Poll::Ready(None);
        }
        let (file, at, count) = (self.file.clone(), self.at, (self.len - self.at).min(READ_BYTES));
        let reading = self.reading.get_or_insert_with(|| {
            tokio::task::spawn_blocking(move || {
                let mut bytes = vec![0; count as usize];
                file.read_exact_at(&mut bytes, at)?;
                Ok(Bytes::from(bytes))
            })
        });
        let read = std::task::ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let read = read.unwrap_or_else(|_| Err(io::Error::other("the reading thread died")));
        Poll::Ready(Some(match read {
            Ok(bytes) => {
                self.at += bytes.len() as u64;
                Ok(bytes)
            }
            Err(error) => {
                tracing::error!(target: "front", "cannot read the file of a response: {error}");
                Err(Fault::Broken(format!("file of a response: {error}")))
            }
        }))
    }
}
