//! What happens to requests when their worker ends.

use bytes::{BufMut, Bytes};
use engine::{Body, Source};
use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::dispatch::activity::Activity;
use crate::dispatch::direct_writes::DirectWrites;
use crate::dispatch::relay::{Holder, Leaving, relay, relay_rest};
use crate::dispatch::upgraded::{EXIT_TIME, UpgradedConnection};
use crate::dispatch::watch::{Seen, check};
use crate::dispatch::worker_memory::Lent;
use crate::message::channel;
use crate::wire::control::Control;
use crate::wire::frames::{flag, frame, kind};

fn pool() -> (Arc<Pool>, UnboundedReceiver<Message>) {
    let (messages, inbox) = channel();
    let pool = Pool::of(vec![Handle::current()], 3, messages);
    pool.kernel_kills.store(u64::MAX, Ordering::SeqCst);
    (Arc::new(pool), inbox)
}

/// A worker with two threads: for each the connection, its reader, and the end of the process.
fn worker(pool: &Pool) -> Vec<(Arc<WorkerThread>, OwnedReadHalf, UnixStream)> {
    let control = Arc::new(Control::new().0);
    let mut ends = Vec::new();
    for number in 0..2 {
        let (thread, reader, end) = WorkerThread::sample(1, number, control.clone()).unwrap();
        ends.push((Arc::new(thread), reader, end));
    }
    let threads = ends.iter().map(|(thread, ..)| thread.clone()).collect();
    pool.add(Worker::new(1, 1, 0, control, threads));
    ends
}

/// The number of requests that wait for a worker.
fn waiting(pool: &Pool) -> usize {
    pool.dispatch().queue.len()
}

/// The process that has an upgraded connection.
fn holder(pid: u32) -> Holder {
    Holder { pid, died: Fault::WorkerDied("killed".to_owned()), has_failed: Arc::default() }
}

fn job(method: Method) -> (Box<Job>, Reply) {
    let (responder, reply) = reply::pair();
    (Job::new(Request::sample(method, "/"), responder, 0).unwrap(), reply)
}

/// A GET that has a place on an idle worker thread, and was not sent to it yet.
fn admitted(pool: &Pool) -> (Arc<WorkerThread>, Box<Job>, Reply) {
    let (get, reply) = job(Method::GET);
    let Admission::Send(thread, get) = pool.dispatch().admit(get) else { panic!("a worker is idle") };
    (thread, get, reply)
}

/// Adds a GET to the front of the queue, without waking the timer, and sends waiting requests to free threads.
fn add(pool: &Pool) -> Reply {
    let (get, reply) = job(Method::GET);
    pool.dispatch().put_back(vec![get], Instant::now());
    pool.pump();
    reply
}

/// Sends a request to a worker thread.
fn send(thread: &WorkerThread, method: Method) -> Reply {
    let (job, reply) = job(method);
    thread.push(job).map_err(|_| ()).unwrap();
    reply
}

fn answer_with(seq: u32, status: u16, flags: u8, body: &[u8]) -> Bytes {
    frame(kind::ANSWER, |out| {
        out.put_u32(seq);
        out.put_u16(status);
        out.put_slice(&[flags, 0, 0, 0, 0, 0, 0]);
        out.put_slice(body);
    })
}

fn answer(flags: u8) -> Bytes {
    answer_with(1, 200, flags, b"whole")
}

/// An answer to the request with this number.
fn answer_to(seq: u32, status: u16, flags: u8) -> Bytes {
    answer_with(seq, status, flags, b"")
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
    let reply = send(&busy.0, Method::POST);
    busy.2.write_all(&answer(0)).await.unwrap();
    // The process ends. The connection of its idle thread is read first.
    drop((idle.2, busy.2));
    pool.clone().read(idle.0.clone(), idle.1).await;
    assert!(matches!(inbox.recv().await, Some(Message::Event(Event::WorkerGone(1, None)))));
    assert_eq!((pool.unfinished(), pool.unanswered()), (1, 1), "the engine is not ended while something is read");
    assert!(idle.0.push(job(Method::POST).0).is_err(), "who was chosen just now takes nothing any more");
    pool.clone().read(busy.0, busy.1).await;
    let response = reply.await.result.unwrap();
    assert!(matches!(&response.body, Body::Full(bytes) if bytes == "whole"), "{response:?}");
    until_read(&pool).await;
    assert_eq!(pool.unfinished(), 0);
}

#[tokio::test]
async fn what_waits_goes_to_another_pool_and_what_had_begun_stays() {
    let ((old, _old_inbox), (new, _new_inbox)) = (pool(), pool());
    let (mut begun, _begun_reply) = job(Method::GET);
    assert!(begun.may_replay(true, Death::Crash));
    old.dispatch().put_back(vec![begun], Instant::now());
    let _reply = old.call(Request::sample(Method::POST, "/"));
    let offered = Instant::now();
    new.take_over(old.hand_over_waiting().unwrap());
    assert!(new.dispatch().queue.first().is_some_and(|job| job.offered <= offered), "it has its place by that");
    let first = |pool: &Pool| pool.dispatch().queue.first().map(|job| job.request.method.clone());
    assert_eq!((first(&old), first(&new)), (Some(Method::GET), Some(Method::POST)));
    assert_eq!((old.unfinished(), new.unfinished()), (1, 1));
    let ends = worker(&new);
    assert_eq!((new.dispatch().queue.len(), ends.iter().map(|(thread, ..)| thread.load()).sum::<usize>()), (0, 1));
    let last = old.call(Request::sample(Method::POST, "/"));
    new.set_ending();
    new.dispatch().queue.pause(Instant::now());
    new.take_over(old.hand_over_waiting().unwrap());
    let last = timeout(LAST_ANSWERS, last).await.unwrap();
    assert!(matches!(last.result, Err(Fault::Stopping)), "it would wait for a worker in vain");
}

#[tokio::test]
async fn a_request_on_its_way_to_a_worker_or_back_from_it_is_counted_at_each_moment() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let (thread, get, _reply) = admitted(&pool);
    assert_eq!(pool.unanswered(), 1, "it is just being sent");
    thread.push(get).map_err(|_| ()).unwrap();
    assert_eq!(pool.unanswered(), 1);
    let dispatch = pool.dispatch();
    let gone = DeadWorker { id: 1, pid: 1, death: Death::Crash };
    let (theirs, threads) = (pool.clone(), [thread.clone()]);
    let ending = std::thread::spawn(move || theirs.end_requests(gone, &threads));
    // Who counts has this lock.
    let is_counted = (0..50).all(|_| {
        std::thread::park_timeout(Duration::from_millis(1));
        thread.unanswered() + dispatch.waiting() == 1
    });
    assert!(is_counted, "it is neither there nor in the queue");
    drop(dispatch);
    ending.join().unwrap();
    assert_eq!((thread.unanswered(), pool.dispatch().waiting() + ends[1].0.unanswered()), (0, 1));
}

#[tokio::test]
async fn a_request_with_an_answer_and_one_that_was_withdrawn_are_not_counted_as_unanswered() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let (thread, get, _reply) = admitted(&pool);
    thread.push(get).map_err(|_| ()).unwrap();
    let (second, _second) = job(Method::GET);
    pool.dispatch().worker(1).unwrap().take(thread.number);
    thread.push(second).map_err(|_| ()).unwrap();
    assert_eq!(pool.unanswered(), 2);
    let back = thread.withdraw();
    assert_eq!((back.len(), pool.unanswered()), (1, 1));
    thread.receive(received(&answer_to(1, 200, flag::LATER))).unwrap();
    assert_eq!((pool.unanswered(), pool.unfinished()), (0, 1));
}

#[tokio::test]
async fn a_child_that_holds_the_connection_open_holds_up_no_request() {
    let (pool, _inbox) = pool();
    let mut ends = worker(&pool);
    let (busy, _idle) = (ends.remove(1), ends.remove(0));
    let _reply = send(&busy.0, Method::GET);
    let reading = tokio::spawn(pool.clone().read(busy.0, busy.1));
    tokio::task::yield_now().await;
    let begun = Instant::now();
    pool.remove(1, None);
    until_read(&pool).await;
    assert!(begun.elapsed() < LAST_ANSWERS, "nothing is to be read, so nothing is waited for");
    assert_eq!(waiting(&pool), 1, "it waits for another worker");
    reading.abort();
    drop(busy.2);
}

#[tokio::test]
async fn a_body_in_whose_middle_the_worker_ended_fails_by_that() {
    let (pool, _inbox) = pool();
    let mut ends = worker(&pool);
    let (mut busy, _idle) = (ends.remove(1), ends.remove(0));
    // POST: a GET whose answer the client has not seen yet would be replayed.
    let reply = send(&busy.0, Method::POST);
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

#[tokio::test]
async fn a_worker_whose_out_of_band_hooks_are_done_gets_what_has_waited() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    pool.dispatch().worker(1).unwrap().out_of_band = Some(Instant::now());
    let _reply = pool.call(Request::sample(Method::GET, "/"));
    assert_eq!(waiting(&pool), 1, "it is away");
    pool.out_of_band_done(1);
    assert_eq!(waiting(&pool), 0);
    assert_eq!(ends[0].0.load(), 1);
}

#[tokio::test]
async fn a_worker_that_is_retired_says_so_once_and_is_stopped_when_it_has_nothing_to_do() {
    let (pool, mut inbox) = pool();
    let (control, mut orders) = Control::new();
    pool.add(Worker::new(1, 1, 0, Arc::new(control), Vec::new()));
    pool.dispatch().worker(1).unwrap().busy = 1;
    pool.retire(1, ExitReason::Timeout);
    assert!(matches!(inbox.try_recv(), Ok(Message::Event(Event::Leaving(1, ExitReason::Timeout)))));
    assert_eq!(orders.try_recv().unwrap(), frame(kind::CLOSING, |_| ()));
    assert!(orders.try_recv().is_err(), "it has a request");
    pool.dispatch().worker(1).unwrap().busy = 0;
    pool.retire(1, ExitReason::Recycle);
    assert!(inbox.try_recv().is_err(), "that is known");
    assert_eq!(orders.try_recv().unwrap(), frame(kind::STOP, |_| ()));
}

#[tokio::test]
async fn where_no_worker_can_be_added_none_is_asked_for() {
    let (pool, mut inbox) = pool();
    let ends = worker(&pool);
    let _replies: Vec<Reply> = (0..2 * ends.len()).map(|_| pool.call(Request::sample(Method::POST, "/"))).collect();
    for (is_complete, is_asked_for) in [(false, true), (true, false), (false, true)] {
        pool.show(View { is_complete, ..View::default() });
        check(&pool, LAST_ANSWERS, Instant::now() + Duration::from_secs(1));
        assert_eq!(matches!(inbox.try_recv(), Ok(Message::Event(Event::Wanted))), is_asked_for);
    }
}

#[tokio::test]
async fn the_timer_rests_until_a_request_comes() {
    let (pool, _inbox) = pool();
    let watch = pool.clone();
    let waits = tokio::spawn(async move { watch.until_active().await });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished(), "there is nothing to see");
    let _reply = pool.call(Request::sample(Method::GET, "/"));
    timeout(LAST_ANSWERS, waits).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_has_no_deadline_unless_it_began_too_late() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let begun = || frames::take(&mut BytesMut::from(&answer(flag::MORE)[..])).unwrap().unwrap();
    let second = Duration::from_secs(1);
    let (in_time, _reply) = job(Method::POST);
    let (deadline, thread) = (in_time.request.deadline, &ends[0].0);
    thread.push(in_time).map_err(|_| ()).unwrap();
    drop(thread.receive(begun()).unwrap());
    thread.check(Instant::now() + second, 2 * second);
    let found = thread.check(deadline + second, 2 * second);
    assert_eq!((found.expired, found.is_stream), (None, true));
    let (late, _late) = job(Method::POST);
    let (deadline, thread) = (late.request.deadline, &ends[1].0);
    thread.push(late).map_err(|_| ()).unwrap();
    assert_eq!(thread.check(deadline + second, 2 * second).expired, Some(1));
    drop(thread.receive(begun()).unwrap());
    assert!(!thread.check(deadline + 3 * second, 2 * second).is_stuck);
    assert!(thread.check(deadline + 4 * second, 2 * second).is_stuck, "it runs on all the same");
    assert!(!thread.check(deadline + 5 * second, 2 * second).is_stuck, "that is reported once");
}

/// The frame of an answer, and its end if that is a frame of its own.
fn complete_with_work_left(how: u8) -> Vec<frames::Frame> {
    let failed = |number: u8| {
        frame(number, |out| {
            out.put_u32(1);
            out.put_u8(flag::LATER);
            out.put_slice(b"E\0failed\0");
        })
    };
    let all = match how {
        0 => vec![answer(flag::LATER)],
        1 => vec![answer(flag::MORE), frame(kind::END, |out| out.put_u8(1))],
        2 => vec![failed(kind::FAULT)],
        _ => vec![failed(kind::BAD)],
    };
    all.iter().map(|bytes| received(bytes)).collect()
}

#[tokio::test]
async fn the_work_after_an_answer_has_the_time_of_a_request() {
    let patience = Duration::from_secs(2);
    let soon = Duration::from_millis(1);
    for how in 0..4 {
        let (thread, _orders, _theirs) = thread_alone();
        let (get, reply) = job(Method::GET);
        let allowed = get.request.time_allowed();
        thread.push(get).map_err(|_| ()).unwrap();
        let before = Instant::now();
        for part in complete_with_work_left(how) {
            assert!(matches!(thread.receive(part).unwrap(), (Step::Nothing, 0)), "{how}");
        }
        let answered = Instant::now();
        assert_eq!(reply.await.result.is_ok(), how < 2, "the client has its answer");
        assert_eq!(thread.check(before + allowed, patience).expired, None, "{how}");
        let found = thread.check(answered + allowed + soon, patience);
        assert_eq!((found.expired, found.is_finishing), (Some(1), true), "{how}");
        let found = thread.check(answered + allowed + 2 * patience, patience);
        assert_eq!((found.expired, found.is_stuck), (None, true), "{how}");
        let (step, _) = thread.receive(received(&frame(kind::FREE, |_| ()))).unwrap();
        assert!(
            matches!(step, Step::Done { was_interrupted: true, is_own: false, .. }),
            "its worker is to be replaced"
        );
    }
}

/// Its time-out is that of the request: what it has to do after the answer is another thing.
#[tokio::test]
async fn the_work_after_an_answer_that_came_too_late_is_not_cut_short() {
    let (thread, _orders, _theirs) = thread_alone();
    let (get, reply) = job(Method::GET);
    let deadline = get.request.deadline;
    thread.push(get).map_err(|_| ()).unwrap();
    let second = Duration::from_secs(1);
    assert_eq!(thread.check(deadline + second, second).expired, Some(1));
    assert!(matches!(reply.await.result, Err(Fault::OutOfTime(_))));
    thread.receive(received(&answer(flag::LATER))).unwrap();
    let found = thread.check(Instant::now() + 5 * second, second);
    assert_eq!((found.expired, found.is_stuck), (None, false));
    let (step, _) = thread.receive(received(&frame(kind::FREE, |_| ()))).unwrap();
    assert!(
        matches!(step, Step::Done { was_interrupted: true, is_own: false, .. }),
        "its worker is to be replaced all the same"
    );
}

#[tokio::test]
async fn a_request_has_its_time_to_be_interrupted_also_where_nothing_was_checked_when_its_deadline_passed() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let second = Duration::from_secs(1);
    for (end, kill_time) in ends.iter().zip([Duration::ZERO, second]) {
        let (job, _reply) = job(Method::POST);
        let (deadline, thread) = (job.request.deadline, &end.0);
        thread.push(job).map_err(|_| ()).unwrap();
        let seen = deadline + 60 * second;
        let found = thread.check(seen, kill_time);
        assert_eq!((found.expired, found.is_stuck), (Some(1), false));
        let found = thread.check(seen + kill_time + Duration::from_millis(1), kill_time);
        assert_eq!((found.expired, found.is_stuck), (None, true), "{kill_time:?}");
    }
}

#[tokio::test]
async fn a_retired_worker_that_does_not_exit_is_to_be_killed() {
    let (pool, _inbox) = pool();
    let (control, mut orders) = Control::new();
    pool.add(Worker::new(1, 7, 0, Arc::new(control), Vec::new()));
    let linger = Duration::from_secs(100);
    let start = Instant::now();
    assert!(pool.stop_lingering(start, linger).is_empty());
    pool.retire(1, ExitReason::Recycle);
    while orders.try_recv().is_ok() {}
    // It has an upgraded connection, for which it may linger; then it has the time to exit.
    pool.dispatch().worker(1).unwrap().upgraded = 1;
    assert!(pool.stop_lingering(start, linger).is_empty() && orders.try_recv().is_err());
    let stopped = start + 2 * linger;
    assert!(pool.stop_lingering(stopped, linger).is_empty() && orders.try_recv().is_ok());
    assert!(pool.stop_lingering(stopped + EXIT_TIME, linger).is_empty());
    let late = stopped + EXIT_TIME + Duration::from_millis(1);
    assert_eq!(pool.stop_lingering(late, linger), [(1, 7)]);
    assert!(pool.stop_lingering(late, linger).is_empty(), "it is reported again only when that time has passed again");
}

#[tokio::test]
async fn a_retired_worker_has_no_places_and_its_requests_run_on() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let places = || {
        let status = pool.status();
        (status.capacity, status.idle, status.busy)
    };
    assert_eq!(places(), (2, 2, 0));
    pool.dispatch().worker(1).unwrap().out_of_band = Some(Instant::now());
    assert_eq!(places(), (2, 0, 0), "nothing runs");
    pool.dispatch().worker(1).unwrap().out_of_band = None;
    pool.dispatch().worker(1).unwrap().take(0);
    assert_eq!(places(), (2, 1, 1));
    pool.dispatch().worker(1).unwrap().is_leaving = true;
    assert_eq!(places(), (0, 0, 1), "what it has goes on");
}

#[tokio::test]
async fn a_kill_by_the_kernel_is_the_end_of_one_worker() {
    let (pool, _inbox) = pool();
    let kills = pool.memory.kills();
    pool.kernel_kills.store(kills, Ordering::SeqCst);
    assert!(!pool.kernel_has_killed());
    // Only where the kernel has killed anything since it was started.
    if let Some(before) = kills.checked_sub(1) {
        pool.kernel_kills.store(before, Ordering::SeqCst);
        assert_eq!([pool.kernel_has_killed(), pool.kernel_has_killed()], [true, false]);
    }
}

#[tokio::test]
async fn workers_are_counted_by_what_ended_them_unless_they_end_with_the_server() {
    let (pool, _inbox) = pool();
    let _first = worker(&pool);
    pool.remove(1, None);
    assert_eq!(pool.restarts_by(), BTreeMap::from([("crash".to_owned(), 1)]));
    pool.set_ending();
    let _second = worker(&pool);
    pool.remove(1, None);
    let _third = worker(&pool);
    pool.mark(1, ExitReason::Hung);
    pool.remove(1, None);
    assert_eq!(pool.restarts_by(), BTreeMap::from([("crash".to_owned(), 1), ("hung".to_owned(), 1)]));
}

#[tokio::test]
async fn a_worker_whose_place_no_other_one_takes_was_not_replaced() {
    let (pool, _inbox) = pool();
    let pressures = [ExitReason::Pressure, ExitReason::PressureReplaced];
    for reason in [ExitReason::Scale, ExitReason::Idle, ExitReason::Recycle].into_iter().chain(pressures) {
        let _ends = worker(&pool);
        pool.retire(1, reason);
        pool.remove(1, None);
    }
    assert_eq!((pool.restarts_by().len(), pool.status().restarts), (4, 2));
    assert_eq!(pool.restarts_by()["memory_pressure"], 2, "whether another one takes its place or not");
}

/// The answer of a worker to a request that was cancelled before it began.
fn cancelled(seq: u32) -> Bytes {
    frame(kind::FAULT, |out| {
        out.put_u32(seq);
        out.put_u8(flag::WITHDRAWN);
        out.put_slice(b"FoolsGold::Cancelled\0withdrawn\0");
    })
}

/// Handles the worker's answer that it did not run a withdrawn request.
fn answer_withdrawn(pool: &Pool, thread: &WorkerThread, seq: u32) -> Completion {
    let (step, withdrawn) = thread.receive(received(&cancelled(seq))).unwrap();
    assert!(matches!(step, Step::Nothing) && withdrawn == 1);
    pool.dispatch().release(thread, withdrawn)
}

fn received(bytes: &[u8]) -> frames::Frame {
    frames::take(&mut BytesMut::from(bytes)).unwrap().unwrap()
}

/// Its thread is not idle until it has said that it does not run what was withdrawn.
#[tokio::test]
async fn a_thread_has_no_place_until_the_worker_is_rid_of_what_was_withdrawn_from_it() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let thread = &ends[0].0;
    (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_micros(50)));
    let _replies: Vec<Reply> = (0..2).map(|_| pool.call(Request::sample(Method::GET, "/"))).collect();
    let _post = send(thread, Method::POST);
    assert_eq!(thread.withdraw().len(), 2);
    let (step, withdrawn) = thread.receive(received(&answer(0))).unwrap();
    assert!(matches!(step, Step::Done { .. }) && withdrawn == 0);
    let completion = pool.dispatch().done(thread, Duration::from_micros(50));
    assert!(completion.next.is_empty());
    assert_eq!(pool.dispatch().worker(1).unwrap().load(0), 1);
    answer_withdrawn(&pool, thread, 2);
    assert_eq!(pool.dispatch().busy_workers(), 0);
}

/// The worker holds the answer to a short request while it runs the next one.
#[tokio::test]
async fn what_runs_behind_an_answer_that_the_worker_holds_is_not_taken_back() {
    let (thread, mut orders, _theirs) = thread_alone();
    let _replies: Vec<Reply> = (0..3).map(|_| send(&thread, Method::GET)).collect();
    let claims = thread.owner.claims.as_ref().unwrap();
    assert!(claims.begin(thread.number, 2));
    assert_eq!(thread.withdraw().len(), 1, "the third");
    assert_eq!(orders.try_recv().unwrap()[4], kind::FLUSH);
    assert!(!claims.begin(thread.number, 3));
    assert!(thread.withdraw().is_empty() && orders.try_recv().is_err(), "there is nothing new");
    let _fourth = send(&thread, Method::GET);
    assert_eq!(thread.withdraw().len(), 1);
}

/// The worker writes that it begins a request, and reads that it was withdrawn, while the server does the reverse.
#[tokio::test]
async fn a_request_that_seems_to_have_begun_and_has_not_runs_on_another_worker() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let thread = &ends[0].0;
    (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_micros(50)));
    let _replies: Vec<Reply> = (0..4).map(|_| pool.call(Request::sample(Method::GET, "/"))).collect();
    let sent = thread.load();
    assert!(sent > 1);
    assert!(thread.owner.claims.as_ref().unwrap().begin(0, 2));
    assert_eq!(thread.withdraw().len(), sent - 2);
    thread.receive(received(&answer(0))).unwrap();
    pool.dispatch().done(thread, Duration::from_micros(50));
    let mut frames = BytesMut::from(&cancelled(2)[..]);
    pool.take_frames(thread, &mut frames).await.unwrap();
    let left: usize = ends.iter().map(|(thread, ..)| thread.load()).sum();
    assert_eq!(left + pool.dispatch().queue.len(), 4 - sent + 1, "with the one that was refused");
}

/// A connection without a front.
struct TestTakeover;

impl engine::request::Takeover for TestTakeover {
    fn take(self: Box<Self>) -> engine::Duplex {
        engine::body::duplex(1).1
    }
}

/// The hijack and the answer before it come on two connections, of which either may be read first.
#[tokio::test]
async fn a_request_that_has_taken_its_connection_is_not_withdrawn() {
    let (thread, _orders, _theirs) = thread_alone();
    let [(first, _first), (mut second, _second), (third, _third)] = [(); 3].map(|()| job(Method::GET));
    second.request.takeover = Some(Box::new(TestTakeover));
    for one in [first, second, third] {
        thread.push(one).map_err(|_| ()).unwrap();
    }
    assert!(thread.owner.claims.as_ref().unwrap().begin(thread.number, 2) && thread.take_over(2).is_some());
    let back = thread.withdraw();
    assert!(back.len() == 1 && !back[0].is_taken, "the third alone has not begun");
    assert_eq!(thread.load(), 2);
}

/// A 504 blames the application, and a 503 the load.
#[tokio::test]
async fn only_a_request_that_had_begun_has_been_running_for_too_long() {
    let (thread, _orders, _theirs) = thread_alone();
    let push = || send(&thread, Method::GET);
    let (ran, withdrawn) = (push(), push());
    let mut back = thread.withdraw();
    let stood_behind = push();
    for Unfinished { mut job, has_begun, .. } in thread.close(Fault::Stopping) {
        assert!(job.may_replay(has_begun, Death::Crash));
        back.push(job);
    }
    let places: Vec<bool> = back.iter().map(|job| job.ran_on.is_some()).collect();
    assert_eq!(places, [false, true, false], "withdrawn, ran, stood behind it");
    back.into_iter().for_each(|job| job.expire(Instant::now(), false));
    assert!(matches!(ran.await.result, Err(Fault::OutOfTime(_))));
    assert!(matches!(withdrawn.await.result, Err(Fault::QueueWait(_))));
    assert!(matches!(stood_behind.await.result, Err(Fault::QueueWait(_))));
}

/// "timed out: ..., 20 s of which it waited for a worker" would send the reader to the wrong place.
#[tokio::test]
async fn the_time_that_a_request_ran_on_a_worker_that_died_is_none_in_which_it_waited() {
    let time = Duration::from_millis(20);
    let (first, _orders, _theirs) = thread_alone();
    let (second, _more_orders, _its) = thread_alone();
    let [(runs, reply), (stands_behind, _reply)] = [(); 2].map(|()| job(Method::GET));
    for one in [runs, stands_behind] {
        first.push(one).map_err(|_| ()).unwrap();
    }
    tokio::time::sleep(time).await;
    for Unfinished { job, .. } in first.close(Fault::Stopping) {
        second.push(job).map_err(|_| ()).unwrap();
    }
    let jobs: Vec<Box<Job>> = second.close(Fault::Stopping).into_iter().map(|unfinished| unfinished.job).collect();
    let [runs, stands_behind] = <[Box<Job>; 2]>::try_from(jobs).map_err(|_| ()).unwrap();
    assert!(stands_behind.queued >= time, "{:?}", stands_behind.queued);
    assert!(runs.queued + time <= runs.offered.elapsed(), "{:?}", runs.queued);
    let offered = runs.offered;
    runs.expire(Instant::now(), false);
    let queued = reply.await.queued;
    assert!(queued + time <= offered.elapsed(), "{queued:?}");
}

/// What it does next may remove the file.
#[tokio::test]
async fn a_thread_with_work_after_its_answer_learns_that_the_file_it_named_is_open() {
    let file = std::env::current_exe().unwrap();
    for (flags, is_told) in [(flag::FILE, false), (flag::FILE | flag::LATER, true)] {
        let (thread, mut orders, _theirs) = thread_alone();
        let reply = send(&thread, Method::GET);
        let answer = answer_with(1, 200, flags, file.as_os_str().as_encoded_bytes());
        drop(thread.receive(received(&answer)).unwrap());
        assert!(matches!(reply.await.result.unwrap().body, Body::File(..)));
        let opened = frame(kind::RELEASE, |out| {
            out.put_u32(3);
            out.put_u64(0);
        });
        assert_eq!(orders.try_recv().ok(), is_told.then_some(opened));
    }
}

/// Its client has gone. It must not count as an error of the application.
#[tokio::test]
async fn a_request_that_was_cancelled_before_it_began_failed_by_its_client() {
    let (thread, _orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    thread.receive(received(&cancelled(1))).unwrap();
    assert!(matches!(reply.await.result, Err(Fault::ClientGone)));
}

/// The application's end of such a connection is closed at once.
#[tokio::test]
async fn an_upgrade_of_a_request_that_was_withdrawn_finds_its_client_gone() {
    let (thread, _orders, _theirs) = thread_alone();
    for _ in 0..2 {
        drop(send(&thread, Method::GET));
    }
    assert_eq!(thread.withdraw().len(), 1);
    thread.receive(received(&answer(0))).unwrap();
    thread.receive(received(&answer_to(2, 101, flag::UPGRADE))).unwrap();
    assert!(thread.upgrade(2).is_some_and(|duplex| duplex.outgoing.is_gone()));
}

/// Its thread waits for the connection, and the front counts it as idle: both must be over at once.
#[tokio::test]
async fn an_upgrade_whose_answer_is_refused_finds_its_client_gone() {
    let (thread, _orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    let headers = b"x\0a\rb\0";
    let refused = frame(kind::ANSWER, |out| {
        out.put_u32(1);
        out.put_u16(200);
        out.put_slice(&[flag::UPGRADE, 0, 1, 0, 0, 0, headers.len() as u8]);
        out.put_slice(headers);
    });
    let (step, _) = thread.receive(received(&refused)).unwrap();
    assert!(matches!(step, Step::Done { .. }));
    assert!(matches!(reply.await.result, Err(Fault::BadAnswer(_))));
    assert!(thread.upgrade(1).is_some_and(|duplex| duplex.outgoing.is_gone()));
}

#[tokio::test]
async fn in_a_pause_what_has_not_begun_comes_back_and_is_sent_again_after_it() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_micros(50)));
    let _replies: Vec<Reply> = (0..3).map(|_| pool.call(Request::sample(Method::GET, "/"))).collect();
    assert_eq!(ends[0].0.load(), 3);
    pool.pause(Instant::now());
    let status = pool.status();
    assert_eq!((status.capacity, status.idle, status.queued, ends[0].0.load()), (2, 1, 2, 1));
    assert_eq!(pool.dispatch().worker(1).unwrap().load(0), 3, "until the worker says that it did not begin them");
    ends[0].0.receive(received(&answer(0))).unwrap();
    assert!(pool.dispatch().done(&ends[0].0, Duration::from_micros(50)).next.is_empty(), "the pause goes on");
    for seq in [2, 3] {
        assert!(answer_withdrawn(&pool, &ends[0].0, seq).next.is_empty(), "the pause goes on");
    }
    assert_eq!(pool.dispatch().busy_workers(), 0);
    assert_eq!(pool.resume(Instant::now()), Some(2));
    assert_eq!((waiting(&pool), ends[0].0.load()), (0, 2));
}

#[tokio::test]
async fn a_stream_of_which_the_client_has_seen_nothing_runs_again() {
    let (pool, _inbox) = pool();
    let mut ends = worker(&pool);
    let (mut busy, _idle) = (ends.remove(1), ends.remove(0));
    let _reply = send(&busy.0, Method::GET);
    busy.2.write_all(&answer(flag::MORE)).await.unwrap();
    busy.2.write_all(&frame(kind::CHUNK, |out| out.put_bytes(b'x', 100_000))).await.unwrap();
    drop(busy.2);
    pool.clone().read(busy.0, busy.1).await;
    until_read(&pool).await;
    assert_eq!(waiting(&pool), 1);
}

/// A thread with the number 3, the orders to its worker, and the end of the process.
fn thread_alone() -> (WorkerThread, UnboundedReceiver<Bytes>, UnixStream) {
    let (control, orders) = Control::new();
    let (thread, _, end) = WorkerThread::sample(1, 3, Arc::new(control)).unwrap();
    (thread, orders, end)
}

/// Streams and long polls may be open for hours.
#[tokio::test]
async fn the_timer_runs_less_often_where_all_that_runs_has_been_running_for_long() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let seen = |millis| check(&pool, LAST_ANSWERS, Instant::now() + Duration::from_millis(millis));
    assert_eq!(seen(200), Seen::Nothing);
    let _running = add(&pool);
    assert_eq!((seen(1), seen(200)), (Seen::Active, Seen::Settled));
    pool.dispatch().worker(1).unwrap().activity = Activity::Computing;
    let _waiting = [add(&pool), add(&pool)];
    pool.dispatch().worker(1).unwrap().is_leaving = true;
    assert_eq!(seen(200), Seen::Settled, "it takes nothing, and its request may run for hours");
    pool.dispatch().worker(1).unwrap().is_leaving = false;
    assert_eq!(seen(200), Seen::Active, "when it waits, a thread is free for what waits here");
    pool.dispatch().worker(1).unwrap().activity = Activity::Waiting;
    pool.pump();
    assert_eq!(waiting(&pool), 1, "both threads have a request");
    assert_eq!(seen(200), Seen::Settled, "no thread is free for what waits");
}

/// Where streams come one after the other there is always a young one.
#[tokio::test]
async fn a_request_among_others_that_take_long_is_soon_settled() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let _reply = add(&pool);
    for (took, seen) in [(1, Seen::Active), (1000, Seen::Settled)] {
        (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_millis(took)));
        let soon = Instant::now() + Duration::from_millis(10);
        assert_eq!(check(&pool, LAST_ANSWERS, soon), seen, "requests take {took} ms");
    }
}

/// What it does decides whether another one may enter its worker, if there is a thread for that.
#[tokio::test]
async fn a_young_request_among_others_that_take_long_is_settled_where_no_thread_is_free() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_secs(1)));
    let began = Instant::now();
    let mut replies = Vec::new();
    for (activity, seen) in [(Activity::Unknown, Seen::Active), (Activity::Waiting, Seen::Settled)] {
        pool.dispatch().worker(1).unwrap().activity = activity;
        replies.push(add(&pool));
        assert_eq!(check(&pool, LAST_ANSWERS, began), seen, "{} in two threads", replies.len());
    }
    assert!(pool.dispatch().queue.is_empty());
}

/// It may find a free thread at the next tick.
#[tokio::test]
async fn a_tick_that_takes_a_request_back_is_soon_followed_by_another() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    (0..500).for_each(|_| pool.dispatch().service_time.observe(Duration::from_micros(50)));
    let _replies: Vec<Reply> = (0..2).map(|_| pool.call(Request::sample(Method::GET, "/"))).collect();
    assert_eq!(pool.dispatch().worker(1).unwrap().load(0), 2, "one stands behind the other");
    assert_eq!(check(&pool, LAST_ANSWERS, Instant::now() + Duration::from_millis(200)), Seen::Active);
}

#[tokio::test]
async fn a_response_that_begins_after_a_while_is_held_back_no_longer_than_another() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let thread = &ends[0].0;
    let mut reply = send(thread, Method::GET);
    pool.dispatch().worker(1).unwrap().take(0);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(60) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let now = Instant::now();
    assert_eq!(check(&pool, LAST_ANSWERS, now), Seen::Settled);
    let begins = || BytesMut::from(&answer_to(1, 200, flag::MORE)[..]);
    pool.take_frames(thread, &mut begins()).await.unwrap();
    assert_eq!(check(&pool, LAST_ANSWERS, now), Seen::Active, "it is to be sent in a moment");
    assert_eq!(pool.dispatch().worker(1).unwrap().streams, 0);
    assert_eq!(check(&pool, LAST_ANSWERS, now + Duration::from_secs(1)), Seen::Settled);
    assert_eq!(pool.dispatch().worker(1).unwrap().streams, 1);
    assert!(timeout(LAST_ANSWERS, &mut reply).await.unwrap().result.is_ok(), "it is sent");
    // While the timer sleeps for longer, a beginning wakes it.
    let other = &ends[1].0;
    other.push(job(Method::GET).0).map_err(|_| ()).unwrap();
    pool.report_held_back(true);
    let asleep = Instant::now();
    let mut beginning = begins();
    let (is_added, taken) = tokio::join!(pool.until_added(LAST_ANSWERS), pool.take_frames(other, &mut beginning));
    assert!(is_added && taken.is_ok() && asleep.elapsed() < LAST_ANSWERS);
    assert!(!pool.until_added(Duration::from_millis(1)).await, "nothing has come since");
}

/// The tick sees all that was reported before it.
#[tokio::test]
async fn what_is_reported_before_a_tick_does_not_wake_the_timer_after_it_and_what_is_during_it_does() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let (get, _reply) = job(Method::GET);
    let (later, _later) = job(Method::GET);
    ends[0].0.push(get).map_err(|_| ()).unwrap();
    ends[1].0.push(later).map_err(|_| ()).unwrap();
    let begins = || BytesMut::from(&answer_to(1, 200, flag::MORE)[..]);
    pool.report_held_back(true);
    pool.take_frames(&ends[0].0, &mut begins()).await.unwrap();
    pool.begin_tick();
    assert!(!pool.until_added(Duration::from_millis(1)).await);
    pool.report_held_back(false);
    pool.begin_tick();
    pool.take_frames(&ends[1].0, &mut begins()).await.unwrap();
    assert!(pool.until_added(LAST_ANSWERS).await);
}

/// Nothing that is added may wait for the end of its long sleep.
#[tokio::test]
async fn from_the_look_of_a_tick_on_that_is_to_be_followed_by_a_long_sleep_a_request_wakes_the_timer() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let began = Instant::now();
    let _reply = add(&pool);
    assert!(pool.dispatch().lacks_watch(), "the timer had stopped");
    assert_eq!(check(&pool, LAST_ANSWERS, began), Seen::Active, "the next tick looks at it");
    for (millis, seen) in [(1, Seen::Active), (200, Seen::Settled)] {
        assert_eq!(check(&pool, LAST_ANSWERS, Instant::now() + Duration::from_millis(millis)), seen);
        assert_eq!(pool.dispatch().lacks_watch(), seen == Seen::Settled, "{seen:?}");
        assert_eq!(pool.dispatch().worker(1).unwrap().lasting, usize::from(millis == 200));
    }
}

#[tokio::test]
async fn an_answer_to_a_request_that_does_not_run_is_given_to_nobody() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let (busy, idle) = (&ends[0].0, &ends[1].0);
    let (_first, _second) = (send(busy, Method::GET), send(busy, Method::GET));
    for seq in [2, 3] {
        assert!(busy.receive(received(&answer_to(seq, 200, 0))).is_err(), "the first one runs, and not {seq}");
    }
    assert_eq!(busy.unanswered(), 2);
    let failed = |number: u8| frame(number, |out| out.put_slice(&[0, 0, 0, 1, 0, b'E', 0]));
    let lent = frame(kind::MEMORY, |out| out.put_bytes(1, 20));
    let simple = [kind::CHUNK, kind::END, kind::FREE].map(|number| frame(number, |_| ()));
    for sent in [&answer(0), &failed(kind::FAULT), &failed(kind::BAD), &lent].into_iter().chain(&simple) {
        assert!(idle.receive(received(sent)).is_err(), "nothing runs: {sent:?}");
    }
}

#[tokio::test]
async fn a_request_behind_another_begins_when_that_is_answered() {
    let (thread, _orders, _theirs) = thread_alone();
    let (_first, _second) = (send(&thread, Method::GET), send(&thread, Method::GET));
    let (answered, second) = (Instant::now(), Duration::from_secs(1));
    thread.receive(received(&answer(0))).unwrap();
    let found = thread.check(answered + second, second);
    assert!(found.age <= second && found.pipelined == 0, "{found:?}");
}

#[tokio::test]
async fn a_body_that_ends_or_fails_before_any_of_it_was_sent_is_whole_or_a_plain_fault() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let failed = frame(kind::FAULT, |out| out.put_slice(b"\0\0\0\x01\0E\0failed\0"));
    for ((thread, ..), last) in ends.iter().zip([frame(kind::END, |_| ()), failed]) {
        let reply = send(thread, Method::GET);
        for part in [answer(flag::MORE), frame(kind::CHUNK, |out| out.put_slice(b" body"))] {
            assert!(matches!(thread.receive(received(&part)).unwrap(), (Step::Nothing, 0)));
        }
        let (step, withdrawn) = thread.receive(received(&last)).unwrap();
        assert!(matches!(step, Step::Done { was_interrupted: false, is_own: false, .. }) && withdrawn == 0);
        match (thread.number, reply.await.result) {
            (0, Ok(response)) => assert!(matches!(&response.body, Body::Full(bytes) if bytes == "whole body")),
            (1, Err(Fault::App(error))) => assert_eq!(error.class, "E"),
            (_, other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_worker_that_ends_in_its_work_after_an_answer_costs_no_request() {
    let (thread, _orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    thread.receive(received(&answer(flag::LATER))).unwrap();
    assert!(thread.close(Fault::Stopping).is_empty());
    assert!(reply.await.result.is_ok());
}

#[tokio::test]
async fn a_worker_is_told_once_that_a_client_has_gone() {
    let (thread, mut orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    let second = Duration::from_secs(1);
    thread.check(Instant::now(), second);
    assert!(orders.try_recv().is_err(), "it waits");
    drop(reply);
    thread.check(Instant::now(), second);
    thread.check(Instant::now(), second);
    let cancelled = frame(kind::CANCEL, |out| {
        out.put_u32(3);
        out.put_u32(1);
    });
    assert_eq!((orders.try_recv().ok(), orders.try_recv().ok()), (Some(cancelled), None));
}

#[tokio::test]
async fn a_part_that_nobody_wants_counts_as_read_and_one_that_cannot_be_read_does_not() {
    let (thread, mut orders, _theirs) = thread_alone();
    let lent = Lent { address: 8, length: 77, offered_on: 0 };
    let (sink, _source) = engine::body::stream(9);
    for (sink, taken) in [(None, 77), (Some(sink), 0)] {
        thread.send_lent(sink, lent).await;
        let released = frame(kind::RELEASE, |out| {
            out.put_u32(3);
            out.put_u64(taken);
        });
        assert_eq!(orders.try_recv().ok(), Some(released));
    }
}

#[tokio::test]
async fn an_earlier_connection_for_direct_writes_takes_no_later_ones_place() {
    let (thread, _orders, _theirs) = thread_alone();
    let open = |number| Arc::new(DirectWrites::new(number, UnixStream::pair().unwrap().0));
    let (earlier, later) = (open(1), open(2));
    thread.write_directly_by(later.clone());
    thread.write_directly_by(earlier.clone());
    assert_eq!((Arc::strong_count(&earlier), Arc::strong_count(&later)), (1, 2));
    let latest = open(3);
    thread.write_directly_by(latest.clone());
    assert_eq!((Arc::strong_count(&later), Arc::strong_count(&latest)), (1, 2));
}

#[tokio::test]
async fn upgraded_connections_wait_by_the_thousand_for_the_application_and_of_still_more_the_oldest_are_dropped() {
    let (thread, _orders, _theirs) = thread_alone();
    let mut replies = Vec::new();
    for seq in 1..=10_100 {
        replies.push(send(&thread, Method::GET));
        thread.receive(received(&answer_to(seq, 101, flag::UPGRADE))).unwrap();
    }
    assert!(thread.awaits_takeover());
    assert!(thread.upgrade(1).is_none() && thread.upgrade(200).is_some() && thread.upgrade(10_100).is_some());
}

/// The next part of a body.
async fn next(source: &mut Source) -> Option<Result<Bytes, Fault>> {
    std::future::poll_fn(|cx| source.poll_next(cx)).await
}

#[tokio::test]
async fn a_body_that_was_left_to_threads_frees_its_own_and_goes_on() {
    let (thread, _orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    thread.receive(received(&answer(flag::MORE))).unwrap();
    let (step, _) = thread.receive(received(&frame(kind::LEFT, |_| ()))).unwrap();
    assert!(matches!(step, Step::Done { .. }) && thread.load() == 0 && thread.awaits_takeover());
    let Body::Stream(mut source) = reply.await.result.unwrap().body else { panic!("it is whole") };
    let sink = thread.upgrade(1).unwrap().outgoing;
    assert!(!thread.awaits_takeover());
    let (ours, mut app) = UnixStream::pair().unwrap();
    let more = frame(kind::CHUNK, |out| out.put_slice(b"more"));
    for part in [more.clone(), more, frame(kind::END, |_| ())] {
        app.write_all(&part).await.unwrap();
    }
    relay_rest(ours, sink, Arc::default(), Fault::Stopping).await;
    for part in ["whole", "moremore"] {
        assert_eq!(next(&mut source).await, Some(Ok(Bytes::from(part))));
    }
    assert_eq!(next(&mut source).await, None);
}

#[tokio::test]
async fn a_body_that_was_left_and_that_nobody_wants_ends_at_once() {
    let (thread, _orders, _theirs) = thread_alone();
    let reply = send(&thread, Method::GET);
    drop(reply);
    thread.receive(received(&answer(flag::MORE))).unwrap();
    let later = frame(kind::LEFT, |out| out.put_u8(1));
    assert!(matches!(thread.receive(received(&later)).unwrap(), (Step::Nothing, 0)), "it has work after the answer");
    assert!(matches!(thread.receive(received(&frame(kind::FREE, |_| ()))).unwrap(), (Step::Done { .. }, 0)));
    let sink = thread.upgrade(1).unwrap().outgoing;
    let (ours, mut app) = UnixStream::pair().unwrap();
    timeout(LAST_ANSWERS, relay_rest(ours, sink, Arc::default(), Fault::Stopping)).await.unwrap();
    assert_eq!(app.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn the_rest_of_a_body_without_its_end_breaks_off() {
    let died = Fault::WorkerDied("killed".to_owned());
    let leaves = Arc::new(Leaving::default());
    leaves.announce();
    let failed = frame(kind::FAULT, |out| out.put_slice(b"\0\0\0\0\0IOError\0closed\0"));
    let mut faults = Vec::new();
    for (sent, leaving) in [
        (Bytes::new(), Arc::default()),
        (Bytes::new(), leaves),
        (failed, Arc::default()),
        (frame(kind::FREE, |_| ()), Arc::default()),
    ] {
        let (sink, mut source) = engine::body::stream(9);
        let (ours, mut app) = UnixStream::pair().unwrap();
        app.write_all(&sent).await.unwrap();
        drop(app);
        relay_rest(ours, sink, leaving, died.clone()).await;
        faults.push(next(&mut source).await.unwrap().unwrap_err());
    }
    assert_eq!(faults[..2], [died, Fault::Stopping]);
    assert!(matches!(&faults[2], Fault::App(error) if error.class == "IOError"), "{}", faults[2]);
    assert!(matches!(faults[3], Fault::Broken(_)), "{}", faults[3]);
}

/// The worker has sent the head of the answer, and is killed before the connection is taken over.
#[tokio::test]
async fn what_a_worker_that_died_had_left_to_a_connection_breaks_off_with_its_fault() {
    let died = Fault::WorkerDied("killed".to_owned());
    for is_rest in [false, true] {
        let (thread, _orders, _theirs) = thread_alone();
        let reply = send(&thread, Method::GET);
        let head = if is_rest { answer(flag::MORE) } else { answer_to(1, 101, flag::UPGRADE) };
        thread.receive(received(&head)).unwrap();
        if is_rest {
            thread.receive(received(&frame(kind::LEFT, |_| ()))).unwrap();
        }
        assert!(thread.awaits_takeover() && thread.close(died.clone()).is_empty() && !thread.awaits_takeover());
        let mut source = match reply.await.result.unwrap().body {
            Body::Stream(source) => source,
            Body::Upgrade(duplex) => duplex.incoming,
            body => panic!("{body:?}"),
        };
        if is_rest {
            assert_eq!(next(&mut source).await, Some(Ok(Bytes::from("whole"))));
        }
        assert_eq!(next(&mut source).await, Some(Err(died.clone())), "{is_rest}");
    }
}

/// The parts wait for a slow client, and the connection for its next part: neither must keep a read buffer.
#[tokio::test]
async fn small_parts_of_an_upgraded_connection_and_of_a_body_that_was_left_keep_no_buffers() {
    let in_frame = frame(kind::CHUNK, |out| out.put_slice(b"x"));
    for (is_rest, part) in [(false, Bytes::from("x")), (true, in_frame)] {
        let (front, duplex) = engine::body::duplex(99);
        let (mut source, _outgoing) = (front.incoming, front.outgoing);
        let (ours, mut app) = UnixStream::pair().unwrap();
        let relaying = match is_rest {
            true => tokio::spawn(relay_rest(ours, duplex.outgoing, Arc::default(), Fault::Stopping)),
            false => tokio::spawn(relay(ours, duplex, Arc::default(), holder(std::process::id()), ())),
        };
        let mut parts = Vec::new();
        for _ in 0..20 {
            app.write_all(&part).await.unwrap();
            parts.push(timeout(LAST_ANSWERS, next(&mut source)).await.unwrap().unwrap().unwrap());
        }
        // None of them is also in the hands of the relay.
        let is_small = |part: Bytes| part.try_into_mut().is_ok_and(|part| part.capacity() < 99);
        assert!(parts.into_iter().all(is_small), "one keeps a buffer: {is_rest}");
        relaying.abort();
    }
}

/// The kernel reports the end of a connection when no process has it any more.
#[tokio::test]
async fn a_child_that_holds_the_connection_open_holds_up_no_body_that_was_left() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let (front, duplex) = engine::body::duplex(9);
    let (mut source, _outgoing) = (front.incoming, front.outgoing);
    let UpgradedConnection { duplex, counted: _counted, leaving } = pool.take_connection(1, || Some(duplex)).unwrap();
    let (ours, mut app) = UnixStream::pair().unwrap();
    app.write_all(&frame(kind::CHUNK, |out| out.put_slice(b"last"))).await.unwrap();
    pool.remove(1, None);
    let died = Fault::WorkerDied("killed".to_owned());
    timeout(LAST_ANSWERS, relay_rest(ours, duplex.outgoing, leaving, died.clone())).await.unwrap();
    assert_eq!(next(&mut source).await, Some(Ok(Bytes::from("last"))));
    assert_eq!(next(&mut source).await, Some(Err(died)));
    drop(app);
}

#[tokio::test]
async fn an_upgraded_connection_breaks_off_with_its_process_and_ends_when_the_application_closes_it() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let died = Some(Err(Fault::WorkerDied("killed".to_owned())));
    let stopping = Some(Err(Fault::Stopping));
    let alive = std::process::id();
    for (pid, is_leaving, end) in [(gone.id(), false, died), (gone.id(), true, stopping), (alive, true, None)] {
        let (front, duplex) = engine::body::duplex(9);
        let (ours, app) = UnixStream::pair().unwrap();
        let leaving = Arc::new(Leaving::default());
        if is_leaving {
            leaving.announce();
        }
        let mut source = front.incoming;
        front.outgoing.send(Bytes::from("unread")).await.unwrap();
        let relaying = tokio::spawn(relay(ours, duplex, leaving, holder(pid), ()));
        // The application closes the connection without reading it, which the other end learns as an error.
        app.readable().await.unwrap();
        drop(app);
        assert_eq!(timeout(LAST_ANSWERS, next(&mut source)).await.unwrap(), end, "{pid} {is_leaving}");
        timeout(LAST_ANSWERS, relaying).await.unwrap().unwrap();
    }
}

/// The answer before the connection has made the thread idle. A worker that is stopped exits without the application's
/// threads that use its connections.
#[tokio::test]
async fn a_worker_has_something_to_do_at_each_moment_between_an_answer_and_its_upgraded_connection() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let thread = &ends[0].0;
    let _reply = send(thread, Method::GET);
    thread.receive(received(&answer_to(1, 101, flag::UPGRADE))).unwrap();
    let is_done = || pool.dispatch().worker(1).unwrap().is_done();
    assert!(!is_done());
    let connection = pool.take_connection(1, || {
        assert!(pool.dispatch.try_lock().is_none(), "no one looks at the worker between the two steps");
        thread.upgrade(1)
    });
    assert!(connection.is_some() && !is_done());
    drop(connection);
    assert!(is_done());
    assert!(pool.take_connection(2, || panic!("there is no such worker")).is_none());
}

/// An answer may stand behind a body that a slow client takes; the connection was opened before it was sent.
#[tokio::test]
async fn an_upgraded_connection_is_waited_for_as_long_as_its_request_is_not_over_and_no_longer() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    let thread = ends[0].0.clone();
    let (_first, _second) = (send(&thread, Method::GET), send(&thread, Method::GET));
    let wait = |seq: u32| {
        let (pool, thread) = (pool.clone(), thread.clone());
        tokio::spawn(async move { pool.take_over_upgrade(&thread, seq).await.is_some() })
    };
    let (failed, upgraded) = (wait(1), wait(2));
    let fault = frame(kind::FAULT, |out| out.put_slice(b"\0\0\0\x01\0E\0failed\0"));
    thread.receive(received(&fault)).unwrap();
    assert!(!timeout(LAST_ANSWERS, failed).await.unwrap().unwrap(), "its request has failed");
    assert!(!upgraded.is_finished(), "its request runs");
    thread.receive(received(&answer_to(2, 101, flag::UPGRADE))).unwrap();
    assert!(timeout(LAST_ANSWERS, upgraded).await.unwrap().unwrap());
    assert!(!thread.awaits_takeover());
    assert!(!timeout(LAST_ANSWERS, wait(3)).await.unwrap().unwrap(), "there was no such request");
}

#[tokio::test]
async fn what_is_not_taken_is_refused_with_its_reason() {
    let (pool, _inbox) = pool();
    let call = || pool.call(Request::sample(Method::GET, "/"));
    let waiting: Vec<Reply> = (0..3).map(|_| call()).collect();
    assert!(matches!(call().await.result, Err(Fault::QueueFull(3))));
    pool.close();
    assert!(matches!(call().await.result, Err(Fault::Stopping)));
    assert_eq!((pool.unfinished(), pool.unanswered()), (3, 3));
    let waits = || pool.meter.queue.read().0.iter().sum::<u64>();
    assert_eq!((waits(), pool.meter.turned_away()), (0, 2), "who is refused at once has not waited");
    pool.refuse_waiting();
    for reply in waiting {
        let answer = timeout(LAST_ANSWERS, reply).await.unwrap();
        assert!(matches!(answer.result, Err(Fault::Stopping)));
    }
    assert_eq!((waits(), pool.meter.turned_away()), (3, 2));
}

#[tokio::test]
async fn a_request_that_its_worker_did_not_live_to_get_waits_under_the_eye_of_the_timer() {
    let (pool, _inbox) = pool();
    let ends = worker(&pool);
    pool.remove(1, None);
    let (get, _reply) = job(Method::GET);
    pool.push(&ends[0].0, get);
    assert_eq!(waiting(&pool), 1);
    assert!(!pool.dispatch().lacks_watch(), "it was woken");
}

/// A POST stands behind a GET where two I/O threads send to an idle worker thread at the same moment: the one that gets
/// the thread first may write to it last.
#[tokio::test]
async fn a_request_that_was_sent_ahead_and_had_not_begun_runs_again_whatever_its_method() {
    for has_begun in [false, true] {
        let (pool, _inbox) = pool();
        let ends = worker(&pool);
        let thread = ends[0].0.clone();
        let _replies = [send(&thread, Method::GET), send(&thread, Method::POST)];
        let claims = thread.owner.claims.clone().unwrap();
        assert!(!has_begun || claims.begin(thread.number, 2));
        pool.remove(1, Some("it broke the protocol".to_owned()));
        let waiting = pool.dispatch().take_waiting();
        let methods: Vec<&Method> = waiting.iter().map(|job| &job.request.method).collect();
        let expected = [&Method::GET, &Method::POST];
        assert_eq!(methods, if has_begun { &expected[..1] } else { &expected[..] });
        assert!(has_begun || !claims.begin(thread.number, 2), "the process may still run, and begins it no more");
    }
}

#[tokio::test]
async fn a_request_that_its_worker_did_not_live_to_get_is_refused_at_the_end_of_the_server() {
    let (pool, _inbox) = pool();
    let _ends = worker(&pool);
    let (thread, get, reply) = admitted(&pool);
    pool.set_ending();
    pool.remove(1, None);
    pool.refuse_waiting();
    pool.push(&thread, get);
    let answer = timeout(LAST_ANSWERS, reply).await.expect("it would wait for a worker in vain");
    assert!(matches!(answer.result, Err(Fault::Stopping)));
}

/// A worker may end between its READY and the moment when it is added: what it was sent would count as begun.
#[tokio::test]
async fn a_worker_that_has_ended_before_it_is_added_gets_no_request() {
    let (pool, mut inbox) = pool();
    let _post = pool.call(Request::sample(Method::POST, "/"));
    let control = Arc::new(Control::new().0);
    let (thread, _reader, end) = WorkerThread::sample(1, 0, control.clone()).unwrap();
    drop(end);
    pool.add(Worker::new(1, 1, 0, control, vec![Arc::new(thread)]));
    assert_eq!((waiting(&pool), pool.workers()), (1, 0), "it waits for another worker");
    assert!(matches!(inbox.recv().await, Some(Message::Event(Event::WorkerGone(1, None)))));
    assert_eq!(pool.restarts_by(), BTreeMap::from([("crash".to_owned(), 1)]));
    let ends = worker(&pool);
    assert_eq!((waiting(&pool), ends[0].0.load()), (0, 1));
}

/// The connection may be read no more, although the process holds it open: it has broken the protocol.
#[tokio::test]
async fn a_worker_whose_connection_is_read_no_more_before_it_is_added_gets_no_request() {
    let (pool, mut inbox) = pool();
    let _get = pool.call(Request::sample(Method::GET, "/"));
    let control = Arc::new(Control::new().0);
    let (thread, reader, mut end) = WorkerThread::sample(1, 0, control.clone()).unwrap();
    let thread = Arc::new(thread);
    end.write_all(&[0; 5]).await.unwrap();
    pool.clone().read(thread.clone(), reader).await;
    assert!(inbox.try_recv().is_err(), "there is no worker to remove yet");
    pool.add(Worker::new(1, 1, 0, control, vec![thread]));
    assert_eq!((waiting(&pool), pool.workers()), (1, 0));
    assert!(matches!(inbox.recv().await, Some(Message::Event(Event::WorkerGone(1, None)))));
}

/// Requests that wait at the end of a generation are still answered, if need be by a new worker.
#[tokio::test]
async fn a_worker_that_comes_when_all_leave_has_its_upgraded_connections_closed() {
    let (pool, _inbox) = pool();
    pool.close();
    let _ends = worker(&pool);
    let (ours, _app) = UnixStream::pair().unwrap();
    let (front, duplex) = engine::body::duplex(1);
    let connection = pool.take_connection(1, || Some(duplex)).unwrap();
    let UpgradedConnection { duplex, counted: _counted, leaving } = connection;
    let relaying = tokio::spawn(relay(ours, duplex, leaving, holder(std::process::id()), ()));
    let is_told = async {
        while !front.incoming.is_leaving() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LAST_ANSWERS, is_told).await.unwrap();
    relaying.abort();
}

#[tokio::test]
async fn who_takes_snapshots_is_taken_to_watch() {
    let (pool, _inbox) = pool();
    pool.glance();
    assert!(!pool.is_watched_by_somebody());
    pool.snapshot();
    assert!(pool.is_watched_by_somebody());
}
