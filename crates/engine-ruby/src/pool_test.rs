//! What becomes of requests when their worker ends.

use bytes::BufMut;
use engine::Body;
use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::control::Control;
use crate::frames::{frame, kind};

#[expect(clippy::disallowed_methods, reason = "as the supervisor's")]
fn pool() -> (Arc<Pool>, UnboundedReceiver<Event>) {
    let (events, inbox) = unbounded_channel();
    let pool = Pool {
        dispatch: Mutex::new(Dispatch::new(3)),
        lanes: vec![Handle::current()],
        queue_places: 3,
        meter: Arc::default(),
        app: None,
        events,
        ends: Mutex::default(),
        board: Mutex::default(),
        looked: AtomicU64::new(0),
        start: Instant::now(),
        is_ending: AtomicBool::new(false),
        active: Notify::new(),
        memory: Memory::of_this_process(),
        kernel_kills: AtomicU64::new(u64::MAX),
        told_ends: Mutex::default(),
    };
    (Arc::new(pool), inbox)
}

#[tokio::test]
async fn an_answer_that_was_written_before_the_worker_ended_is_read_whichever_connection_is_seen_to_end_first() {
    let (pool, mut inbox) = pool();
    let control = Arc::new(Control::new().0);
    let mut ends = Vec::new();
    for number in 0..2 {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = ours.into_split();
        ends.push((Arc::new(Slot::new(1, number, control.clone(), writer)), reader, theirs));
    }
    let slots = ends.iter().map(|(slot, ..)| slot.clone()).collect();
    pool.add(Worker::new(1, 1, 0, control, slots));
    // POST: it must not run twice.
    let (responder, reply) = reply::pair();
    let job = Job::new(Request::sample(Method::POST, "/"), responder, 0).map_err(|_| ()).unwrap();
    ends[1].0.push(job).map_err(|_| ()).unwrap();
    let answer = frame(kind::ANSWER, |out| {
        out.put_u32(1);
        out.put_u16(200);
        out.put_slice(&[0, 0, 0, 0, 0, 0, 0]);
        out.put_slice(b"whole");
    });
    ends[1].2.write_all(&answer).await.unwrap();
    // The process ends. Its idle thread's connection is looked at first.
    let (idle, busy) = (ends.remove(0), ends.remove(0));
    drop((idle.2, busy.2));
    pool.clone().read(idle.0, idle.1).await;
    assert!(inbox.try_recv().is_err(), "there is still something to be read of it");
    pool.clone().read(busy.0, busy.1).await;
    let response = reply.await.result.unwrap();
    assert!(matches!(&response.body, Body::Full(bytes) if bytes == "whole"), "{response:?}");
    assert!(matches!(inbox.recv().await, Some(Event::WorkerGone(1, None))));
}
