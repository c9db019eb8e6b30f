//! What happens to requests when their worker ends.

use bytes::{BufMut, Bytes};
use engine::Body;
use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::wire::control::Control;
use crate::wire::frames::{flag, frame, kind};

#[expect(clippy::disallowed_methods, reason = "as the supervisor's")]
fn pool() -> (Arc<Pool>, UnboundedReceiver<Message>) {
    let (messages, inbox) = unbounded_channel();
    let pool = Pool {
        dispatch: Mutex::new(Dispatch::new(3)),
        io_threads: vec![Handle::current()],
        queue_places: 3,
        meter: Arc::default(),
        app: None,
        messages,
        exits: Mutex::default(),
        view: Mutex::default(),
        looked: AtomicU64::new(0),
        start: Instant::now(),
        is_ending: AtomicBool::new(false),
        active: Notify::new(),
        memory: Memory::of_this_process(),
        kernel_kills: AtomicU64::new(u64::MAX),
        logged_exits: Mutex::default(),
        last_answers: Mutex::default(),
    };
    (Arc::new(pool), inbox)
}

/// A worker with two threads: for each the connection, its reader, and the end of the process.
fn worker(pool: &Pool) -> Vec<(Arc<WorkerThread>, OwnedReadHalf, UnixStream)> {
    let control = Arc::new(Control::new().0);
    let mut ends = Vec::new();
    for number in 0..2 {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = ours.into_split();
        ends.push((Arc::new(WorkerThread::new(1, number, control.clone(), writer)), reader, theirs));
    }
    let threads = ends.iter().map(|(thread, ..)| thread.clone()).collect();
    pool.add(Worker::new(1, 1, 0, control, threads));
    ends
}

fn job(method: Method) -> (Box<Job>, Reply) {
    let (responder, reply) = reply::pair();
    (Job::new(Request::sample(method, "/"), responder, 0).map_err(|_| ()).unwrap(), reply)
}

fn answer(flags: u8) -> Bytes {
    frame(kind::ANSWER, |out| {
        out.put_u32(1);
        out.put_u16(200);
        out.put_slice(&[flags, 0, 0, 0, 0, 0, 0]);
        out.put_slice(b"whole");
    })
}

async fn until_read(pool: &Pool) {
    while !pool.last_answers().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_that_was_written_before_the_worker_ended_is_read_whichever_connection_is_seen_to_end_first() {
    let (pool, mut inbox) = pool();
    let mut ends = worker(&pool);
    let (mut busy, idle) = (ends.remove(1), ends.remove(0));
    // POST: it must not run twice.
    let (post, reply) = job(Method::POST);
    busy.0.push(post).map_err(|_| ()).unwrap();
    busy.2.write_all(&answer(0)).await.unwrap();
    // The process ends. The connection of its idle thread is read first.
    drop((idle.2, busy.2));
    pool.clone().read(idle.0.clone(), idle.1).await;
    assert!(matches!(inbox.recv().await, Some(Message::WorkerGone(1, None))));
    assert_eq!((pool.unfinished(), pool.unanswered()), (1, 1), "the engine is not ended while something is read");
    assert!(idle.0.push(job(Method::POST).0).is_err(), "who was chosen just now takes nothing any more");
    pool.clone().read(busy.0, busy.1).await;
    let response = reply.await.result.unwrap();
    assert!(matches!(&response.body, Body::Full(bytes) if bytes == "whole"), "{response:?}");
    until_read(&pool).await;
    assert_eq!(pool.unfinished(), 0);
}

#[tokio::test]
async fn a_child_that_holds_the_connection_open_holds_up_no_request() {
    let (pool, _inbox) = pool();
    let mut ends = worker(&pool);
    let (busy, _idle) = (ends.remove(1), ends.remove(0));
    let (get, _reply) = job(Method::GET);
    busy.0.push(get).map_err(|_| ()).unwrap();
    let reading = tokio::spawn(pool.clone().read(busy.0, busy.1));
    tokio::task::yield_now().await;
    let begun = Instant::now();
    pool.remove(1, None);
    until_read(&pool).await;
    assert!(begun.elapsed() < LAST_ANSWERS, "nothing is to be read, so nothing is waited for");
    assert_eq!(pool.dispatch().queue.len(), 1, "it waits for another worker");
    reading.abort();
    drop(busy.2);
}

#[tokio::test]
async fn a_body_in_whose_middle_the_worker_ended_fails_by_that() {
    let (pool, _inbox) = pool();
    let mut ends = worker(&pool);
    let (mut busy, _idle) = (ends.remove(1), ends.remove(0));
    // POST: a GET whose answer the client has not seen yet would be replayed.
    let (post, reply) = job(Method::POST);
    busy.0.push(post).map_err(|_| ()).unwrap();
    busy.2.write_all(&answer(flag::MORE)).await.unwrap();
    // More than a buffered response holds, and less than the body and the socket take without a reader.
    busy.2.write_all(&frame(kind::CHUNK, |out| out.put_bytes(b'x', 100_000))).await.unwrap();
    drop(busy.2);
    pool.clone().read(busy.0, busy.1).await;
    let Body::Stream(mut source) = reply.await.result.unwrap().body else { panic!("it is no stream") };
    let failed = loop {
        match std::future::poll_fn(|cx| source.poll_next(cx)).await {
            Some(Ok(_)) => {}
            Some(Err(fault)) => break fault,
            None => panic!("it has an end"),
        }
    };
    assert!(matches!(failed, Fault::WorkerDied(_)), "{failed:?}");
}
