//! Which worker gets the next request, in each state of the workers.

use engine::{Request, reply};
use http::Method;
use tokio::net::UnixStream;

use super::*;
use crate::dispatch::activity::{Activity, Found, Interval};
use crate::dispatch::job::Death;
use crate::dispatch::worker::{FULL_WAITS, PIPELINED_WAITS};
use crate::dispatch::worker_thread::Unfinished;
use crate::wire::control::Control;

fn job(method: Method, io_thread: usize) -> (Box<Job>, engine::Reply) {
    let (responder, reply) = reply::pair();
    (Job::new(Request::sample(method, "/"), responder, io_thread).unwrap(), reply)
}

/// Dispatch over workers 0, 1, ... with `threads` threads each; worker n is on I/O thread n.
struct DispatchScene {
    dispatch: Dispatch,
    replies: Vec<engine::Reply>,
    _ends: Vec<UnixStream>,
}

impl DispatchScene {
    fn new(workers: u32, threads: u32) -> DispatchScene {
        let mut scene = DispatchScene { dispatch: Dispatch::new(3), replies: Vec::new(), _ends: Vec::new() };
        for id in 0..workers {
            let control = Arc::new(Control::new().0);
            let threads = (0..threads).map(|number| {
                let (thread, _, end) = WorkerThread::sample(id, number, control.clone()).unwrap();
                scene._ends.push(end);
                Arc::new(thread)
            });
            let worker = Worker::new(id, 1, id as usize, control.clone(), threads.collect());
            scene.dispatch.workers.push(worker);
        }
        scene
    }

    /// Workers of which all threads may be used at once.
    fn parallel(workers: u32, threads: u32) -> DispatchScene {
        let mut scene = DispatchScene::new(workers, threads);
        scene.dispatch.is_parallel = true;
        scene
    }

    /// Admits a request; returns its worker and thread, or why it has none.
    fn admit(&mut self, method: Method, io_thread: usize) -> Result<(u32, u32), &'static str> {
        let (job, reply) = job(method, io_thread);
        self.replies.push(reply);
        match self.dispatch.admit(job) {
            Admission::Send(thread, _) => Ok((thread.owner.worker, thread.number)),
            Admission::Queued => Err("queued"),
            Admission::Full(_) => Err("full"),
            Admission::Late(_) => Err("late"),
            Admission::Closed(_) => Err("closed"),
        }
    }

    fn get(&mut self, io_thread: usize) -> Result<(u32, u32), &'static str> {
        self.admit(Method::GET, io_thread)
    }

    fn thread(&mut self, worker: u32, thread: usize) -> Arc<WorkerThread> {
        self.dispatch.worker(worker).unwrap().threads().nth(thread).unwrap().clone()
    }

    /// Adds a request that came at the time `offered` to the queue.
    fn wait(&mut self, method: Method, io_thread: usize, offered: Instant, now: Instant) {
        let (mut job, reply) = job(method, io_thread);
        job.offered = offered;
        self.replies.push(reply);
        assert!(self.dispatch.queue.push(job, now).is_ok());
    }

    /// Lets a thread answer a request.
    fn done(&mut self, worker: u32, thread: usize, took: Duration) -> Completion {
        let thread = self.thread(worker, thread);
        self.dispatch.done(&thread, took)
    }

    /// Lets samples have shown that the requests of a worker wait for something other than a processor.
    fn waits(&mut self, worker: u32) {
        let worker = self.dispatch.worker(worker).unwrap();
        (worker.activity, worker.full_waits) = (Activity::Waiting, FULL_WAITS);
    }

    /// Lets a worker open the thread with this number; returns whether it was the next one.
    fn opens(&mut self, worker: u32, number: u32) -> bool {
        let worker = self.dispatch.worker(worker).unwrap();
        let (thread, _, end) = WorkerThread::sample(worker.id, number, worker.control.clone()).unwrap();
        self._ends.push(end);
        worker.add_thread(Arc::new(thread))
    }

    fn requests_are_short(&mut self) {
        (0..500).for_each(|_| self.dispatch.service_time.observe(Duration::from_micros(50)));
    }
}

#[tokio::test]
async fn an_idle_worker_comes_first_and_at_best_the_one_of_the_same_io_thread() {
    let mut scene = DispatchScene::new(3, 2);
    assert_eq!(scene.get(1), Ok((1, 0)));
    assert_eq!(scene.get(1), Ok((0, 0)));
    assert_eq!(scene.get(0), Ok((2, 0)));
    // None is idle any more: a second thread of one that waits for something, while requests may be long.
    scene.dispatch.worker(0).unwrap().activity = Activity::Waiting;
    assert_eq!(scene.get(0), Ok((0, 1)));
}

#[tokio::test]
async fn a_worker_that_does_not_run_gets_no_request_while_another_runs() {
    let mut scene = DispatchScene::new(2, 1);
    let now = Instant::now();
    assert!(scene.dispatch.avoid(&[0], now));
    assert!(!scene.dispatch.avoid(&[0], now), "nothing has changed");
    assert_eq!([scene.get(0), scene.get(0)], [Ok((1, 0)), Err("queued")]);
    assert!(scene.dispatch.avoid(&[], now));
    let given = scene.dispatch.pump(now).into_iter().map(|(thread, _)| thread.owner.worker);
    assert_eq!(given.collect::<Vec<_>>(), [0]);
    // Where none runs, requests wait in the workers, too: a person may be at a debugger's prompt.
    let mut scene = DispatchScene::new(2, 1);
    assert!(!scene.dispatch.avoid(&[0, 1], now));
    assert_eq!([scene.get(0), scene.get(0)], [Ok((0, 0)), Ok((1, 0))]);
    // Nor is one of use that leaves.
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.worker(1).unwrap().is_leaving = true;
    assert!(!scene.dispatch.avoid(&[0], now));
    assert_eq!(scene.get(0), Ok((0, 0)));
}

/// It may have written the answer before it was stopped, and what it is sent now waits in it until it is continued.
#[tokio::test]
async fn a_worker_that_does_not_run_gets_no_request_for_its_answer() {
    let mut scene = DispatchScene::new(2, 1);
    assert_eq!([scene.get(0), scene.get(1), scene.get(0)], [Ok((0, 0)), Ok((1, 0)), Err("queued")]);
    assert!(scene.dispatch.avoid(&[0], Instant::now()));
    assert!(scene.done(0, 0, Duration::from_millis(5)).next.is_empty());
    assert_eq!(scene.done(1, 0, Duration::from_millis(5)).next.len(), 1);
}

#[tokio::test]
async fn what_a_worker_has_not_begun_is_taken_back_when_it_does_not_run() {
    let mut scene = DispatchScene::new(2, 1);
    let thread = scene.thread(0, 0);
    for _ in 0..2 {
        let (job, reply) = job(Method::GET, 0);
        scene.replies.push(reply);
        thread.push(job).map_err(|_| ()).unwrap();
    }
    assert!(scene.dispatch.avoid(&[0], Instant::now()));
    assert_eq!(scene.dispatch.queue.len(), 1, "all but the first one");
}

/// The lock is free while the kernel is asked: a worker may end meanwhile.
#[tokio::test]
async fn only_workers_that_have_requests_and_could_take_more_are_sampled() {
    let workers_of = |samples: &[ActivitySample]| samples.iter().map(|sample| sample.worker).collect::<Vec<_>>();
    let mut scene = DispatchScene::new(3, 2);
    assert_eq!((scene.get(1), scene.get(2)), (Ok((1, 0)), Ok((2, 0))));
    let samples = scene.dispatch.begin_samples(Instant::now());
    assert_eq!(workers_of(&samples), [1, 2]);
    scene.dispatch.workers.remove(1);
    scene.dispatch.end_samples(samples);
    assert_eq!(workers_of(&scene.dispatch.begin_samples(Instant::now())), [2]);

    let mut scene = DispatchScene::new(1, 1);
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert!(scene.dispatch.begin_samples(Instant::now()).is_empty(), "it has no other thread");
    scene.dispatch.growth = Growth::Computing;
    assert_eq!(workers_of(&scene.dispatch.begin_samples(Instant::now())), [0], "another worker could be of use");
}

/// The time in the run queue is in one file for each thread.
#[tokio::test]
async fn the_run_queue_is_read_while_a_request_waits_that_the_worker_could_take_or_that_could_add_another_worker() {
    let is_wanted = |scene: &mut DispatchScene| {
        let samples = scene.dispatch.begin_samples(Instant::now());
        let is_wanted: Vec<bool> = samples.iter().map(|sample| sample.is_wanted).collect();
        scene.dispatch.end_samples(samples);
        is_wanted
    };
    let mut scene = DispatchScene::new(1, 2);
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert_eq!(is_wanted(&mut scene), [false], "nothing waits");
    assert_eq!(scene.get(0), Err("queued"));
    assert_eq!(is_wanted(&mut scene), [true], "the other thread is free");
    scene.dispatch.worker(0).unwrap().is_leaving = true;
    assert_eq!(is_wanted(&mut scene), [false], "it leaves");
    scene.dispatch.worker(0).unwrap().is_leaving = false;
    scene.dispatch.worker(0).unwrap().activity = Activity::Waiting;
    assert_eq!(scene.dispatch.pump(Instant::now()).len(), 1);
    assert_eq!(scene.get(0), Err("queued"));
    assert_eq!(is_wanted(&mut scene), [true], "one thread may be enough");
    scene.dispatch.is_parallel = true;
    assert_eq!(is_wanted(&mut scene), [false], "both threads are busy");
    scene.dispatch.max_threads = 3;
    assert_eq!(is_wanted(&mut scene), [true], "it could get a third one");
    assert_eq!(scene.dispatch.worker(0).unwrap().order_threads(1, 3, Instant::now()), 1);
    assert_eq!(is_wanted(&mut scene), [false], "which is on its way, or never comes");
    scene.dispatch.growth = Growth::Computing;
    assert_eq!(is_wanted(&mut scene), [true]);
}

/// On a busy machine any time may pass between two steps of the same thread.
#[tokio::test]
async fn nothing_runs_or_waits_that_is_not_watched() {
    let mut scene = DispatchScene::new(1, 1);
    assert!(!scene.dispatch.lacks_watch(), "there is nothing to see");
    assert!(scene.dispatch.may_rest());
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert!(scene.dispatch.lacks_watch() && !scene.dispatch.lacks_watch(), "it is told once");
    assert!(!scene.dispatch.may_rest());
    scene.dispatch.worker(0).unwrap().release(0, 1);
    assert!(scene.dispatch.may_rest());
    // A request left by a dead worker.
    let (job, _reply) = job(Method::GET, 0);
    scene.dispatch.put_back(vec![job], Instant::now());
    assert!(scene.dispatch.lacks_watch());
}

#[tokio::test]
async fn only_short_and_safe_requests_are_handed_ahead() {
    let mut scene = DispatchScene::new(1, 1);
    scene.requests_are_short();
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert_eq!(scene.admit(Method::POST, 0), Err("queued"));
    // No request overtakes the one in the queue.
    assert_eq!(scene.get(0), Err("queued"));

    let mut scene = DispatchScene::new(1, 1);
    scene.requests_are_short();
    let places: Vec<_> = (0..8).map(|_| scene.get(0)).collect();
    assert_eq!(places[..4], [Ok((0, 0)); 4]);
    assert_eq!(places[4..], [Err("queued"), Err("queued"), Err("queued"), Err("full")]);
}

#[tokio::test]
async fn a_worker_that_computes_gets_no_second_request_until_it_has_waited_long() {
    let mut scene = DispatchScene::new(1, 2);
    assert_eq!(scene.get(0), Ok((0, 0)));
    // Nothing is known of it yet; then it is.
    assert_eq!(scene.get(0), Err("queued"));
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    let offered = scene.dispatch.queue.first().unwrap().offered;
    assert!(scene.dispatch.pump(offered + HOLD - Duration::from_nanos(1)).is_empty());
    let orders = scene.dispatch.pump(offered + HOLD);
    assert_eq!(orders.iter().map(|(thread, _)| thread.number).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn where_time_slices_are_short_a_request_soon_enters_a_worker_that_computes_one_for_long() {
    let mut scene = DispatchScene::new(1, 2);
    assert_eq!((scene.get(0), scene.get(0)), (Ok((0, 0)), Err("queued")));
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    let offered = scene.dispatch.queue.first().unwrap().offered;
    let mut pump = |has_short_slices, computes_long, waited: Duration| {
        scene.dispatch.has_short_slices = has_short_slices;
        scene.dispatch.worker(0).unwrap().computes_long = computes_long;
        scene.dispatch.pump(offered + waited).len()
    };
    assert_eq!(pump(true, true, SHORT_HOLD - Duration::from_nanos(1)), 0);
    assert_eq!(pump(false, true, SHORT_HOLD), 0);
    assert_eq!(pump(true, false, SHORT_HOLD), 0, "it may be done in a moment");
    assert_eq!(pump(true, true, SHORT_HOLD), 1);
}

#[tokio::test]
async fn where_threads_compute_at_the_same_time_each_has_one_request_while_others_compute_and_however_short_it_is() {
    let mut scene = DispatchScene::parallel(1, 2);
    scene.requests_are_short();
    assert_eq!(scene.get(0), Ok((0, 0)));
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    assert_eq!([scene.get(0), scene.get(0), scene.get(0)], [Ok((0, 1)), Err("queued"), Err("queued")]);
    assert_eq!(scene.done(0, 1, Duration::from_micros(50)).next.len(), 1, "and not both");
}

#[tokio::test]
async fn a_worker_whose_requests_all_wait_gets_further_threads_while_others_wait_for_them() {
    let mut scene = DispatchScene::new(2, 2);
    scene.dispatch.max_threads = 3;
    (0..2).for_each(|worker| scene.waits(worker));
    let places: Vec<_> = (0..6).map(|_| scene.get(0)).collect();
    assert_eq!(places[3..], [Ok((1, 1)), Err("queued"), Err("queued")]);
    (0..2).for_each(|worker| scene.waits(worker));
    let late = scene.dispatch.queue.first().unwrap().offered + GROW;
    let mut ordered = |now| {
        scene.dispatch.grow_threads(now);
        scene.dispatch.workers.iter().map(|worker| worker.awaited_threads().len()).collect::<Vec<_>>()
    };
    assert_eq!(ordered(late - Duration::from_nanos(1)), [0, 0]);
    assert_eq!(ordered(late), [1, 1], "up to three each");
    assert_eq!(ordered(late), [1, 1], "not again");
    assert_eq!([3, 2, 3].map(|number| scene.opens(0, number)), [false, true, false]);
    let orders = scene.dispatch.pump(late);
    assert_eq!(orders.iter().map(|(thread, _)| (thread.owner.worker, thread.number)).collect::<Vec<_>>(), [(0, 2)]);
}

/// A limit of threads or open files may have kept it from opening them.
#[tokio::test]
async fn a_worker_whose_threads_have_not_come_is_asked_again_after_a_while_for_the_same() {
    let mut scene = DispatchScene::new(1, 1);
    scene.dispatch.max_threads = 9;
    let (control, mut orders) = Control::new();
    scene.dispatch.worker(0).unwrap().control = Arc::new(control);
    assert_eq!([scene.get(0), scene.get(0), scene.get(0)], [Ok((0, 0)), Err("queued"), Err("queued")]);
    scene.waits(0);
    let late = scene.dispatch.queue.first().unwrap().offered + GROW;
    let mut asked = |now| {
        scene.dispatch.grow_threads(now);
        (scene.dispatch.worker(0).unwrap().awaited_threads(), std::iter::from_fn(|| orders.try_recv().ok()).count())
    };
    assert_eq!(asked(late), (1..2, 1));
    assert_eq!(asked(late + Duration::from_millis(59_999)), (1..2, 0));
    assert_eq!(asked(late + Duration::from_secs(60)), (1..2, 1));
    assert_eq!(asked(late + Duration::from_secs(61)), (1..2, 0));
}

#[tokio::test]
async fn a_worker_that_computes_short_requests_has_them_in_fewer_threads_until_it_waits() {
    let took = Duration::from_millis(1);
    let mut scene = DispatchScene::new(1, 4);
    scene.waits(0);
    (0..4).for_each(|thread| assert_eq!(scene.get(0), Ok((0, thread))));
    (0..3).for_each(|_| assert_eq!(scene.get(0), Err("queued")));
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    assert_eq!(scene.done(0, 0, took).next.len(), 1, "nothing is known of its requests");
    let interval = Interval { time: took, answered: 10 };
    (0..8).for_each(|_| scene.dispatch.worker(0).unwrap().concurrency.computed(interval, 4));
    let next = [0, 1, 2].map(|thread| scene.done(0, thread, took).next.len());
    assert_eq!(next, [0, 0, 1], "two at once");
    (0..2).for_each(|_| assert_eq!(scene.get(0), Err("queued")));
    assert_eq!(pump(&mut scene), []);
    scene.dispatch.worker(0).unwrap().activity = Activity::Waiting;
    assert_eq!(pump(&mut scene), [], "one sample is not enough");
    assert_eq!(scene.dispatch.pump(Instant::now() + HOLD).len(), 2, "they have waited for long");
    (0..2).for_each(|thread| assert!(scene.done(0, thread, took).next.is_empty()));
    assert_eq!(pump(&mut scene), []);
    scene.dispatch.worker(0).unwrap().lasting = 1;
    assert_eq!(pump(&mut scene), [(0, 0)], "one beside what keeps its thread");
    assert_eq!([scene.get(0), scene.get(0)], [Err("queued"), Err("queued")]);
    assert!(scene.dispatch.worker(0).unwrap().concurrency.raise(4));
    assert_eq!(pump(&mut scene), [(0, 1)]);
}

#[tokio::test]
async fn a_worker_that_waits_although_its_threads_have_as_many_requests_as_they_may_gets_one_in_a_further_thread() {
    let mut scene = DispatchScene::new(1, 4);
    scene.requests_are_short();
    let depth = scene.dispatch.depth();
    assert!(depth > 1);
    (0..depth).for_each(|_| assert_eq!(scene.get(0), Ok((0, 0))));
    (0..3).for_each(|_| assert_eq!(scene.get(0), Err("queued")));
    let waiting = |scene: &mut DispatchScene| {
        let worker = scene.dispatch.worker(0).unwrap();
        worker.activity = Activity::Waiting;
        worker.note_waiting(Interval { time: Duration::from_millis(1), answered: 5 }, true);
        pump(scene)
    };
    (1..PIPELINED_WAITS).for_each(|_| assert_eq!(waiting(&mut scene), []));
    assert_eq!(waiting(&mut scene), [(0, 1); 3]);
    (0..depth - 3).for_each(|_| assert_eq!(scene.get(0), Ok((0, 1))));
    (0..3).for_each(|_| assert_eq!(scene.get(0), Err("queued")));
    (1..PIPELINED_WAITS).for_each(|_| assert_eq!(waiting(&mut scene), [], "it is not known yet if that is enough"));
    scene.dispatch.worker(0).unwrap().full_waits = PIPELINED_WAITS;
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    assert_eq!(pump(&mut scene), []);
}

#[tokio::test]
async fn a_worker_whose_threads_compute_at_the_same_time_has_requests_in_all() {
    let placed_after_samples = |mut scene: DispatchScene| {
        (0..2).for_each(|_| assert!(scene.dispatch.worker(0).unwrap().take_thread().is_some()));
        for _ in 0..8 {
            let mut samples = scene.dispatch.begin_samples(Instant::now());
            let interval = Interval { time: Duration::from_millis(1), answered: 10 };
            samples.iter_mut().for_each(|sample| sample.found = Found::Computing(interval));
            assert_eq!(samples.len(), 1);
            scene.dispatch.end_samples(samples);
        }
        scene.waits(0);
        let placed = [(); 3].map(|()| scene.get(0));
        (placed, scene.done(0, 0, Duration::from_millis(1)).next.len())
    };
    let queued = Err("queued");
    assert_eq!(placed_after_samples(DispatchScene::new(1, 4)), ([queued; 3], 0));
    assert_eq!(placed_after_samples(DispatchScene::parallel(1, 4)), ([Ok((0, 2)), Ok((0, 3)), queued], 1));
}

/// After a time in which all requests waited for another service, as many as there are threads then could begin to
/// compute at once, and all time out.
#[tokio::test]
async fn further_threads_are_for_requests_that_wait() {
    let mut scene = DispatchScene::new(1, 1);
    scene.waits(0);
    assert_eq!(scene.dispatch.worker(0).unwrap().order_threads(1, 2, Instant::now()), 1);
    assert!(scene.opens(0, 1));
    assert_eq!([(); 4].map(|()| scene.get(0)), [Ok((0, 0)), Ok((0, 1)), Err("queued"), Err("queued")]);
    assert_eq!(scene.done(0, 1, Duration::from_millis(50)).next.len(), 1, "they wait");
    scene.dispatch.worker(0).unwrap().activity = Activity::Computing;
    assert!(scene.done(0, 1, Duration::from_millis(50)).next.is_empty());
    let late = scene.dispatch.queue.first().unwrap().offered + HOLD;
    assert!(scene.dispatch.pump(late).is_empty());
    scene.dispatch.worker(0).unwrap().streams = 1;
    assert_eq!(scene.dispatch.pump(late).len(), 1, "a stream computes little");
}

#[tokio::test]
async fn no_threads_are_added_where_one_is_free_or_where_a_worker_computes_or_leaves() {
    let now = Instant::now() + Duration::from_secs(1);
    let grown = |change: fn(&mut DispatchScene)| {
        let mut scene = DispatchScene::new(1, 1);
        scene.dispatch.max_threads = 9;
        assert_eq!([scene.get(0), scene.get(0)], [Ok((0, 0)), Err("queued")]);
        scene.waits(0);
        change(&mut scene);
        scene.dispatch.grow_threads(now);
        scene.dispatch.worker(0).unwrap().awaited_threads().len()
    };
    assert_eq!(grown(|_| ()), 1, "as many as it has");
    assert_eq!(grown(|scene| scene.dispatch.worker(0).unwrap().full_waits -= 1), 0, "it may have computed");
    assert_eq!(grown(|scene| scene.dispatch.worker(0).unwrap().is_leaving = true), 0);
    assert_eq!(grown(|scene| scene.dispatch.worker(0).unwrap().release(0, 1)), 0);
    assert_eq!(grown(|scene| scene.dispatch.queue.pause(Instant::now())), 0);
    assert_eq!(grown(|scene| scene.dispatch.is_closed = true), 0);
    assert_eq!(grown(|scene| scene.dispatch.max_threads = 1), 0);
}

/// In overload the first request of a queue would otherwise always begin when its time is almost over, and be
/// interrupted, which costs its worker.
#[tokio::test]
async fn a_request_begins_only_if_there_is_time_for_it() {
    let mut scene = DispatchScene::new(1, 1);
    assert_eq!(scene.get(0), Ok((0, 0)));
    let now = Instant::now();
    let (mut job, _reply) = job(Method::POST, 0);
    job.request.deadline = now + Duration::from_secs(10);
    job.request.queue_deadline = now + Duration::from_secs(3600);
    let _ = scene.dispatch.queue.push(job, now);
    assert!(scene.dispatch.overdue(now + Duration::from_millis(8900)).is_empty());
    assert_eq!(scene.dispatch.overdue(now + Duration::from_millis(9100)).len(), 1);
}

/// Its requests are spread over the I/O threads, and each worker takes those of its own first, however long all wait.
#[tokio::test]
async fn a_worker_takes_requests_of_its_own_io_thread_first_as_long_as_they_came_at_almost_the_same_time() {
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.queue = Backlog::new(100, Instant::now());
    assert_eq!((scene.get(0), scene.get(1)), (Ok((0, 0)), Ok((1, 0))));
    // All have waited for long.
    let start = Instant::now() - Duration::from_millis(50);
    let waiting = [(1, 0), (1, 0), (0, 1), (1, 5), (0, 5)];
    for (io_thread, after_ms) in waiting {
        scene.wait(Method::GET, io_thread, start + Duration::from_millis(after_ms), start);
    }
    let mut next = || -> Vec<_> {
        let next = scene.done(0, 0, Duration::from_millis(5)).next;
        next.iter().map(|job| (job.io_thread, (job.offered - start).as_millis())).collect()
    };
    assert_eq!(next(), [(0, 1)], "of its own I/O thread, and hardly younger than the first");
    assert_eq!(next(), [(1, 0)], "the one of its own I/O thread came 5 ms later");
    assert_eq!((next(), next()), (vec![(1, 0)], vec![(0, 5)]));
}

#[tokio::test]
async fn a_request_of_the_own_io_thread_overtakes_one_that_came_at_most_two_milliseconds_before_it() {
    for (later, next) in [(OVERTAKES, 0), (OVERTAKES + Duration::from_nanos(1), 1)] {
        let mut scene = DispatchScene::new(1, 1);
        assert_eq!(scene.get(0), Ok((0, 0)));
        let start = Instant::now();
        for (io_thread, offered) in [(1, start), (0, start + later)] {
            scene.wait(Method::GET, io_thread, offered, start);
        }
        let taken = scene.done(0, 0, Duration::from_millis(5)).next;
        assert_eq!(taken.iter().map(|job| job.io_thread).collect::<Vec<_>>(), [next], "{later:?}");
    }
}

#[tokio::test]
async fn who_has_answered_gets_what_waits_in_its_order() {
    let mut scene = DispatchScene::new(1, 1);
    assert_eq!(scene.get(0), Ok((0, 0)));
    for method in [Method::PUT, Method::GET] {
        assert_eq!(scene.admit(method, 7), Err("queued"));
    }
    for expected in [Method::PUT, Method::GET] {
        let next = scene.done(0, 0, Duration::from_millis(5)).next;
        assert_eq!(next.iter().map(|job| job.request.method.clone()).collect::<Vec<_>>(), [expected]);
    }
    assert!(scene.done(0, 0, Duration::from_millis(5)).next.is_empty());
    assert_eq!(scene.dispatch.worker(0).unwrap().busy, 0);
}

#[tokio::test]
async fn a_leaving_worker_gets_nothing_and_says_when_it_is_done() {
    let mut scene = DispatchScene::new(1, 1);
    assert_eq!(scene.get(0), Ok((0, 0)));
    scene.dispatch.worker(0).unwrap().is_leaving = true;
    assert_eq!(scene.get(0), Err("queued"));
    let Completion { next, has_left: is_done, .. } = scene.done(0, 0, Duration::from_millis(5));
    assert!(next.is_empty() && is_done);
}

#[tokio::test]
async fn what_comes_back_stands_first_unless_nobody_waits_for_it() {
    let mut scene = DispatchScene::new(0, 0);
    let (first, _reply) = job(Method::GET, 1);
    let (second, gone) = job(Method::GET, 2);
    let (third, _other) = job(Method::GET, 3);
    drop(gone);
    assert_eq!(scene.get(9), Err("queued"));
    scene.dispatch.put_back(vec![first, second, third], Instant::now());
    let order: Vec<usize> =
        std::iter::from_fn(|| scene.dispatch.queue.pop(Instant::now())).map(|job| job.io_thread).collect();
    assert_eq!(order, [1, 3, 9]);
}

#[tokio::test]
async fn in_a_pause_nothing_is_begun_and_all_wait() {
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.queue.pause(Instant::now());
    assert_eq!(scene.get(0), Err("queued"));
    assert!(scene.dispatch.pump(Instant::now()).is_empty());
    assert!(scene.dispatch.lacks_workers(Instant::now() + HOLD).is_none(), "no worker would be of use");
    assert!(scene.dispatch.queue.resume(Instant::now()));
    assert_eq!(scene.dispatch.pump(Instant::now()).len(), 1);
}

#[tokio::test]
async fn one_worker_at_a_time_goes_out_and_gets_nothing_meanwhile() {
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.workers.iter_mut().for_each(|worker| worker.has_out_of_band = true);
    assert_eq!((scene.get(0), scene.get(1)), (Ok((0, 0)), Ok((1, 0))));
    assert!(scene.done(0, 0, Duration::ZERO).begins_out_of_band);
    assert!(!scene.done(1, 0, Duration::ZERO).begins_out_of_band, "one is out already");
    assert_eq!((scene.get(0), scene.get(0)), (Ok((1, 0)), Err("queued")));
    scene.dispatch.worker(0).unwrap().out_of_band = None;
    assert_eq!(scene.dispatch.pump(Instant::now()).len(), 1);
}

#[tokio::test]
async fn a_worker_says_when_it_has_served_its_number_in_which_requests_of_the_server_itself_count() {
    let mut scene = DispatchScene::new(1, 1);
    scene.dispatch.worker(0).unwrap().quota = Some(2);
    let is_expired = |scene: &mut DispatchScene| scene.done(0, 0, Duration::ZERO).is_worker_expired;
    assert!(!is_expired(&mut scene));
    scene.dispatch.discount(0);
    assert_eq!([is_expired(&mut scene), is_expired(&mut scene)], [true, false]);
    let worker = scene.dispatch.worker(0).unwrap();
    assert_eq!(worker.served - worker.own, 2, "operators see those of clients");
    assert_eq!(scene.dispatch.served, 2);
}

#[tokio::test]
async fn workers_are_missed_when_the_first_has_waited_or_there_is_none() {
    let mut scene = DispatchScene::new(1, 1);
    assert_eq!((scene.get(0), scene.get(0)), (Ok((0, 0)), Err("queued")));
    let now = Instant::now();
    assert_eq!(scene.dispatch.lacks_workers(now), None);
    assert!(scene.dispatch.lacks_workers(now + 2 * GROW).is_some());
    scene.dispatch.workers.clear();
    assert!(scene.dispatch.lacks_workers(now).is_some());
}

#[tokio::test]
async fn where_only_computing_adds_workers_all_have_to_compute_for_long() {
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.growth = Growth::Computing;
    (0..20).for_each(|_| scene.dispatch.service_time.observe(Duration::from_millis(1)));
    assert_eq!((scene.get(0), scene.get(0), scene.get(0)), (Ok((0, 0)), Ok((1, 0)), Err("queued")));
    let later = Instant::now() + 2 * GROW;
    let mut lacks = |worker: usize, computing| {
        scene.dispatch.workers[worker].computing = computing;
        scene.dispatch.lacks_workers(later).is_some()
    };
    assert!(!lacks(0, COMPUTES_LONG), "one of two");
    assert!(!lacks(1, COMPUTES_LONG / 2), "not for long");
    assert!(lacks(1, COMPUTES_LONG));
    scene.dispatch.workers[1].out_of_band = Some(later);
    assert_eq!(scene.dispatch.lacks_workers(later), None, "it collects garbage, and takes requests in a moment");
    scene.dispatch.workers[1].out_of_band = None;
    scene.dispatch.loads_in_workers = true;
    assert_eq!(scene.dispatch.lacks_workers(later), None, "another one would have to load the application");
    scene.dispatch.loads_in_workers = false;
    scene.dispatch.is_closed = true;
    assert_eq!(scene.dispatch.lacks_workers(later), None, "it ends");
    scene.dispatch.is_closed = false;
    (0..500).for_each(|_| scene.dispatch.service_time.observe(COMPUTES_LONG));
    assert_eq!(scene.dispatch.lacks_workers(later), None, "all requests take as long");
    (0..500).for_each(|_| scene.dispatch.service_time.observe(Duration::from_millis(1)));
    assert!(scene.dispatch.lacks_workers(later).is_some());
    scene.dispatch.is_parallel = true;
    assert_eq!(scene.dispatch.lacks_workers(later), None, "its threads compute at the same time");
    scene.dispatch.workers.clear();
    assert!(scene.dispatch.lacks_workers(later).is_some(), "nothing is answered without a worker");
}

/// It does not take requests again in a moment.
#[tokio::test]
async fn where_only_computing_adds_workers_one_that_does_not_run_keeps_none_from_being_added() {
    let mut scene = DispatchScene::new(2, 1);
    scene.dispatch.growth = Growth::Computing;
    (0..20).for_each(|_| scene.dispatch.service_time.observe(Duration::from_millis(1)));
    assert_eq!((scene.get(0), scene.get(0), scene.get(0)), (Ok((0, 0)), Ok((1, 0)), Err("queued")));
    scene.dispatch.workers[1].computing = COMPUTES_LONG;
    let later = Instant::now() + 2 * GROW;
    assert_eq!(scene.dispatch.lacks_workers(later), None, "the first one may be done in a moment");
    assert!(scene.dispatch.avoid(&[0], later));
    assert!(scene.dispatch.lacks_workers(later).is_some());
}

#[tokio::test]
async fn where_only_computing_adds_workers_only_computing_keeps_them() {
    let mut scene = DispatchScene::new(2, 1);
    assert_eq!((scene.get(0), scene.get(0)), (Ok((0, 0)), Ok((1, 0))));
    assert_eq!(scene.dispatch.needed_workers(), 2);
    scene.dispatch.growth = Growth::Computing;
    (0..20).for_each(|_| scene.dispatch.service_time.observe(Duration::from_millis(1)));
    assert_eq!(scene.dispatch.needed_workers(), 0, "they may wait for something");
    scene.dispatch.workers[1].computing = COMPUTES_LONG;
    assert_eq!(scene.dispatch.needed_workers(), 1);
    (scene.dispatch.workers[1].computing, scene.dispatch.workers[1].computes_long) = (Duration::ZERO, true);
    assert_eq!(scene.dispatch.needed_workers(), 1, "it has answered another one meanwhile");
}

/// Otherwise the number of workers would never fall, or would fall while all are busy now and then.
#[tokio::test]
async fn workers_that_were_busy_at_once_were_needed_until_one_became_idle_unless_only_computing_counts() {
    let minute = Duration::from_secs(60);
    for (growth, needed) in [(Growth::Waiting, 2), (Growth::Computing, 0)] {
        let mut scene = DispatchScene::new(2, 1);
        scene.dispatch.growth = growth;
        scene.dispatch.utilization.grown(2, Instant::now() - 2 * minute);
        assert_eq!((scene.get(0), scene.get(1)), (Ok((0, 0)), Ok((1, 0))));
        for worker in 0..2 {
            scene.done(worker, 0, Duration::from_millis(5));
        }
        assert_eq!(scene.dispatch.utilization.needed(0, minute, Instant::now()), needed);
    }
}

#[tokio::test]
async fn what_only_stood_behind_another_request_runs_again_however_often_its_worker_dies() {
    let mut scene = DispatchScene::new(1, 1);
    let (mut first, mut second) = (job(Method::GET, 0), job(Method::GET, 0));
    for death in 1..=4 {
        let thread = scene.thread(0, 0);
        assert!(thread.push(first.0).is_ok() && thread.push(second.0).is_ok());
        let mut left = thread.close(engine::Fault::Stopping).into_iter();
        let (
            Some(Unfinished { job: mut one, has_begun: true, .. }),
            Some(Unfinished { job: mut two, has_begun: false, .. }),
        ) = (left.next(), left.next())
        else {
            panic!("the first has begun, the second has not");
        };
        assert_eq!((one.may_replay(true, Death::Crash), two.may_replay(false, Death::Crash)), (death <= 2, true));
        (first.0, second.0) = (one, two);
        scene = DispatchScene::new(1, 1);
    }
}

#[tokio::test]
async fn a_last_try_rests_first_and_counts_as_waiting() {
    let mut scene = DispatchScene::new(1, 1);
    let (mut job, _reply) = job(Method::GET, 0);
    let tries = [(); 2].map(|()| (job.may_replay(true, Death::Crash), job.is_last_try()));
    assert_eq!(tries, [(true, false), (true, true)]);
    let now = Instant::now();
    scene.dispatch.rest(job, now);
    scene.dispatch.wake(now + REST / 2);
    assert!(scene.dispatch.pump(now).is_empty() && scene.dispatch.is_active());
    assert_eq!((scene.dispatch.waiting(), scene.dispatch.queue.len()), (1, 0));
    scene.dispatch.wake(now + REST);
    assert_eq!((scene.dispatch.resting.len(), scene.dispatch.pump(now).len()), (0, 1));
}

/// A client that is forgotten here gets no answer when all workers end.
#[tokio::test]
async fn what_no_worker_has_is_in_the_queue_or_pauses_before_its_last_try_or_waits_for_it() {
    let mut scene = DispatchScene::new(0, 0);
    assert_eq!(scene.get(0), Err("queued"));
    suspect(&mut scene);
    let (resting, _reply) = job(Method::GET, 0);
    scene.dispatch.rest(resting, Instant::now());
    assert_eq!((scene.dispatch.suspects.len(), scene.dispatch.waiting()), (1, 3));
    assert_eq!((scene.dispatch.take_waiting().len(), scene.dispatch.waiting()), (3, 0));
}

/// Adds a request that has ended two workers and whose pause is over.
fn suspect(scene: &mut DispatchScene) {
    let (mut job, reply) = job(Method::GET, 0);
    assert!(job.may_replay(true, Death::Crash) && job.may_replay(true, Death::Crash));
    scene.replies.push(reply);
    let now = Instant::now();
    scene.dispatch.rest(job, now);
    scene.dispatch.wake(now + REST);
}

/// Sends waiting requests to all threads that can take one; returns their workers and threads.
fn pump(scene: &mut DispatchScene) -> Vec<(u32, u32)> {
    let orders = scene.dispatch.pump(Instant::now());
    orders.into_iter().map(|(thread, _)| (thread.owner.worker, thread.number)).collect()
}

#[tokio::test]
async fn a_last_try_has_a_worker_to_itself() {
    let mut scene = DispatchScene::parallel(2, 2);
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), [(0, 0)]);
    assert_eq!([scene.get(0), scene.get(0)], [Ok((1, 0)), Ok((1, 1))]);
    assert_eq!(scene.get(0), Err("queued"), "the other thread of the first worker stays free");
    assert_eq!(scene.done(0, 0, Duration::ZERO).next.len(), 1, "it serves all again");
    assert_eq!(scene.get(0), Ok((0, 1)));
}

#[tokio::test]
async fn a_busy_worker_is_emptied_for_a_last_try_while_others_serve() {
    let mut scene = DispatchScene::parallel(2, 2);
    assert_eq!([scene.get(0), scene.get(1), scene.get(0)], [Ok((0, 0)), Ok((1, 0)), Ok((0, 1))]);
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), []);
    assert_eq!(scene.get(1), Err("queued"), "the second worker, with one request, is emptied");
    assert_eq!(scene.done(0, 1, Duration::ZERO).next.len(), 1, "the first worker takes requests");
    let next = scene.done(1, 0, Duration::ZERO).next;
    assert!(next.len() == 1 && next[0].is_last_try());
    assert_eq!(scene.get(1), Err("queued"));
}

/// It may be what ends workers: the other request would go with it.
#[tokio::test]
async fn a_last_try_waits_until_its_worker_has_answered_all_that_it_has() {
    let mut scene = DispatchScene::parallel(1, 2);
    assert_eq!([scene.get(0), scene.get(0)], [Ok((0, 0)), Ok((0, 1))]);
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), []);
    assert!(scene.done(0, 0, Duration::ZERO).next.is_empty(), "the other request runs");
    let next = scene.done(0, 1, Duration::ZERO).next;
    assert!(next.len() == 1 && next[0].is_last_try());
}

#[tokio::test]
async fn a_worker_is_not_emptied_for_a_client_that_has_gone() {
    let mut scene = DispatchScene::parallel(1, 2);
    assert_eq!(scene.get(0), Ok((0, 0)));
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), []);
    scene.replies.pop();
    assert_eq!(pump(&mut scene), []);
    assert_eq!(scene.get(0), Ok((0, 1)));
}

/// Otherwise it would run beside others.
#[tokio::test]
async fn a_last_try_whose_worker_died_before_it_was_sent_waits_for_another_one_to_itself() {
    let mut scene = DispatchScene::new(1, 1);
    suspect(&mut scene);
    let now = Instant::now();
    let jobs: Vec<_> = scene.dispatch.pump(now).into_iter().map(|(_, job)| job).collect();
    assert_eq!(jobs.len(), 1);
    scene.dispatch.workers.clear();
    scene.dispatch.put_back(jobs, now);
    assert_eq!((scene.dispatch.suspects.len(), scene.dispatch.queue.len()), (1, 0));
}

/// The request may be what ends workers, and its client no longer waits for the answer.
#[tokio::test]
async fn a_last_try_whose_client_has_gone_does_not_begin_when_its_worker_is_empty() {
    let mut scene = DispatchScene::parallel(1, 2);
    assert_eq!(scene.get(0), Ok((0, 0)));
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), []);
    scene.replies.pop();
    assert!(scene.done(0, 0, Duration::ZERO).next.is_empty());
    assert_eq!(scene.get(0), Ok((0, 0)));
}

#[tokio::test]
async fn a_last_try_does_not_wait_for_a_worker_that_does_not_run() {
    let mut scene = DispatchScene::parallel(2, 2);
    assert_eq!([scene.get(0), scene.get(1), scene.get(0)], [Ok((0, 0)), Ok((1, 0)), Ok((0, 1))]);
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), [], "the second worker is emptied");
    assert!(scene.dispatch.avoid(&[1], Instant::now()));
    assert_eq!(pump(&mut scene), [], "now it is the first one");
    assert!(scene.done(1, 0, Duration::ZERO).next.is_empty());
    assert!(scene.done(0, 1, Duration::ZERO).next.is_empty());
    let next = scene.done(0, 0, Duration::ZERO).next;
    assert!(next.len() == 1 && next[0].is_last_try());
}

/// What it runs may be a stream without an end.
#[tokio::test]
async fn a_worker_that_does_not_become_empty_for_a_last_try_takes_requests_again() {
    let mut scene = DispatchScene::parallel(1, 2);
    assert_eq!(scene.get(0), Ok((0, 0)));
    suspect(&mut scene);
    let now = Instant::now();
    assert!(scene.dispatch.pump(now).is_empty());
    assert_eq!(scene.get(0), Err("queued"));
    assert!(scene.dispatch.end_isolation(now + RESERVED / 2).is_empty());
    scene.dispatch.queue.pause(now);
    assert!(scene.dispatch.end_isolation(now + RESERVED).is_empty(), "in a pause nothing begins");
    assert!(scene.dispatch.queue.resume(now));
    let given_up = scene.dispatch.end_isolation(now + RESERVED);
    assert!(given_up.len() == 1 && given_up[0].is_last_try());
    assert_eq!(pump(&mut scene), [(0, 1)]);
    assert_eq!(scene.dispatch.waiting(), 0);
}

/// It may be a stream without an end.
#[tokio::test]
async fn a_last_try_that_goes_on_does_not_keep_its_worker_to_itself_for_ever() {
    let mut scene = DispatchScene::parallel(1, 2);
    suspect(&mut scene);
    let now = Instant::now();
    assert_eq!(scene.dispatch.pump(now).len(), 1);
    assert_eq!(scene.get(0), Err("queued"));
    assert!(scene.dispatch.end_isolation(now + RESERVED).is_empty(), "it runs on");
    assert_eq!(pump(&mut scene), [(0, 1)]);
}

#[tokio::test]
async fn a_worker_that_leaves_is_not_kept_for_a_last_try() {
    let mut scene = DispatchScene::new(2, 1);
    assert_eq!([scene.get(0), scene.get(0)], [Ok((0, 0)), Ok((1, 0))]);
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), []);
    scene.dispatch.workers[0].is_leaving = true;
    assert_eq!(pump(&mut scene), []);
    assert!(scene.done(1, 0, Duration::ZERO).next[0].is_last_try());
}

#[tokio::test]
async fn in_a_pause_no_last_try_begins_either() {
    let mut scene = DispatchScene::new(1, 1);
    assert_eq!(scene.get(0), Ok((0, 0)));
    suspect(&mut scene);
    assert_eq!(pump(&mut scene), [], "its worker is emptied first");
    scene.dispatch.queue.pause(Instant::now());
    assert!(scene.done(0, 0, Duration::ZERO).next.is_empty());
    assert_eq!(pump(&mut scene), []);
    assert_eq!(scene.dispatch.waiting(), 1);
    assert!(scene.dispatch.queue.resume(Instant::now()));
    assert_eq!(pump(&mut scene), [(0, 0)]);
}

#[tokio::test]
async fn a_last_try_without_any_worker_asks_for_one_and_ends_with_its_time() {
    let mut scene = DispatchScene::new(0, 0);
    suspect(&mut scene);
    let now = Instant::now();
    assert!(scene.dispatch.lacks_workers(now).is_some());
    assert!(scene.dispatch.overdue(now + Duration::from_secs(5)).is_empty());
    assert_eq!(scene.dispatch.overdue(now + Duration::from_secs(11)).len(), 1);
    assert_eq!(scene.dispatch.waiting(), 0);
}

#[tokio::test]
async fn a_short_request_is_handed_ahead_to_a_worker_of_its_own_io_thread_until_that_has_as_many_as_it_may() {
    let mut scene = DispatchScene::new(2, 1);
    scene.requests_are_short();
    assert_eq!((scene.get(0), scene.get(1)), (Ok((0, 0)), Ok((1, 0))));
    let places: Vec<_> = (0..4).map(|_| scene.get(1)).collect();
    assert_eq!(places, [Ok((1, 0)), Ok((1, 0)), Ok((1, 0)), Ok((0, 0))]);
}

#[tokio::test]
async fn a_short_request_that_has_waited_for_long_gets_a_thread_of_its_own() {
    let mut scene = DispatchScene::new(1, 2);
    scene.requests_are_short();
    let places: Vec<_> = (0..5).map(|_| scene.get(0)).collect();
    assert_eq!(places[3..], [Ok((0, 0)), Err("queued")], "one thread is enough for as many");
    let orders = scene.dispatch.pump(Instant::now() + 2 * HOLD);
    assert_eq!(orders.iter().map(|(thread, _)| thread.number).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn of_workers_that_wait_the_one_with_the_fewest_requests_gets_the_next() {
    let mut scene = DispatchScene::new(2, 3);
    assert_eq!((scene.get(0), scene.get(1)), (Ok((0, 0)), Ok((1, 0))));
    scene.dispatch.workers.iter_mut().for_each(|worker| worker.activity = Activity::Waiting);
    assert_eq!((scene.get(0), scene.get(0)), (Ok((0, 1)), Ok((1, 1))));
    assert_eq!(scene.get(1), Ok((1, 2)), "both have as many, and the answers of this one arrive where its client is");
}

/// The worker may die with what stands behind another request, and that must not have run then.
#[tokio::test]
async fn what_is_not_safe_is_not_taken_from_the_queue_behind_another_request() {
    let mut scene = DispatchScene::new(1, 1);
    scene.dispatch.queue = Backlog::new(100, Instant::now());
    assert_eq!(scene.get(0), Ok((0, 0)));
    scene.requests_are_short();
    let thread = scene.thread(0, 0);
    let next = |scene: &mut DispatchScene, waiting: &[(Method, usize)]| -> Vec<(Method, usize)> {
        let now = Instant::now();
        for (method, io_thread) in waiting {
            scene.wait(method.clone(), *io_thread, now, now);
        }
        let next = scene.dispatch.done(&thread, Duration::from_micros(50)).next;
        (1..next.len()).for_each(|_| drop(scene.dispatch.release(&thread, 1)));
        next.iter().map(|job| (job.request.method.clone(), job.io_thread)).collect()
    };
    let waiting = [(Method::GET, 0), (Method::POST, 0), (Method::GET, 0)];
    assert_eq!(next(&mut scene, &waiting), [(Method::GET, 0)]);
    assert_eq!(next(&mut scene, &[]), [(Method::POST, 0), (Method::GET, 0)]);
    let waiting = [(Method::GET, 0), (Method::GET, 9), (Method::POST, 0)];
    assert_eq!(next(&mut scene, &waiting), [(Method::GET, 0), (Method::GET, 9)], "nor is it preferred");
}

/// Such short requests are sent ahead, so that a thread is never without one: the newest must not wait for that.
#[tokio::test]
async fn under_overload_every_second_of_the_requests_that_are_sent_ahead_is_the_newest_too() {
    let mut scene = DispatchScene::new(1, 1);
    scene.requests_are_short();
    assert_eq!([scene.get(0), scene.get(0), scene.get(0), scene.get(0)], [Ok((0, 0)); 4]);
    let start = Instant::now() - Duration::from_secs(4);
    scene.dispatch.queue = Backlog::new(1000, start);
    // 150 have come per second, and 50 have begun. The newest is one that must not stand behind another.
    let wait = |scene: &mut DispatchScene, number: u32, method: Method| {
        let now = start + Duration::from_millis(10) * number;
        if number.is_multiple_of(2) {
            scene.dispatch.queue.count_begun(now);
        }
        scene.wait(method, 0, now, now);
    };
    (0..399).for_each(|number| wait(&mut scene, number, Method::GET));
    wait(&mut scene, 399, Method::POST);
    let next = |scene: &mut DispatchScene| -> Vec<u128> {
        let next = scene.done(0, 0, Duration::from_micros(50)).next;
        next.iter().map(|job| (job.offered - start).as_millis() / 10).collect()
    };
    assert_eq!((next(&mut scene), next(&mut scene)), (vec![0], vec![1]), "the newest has to wait for an empty thread");
    wait(&mut scene, 400, Method::GET);
    assert_eq!((next(&mut scene), next(&mut scene), next(&mut scene)), (vec![400], vec![2], vec![3]));
}

#[tokio::test]
async fn a_worker_goes_out_only_if_it_has_answered_something_since_and_is_missed_when_it_stays_away() {
    let mut scene = DispatchScene::new(1, 1);
    scene.dispatch.workers[0].has_out_of_band = true;
    let thread = scene.thread(0, 0);
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert!(scene.dispatch.done(&thread, Duration::ZERO).begins_out_of_band);
    let (second, now) = (Duration::from_secs(1), Instant::now());
    scene.dispatch.workers[0].out_of_band = Some(now);
    assert_eq!(scene.dispatch.out_of_band_for(second, now + second), []);
    assert_eq!(scene.dispatch.out_of_band_for(second, now + 2 * second), [(0, 1)]);
    scene.dispatch.workers[0].out_of_band = None;
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert!(!scene.dispatch.release(&thread, 1).begins_out_of_band, "that was withdrawn from it");
    assert_eq!(scene.get(0), Ok((0, 0)));
    assert!(scene.dispatch.done(&thread, Duration::ZERO).begins_out_of_band);
}

#[tokio::test]
async fn only_the_part_of_a_pause_in_which_a_request_has_waited_is_added_to_its_time() {
    let mut scene = DispatchScene::new(0, 0);
    let (now, second) = (Instant::now(), Duration::from_secs(1));
    scene.dispatch.queue.pause(now);
    let (mut job, _reply) = job(Method::GET, 0);
    job.offered = now + 4 * second;
    let before = job.request.queue_deadline;
    assert!(scene.dispatch.queue.push(job, now + 4 * second).is_ok());
    assert!(scene.dispatch.queue.resume(now + 5 * second));
    assert_eq!(scene.dispatch.queue.first().unwrap().request.queue_deadline, before + second);
}

/// When its worker dies, the time for which it may wait in the queue may be over.
#[tokio::test]
async fn a_request_whose_worker_has_died_may_wait_for_another_one_until_its_deadline() {
    let mut scene = DispatchScene::new(0, 0);
    let now = Instant::now();
    let (mut job, _reply) = job(Method::GET, 0);
    job.request.queue_deadline = now;
    let deadline = job.request.deadline;
    assert!(job.may_replay(true, Death::Crash));
    scene.dispatch.put_back(vec![job], now);
    assert!(scene.dispatch.overdue(deadline - Duration::from_millis(1)).is_empty());
    assert_eq!(scene.dispatch.overdue(deadline).len(), 1);
}

/// The access log, the recorder and the metrics have the time.
#[tokio::test]
async fn a_request_that_no_worker_took_in_time_says_for_how_long_it_has_waited() {
    let time = Duration::from_secs(3);
    for is_paused in [false, true] {
        let (mut get, reply) = job(Method::GET, 0);
        get.offered -= time;
        get.expire(Instant::now(), is_paused);
        let answer = reply.await;
        let waited = match answer.result {
            Err(engine::Fault::QueueWait(waited)) if !is_paused => waited,
            Err(engine::Fault::QueuePaused(waited)) if is_paused => waited,
            other => panic!("{other:?}"),
        };
        assert!(waited >= time && answer.queued >= time, "{waited:?}, {:?}", answer.queued);
    }
}

/// A worker would have a larger one in its buffer.
#[tokio::test]
async fn a_body_of_more_than_half_a_mebibyte_is_passed_as_a_file() {
    for (size, is_file) in [(512 << 10, false), ((512 << 10) + 1, true)] {
        let (responder, _reply) = reply::pair();
        let input = engine::Input::Memory(vec![b'x'; size].into());
        let job = Job::new(Request { input, ..Request::sample(Method::POST, "/") }, responder, 0).unwrap();
        assert_eq!(matches!(job.request.input, engine::Input::File(..)), is_file, "{size} bytes");
        assert_eq!(job.request.input.len(), Some(size as u64));
    }
}

#[tokio::test]
async fn a_death_by_the_kernel_counts_for_less_and_what_must_not_run_twice_never_does() {
    let (mut get, _get) = job(Method::GET, 0);
    let tries: Vec<(bool, bool)> =
        (0..7).map(|_| (get.may_replay(true, Death::OutOfMemory), get.is_last_try())).collect();
    let not_last = [(true, false); 3];
    assert_eq!(tries[..3], not_last);
    assert_eq!(tries[3..], [(true, true), (true, true), (true, true), (false, true)]);
    let (mut post, _post) = job(Method::POST, 0);
    assert!(!post.may_replay(false, Death::Crash), "its worker may have begun it");
    let (mut taken, _taken) = job(Method::GET, 0);
    taken.is_taken = true;
    assert!(!taken.may_replay(true, Death::Crash), "the application has had its connection");
    let (mut answered, _answered) = job(Method::GET, 0);
    answered.answer(Err(engine::Fault::Stopping));
    assert!(!answered.may_replay(true, Death::Crash));
}
