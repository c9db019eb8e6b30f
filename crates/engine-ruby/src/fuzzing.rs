//! The interface for fuzz targets: a worker thread that waits for answers. It exists only with the feature `fuzzing`
//! and is not stable.

use std::sync::Arc;

use bytes::BytesMut;
use engine::{Reply, Request, reply};
use tokio::runtime::Builder;

use crate::dispatch::in_flight::Step;
use crate::dispatch::job::Job;
use crate::dispatch::worker_thread::WorkerThread;
use crate::wire::control::Control;
use crate::wire::frames::take;

/// Queues these requests on a worker thread and lets it read these bytes, in pieces of this size, as if a worker had
/// sent them. Returns the replies, and whether all bytes were valid frames.
pub fn read(requests: Vec<Request>, bytes: &[u8], piece: usize) -> std::io::Result<(Vec<Reply>, bool)> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _in = runtime.enter();
    let (thread, _reader, _end) = WorkerThread::sample(1, 0, Arc::new(Control::new().0))?;
    let mut replies = Vec::new();
    for request in requests {
        let (responder, reply) = reply::pair();
        replies.push(reply);
        if let Some(job) = Job::new(request, responder, 0) {
            drop(thread.push(job));
        }
    }
    // In half of the cases all that it has is withdrawn.
    if piece % 2 == 1 {
        drop(thread.withdraw());
    }
    let mut buffer = BytesMut::new();
    for piece in bytes.chunks(piece.max(1)) {
        buffer.extend_from_slice(piece);
        while let Ok(Some(frame)) = take(&mut buffer) {
            match thread.receive(frame) {
                // The body has no reader: a chunk that does not fit would wait for ever.
                Ok((Step::Chunk(sink, _) | Step::Memory(Some(sink), _), _)) => thread.return_sink(sink, Ok(())),
                Ok(_) => {}
                Err(_) => return Ok((replies, false)),
            }
        }
    }
    drop(thread.close(engine::Fault::Stopping));
    Ok((replies, true))
}
