//! Orders of an operator, and their answers.

use super::super::scene::{MOLD, Scene, load, pid, policy};
use super::*;
use crate::fleet::event::Event;

/// Worker 1 serves, worker 2 boots and worker 3 has only been ordered.
fn scene() -> Scene {
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::Scale { min: 3, max: 3, loads: Vec::new() });
    scene.feed(Event::Fill);
    scene.boot(MOLD, 2);
    scene
}

fn ok(text: &str) -> String {
    format!("Answer(Ok({text:?}))")
}

fn refused(text: &str) -> String {
    format!("Answer(Err({text:?}))")
}

fn end(worker: u32) -> Event {
    Event::EndWorker { worker, now: false, is_replaced: true }
}

fn kill(worker: u32) -> Event {
    Event::EndWorker { worker, now: true, is_replaced: true }
}

/// The orders that end a worker which is not to be replaced.
const FOR_GOOD: [fn(u32) -> Event; 2] = [
    |worker| Event::EndWorker { worker, now: false, is_replaced: false },
    |worker| Event::EndWorker { worker, now: true, is_replaced: false },
];

#[test]
fn a_worker_is_ended_when_it_has_finished() {
    let mut scene = scene();
    let ends = format!("worker 1 (pid {}) ends when it has finished what it runs", pid(1));
    assert_eq!(scene.feed(end(1)), ["Retire(1, Order)".to_owned(), ok(&ends)]);
    assert!(scene.ready().is_empty());
    let boots = format!("worker 2 (pid {}) is booting: it can only be ended at once", pid(2));
    assert_eq!(scene.feed(end(2)), [refused(&boots)]);
    assert_eq!(scene.feed(end(3)), [refused("worker 3 is not there yet")]);
    assert_eq!(scene.feed(end(9)), [refused("there is no worker 9: there are 1, 2, 3")]);
}

#[test]
fn a_worker_is_ended_at_once_whatever_it_does() {
    let mut scene = scene();
    for worker in [1, 2] {
        let killed = format!("worker {worker} (pid {}) was killed", pid(worker));
        let done = [format!("Mark({worker}, Order)"), format!("Kill({})", pid(worker)), ok(&killed)];
        assert_eq!(scene.feed(kill(worker)), done);
    }
    assert_eq!(scene.feed(kill(3)), [refused("worker 3 is not there yet")]);
    assert_eq!(Scene::new(policy(1, 1)).feed(kill(3)), [refused("there is no worker 3: there is none")]);
}

#[test]
fn a_worker_that_is_not_to_be_replaced_has_no_successor_unless_it_is_the_only_one_that_serves() {
    for order in FOR_GOOD {
        let mut scene = Scene::serving(policy(2, 3));
        scene.feed(order(1));
        scene.feed(Event::Fill);
        scene.worker_ends(1);
        assert_eq!(scene.feed(Event::Fill), [""; 0]);
        assert_eq!((scene.ready(), scene.fleet.wanted(), scene.fleet.min_workers()), (vec![2], 1, 1));
        scene.feed(order(2));
        scene.worker_ends(2);
        assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 3 }}")]);
    }
}

#[test]
fn one_that_has_a_successor_already_leaves_no_place_empty() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    scene.fill_and_serve();
    assert_eq!(scene.ready(), [1, 2, 3]);
    scene.feed(Event::EndWorker { worker: 1, now: true, is_replaced: false });
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.worker_ends(1);
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    assert_eq!((scene.ready(), scene.fleet.wanted()), (vec![2, 3], 2));
}

/// The budget of workers that applications share (`--total-workers`) counts the places.
#[test]
fn a_place_is_held_until_its_worker_has_ended_only_where_it_was_given_up() {
    let places = |scene: &Scene| (scene.fleet.wanted(), scene.fleet.places_held());
    for order in [FOR_GOOD[0], FOR_GOOD[1], end] {
        let mut scene = Scene::serving(policy(2, 2));
        scene.feed(Event::Expired(1, ExitReason::MaxRequests));
        scene.fill_and_serve();
        scene.feed(order(1));
        assert_eq!(places(&scene), (2, 2), "its successor has its place");

        let mut scene = Scene::serving(policy(2, 2));
        scene.feed(Event::Leaving(1, ExitReason::Recycle));
        scene.feed(order(1));
        assert_eq!(places(&scene), (2, 2), "its successor will have it");

        let mut scene = Scene::serving(policy(2, 2));
        scene.feed(Event::Scale { min: 1, max: 1, loads: vec![load(1, 1), load(2, 0)] });
        assert_eq!(places(&scene), (1, 2));
        scene.feed(order(2));
        assert_eq!(places(&scene), (1, 2), "it was given up before");
        scene.worker_ends(2);
        assert_eq!(places(&scene), (1, 1));
    }
    for order in FOR_GOOD {
        let mut scene = Scene::serving(policy(2, 2));
        scene.feed(order(1));
        assert_eq!(places(&scene), (1, 2));
        scene.worker_ends(1);
        assert_eq!(places(&scene), (1, 1));
    }
}

#[test]
fn all_that_serve_are_replaced() {
    let mut scene = scene();
    scene.serve(MOLD, 2);
    assert_eq!(scene.feed(Event::Recycle), [ok("replacing 2 workers, one at a time")]);
    assert_eq!(scene.fleet.expired, [(1, ExitReason::Recycle), (2, ExitReason::Recycle)]);
}

#[test]
fn a_worker_that_serves_is_asked_for_its_backtraces() {
    let mut scene = scene();
    let ask = format!("AskForBacktraces {{ worker: 1, pid: {} }}", pid(1));
    assert_eq!(scene.feed(Event::Backtraces(1)), [ask]);
    assert_eq!(scene.feed(Event::Backtraces(2)), [refused("worker 2 is booting")]);
    assert_eq!(scene.feed(Event::Backtraces(9)), [refused("there is no worker 9: there are 1, 2, 3")]);
}

#[test]
fn workers_that_leave_anyway_are_not_counted_among_those_that_are_replaced() {
    let mut scene = scene();
    scene.serve(MOLD, 2);
    scene.feed(Event::Leaving(1, ExitReason::MaxRequests));
    assert_eq!(scene.feed(Event::Recycle), [ok("replacing 1 worker, one at a time")]);
    assert_eq!(scene.fleet.expired, [(2, ExitReason::Recycle)]);
}
