//! Memory delays workers or makes them leave.

use super::super::scene::{MOLD, Scene, facts, pid, policy, used};
use super::*;
use crate::fleet::Speaker;
use crate::fleet::event::Event;

/// Reads memory, of which `mib` of 1000 MiB are used.
fn measure(scene: &mut Scene, mib: u64) -> Vec<String> {
    scene.memory = used(mib);
    scene.pass(READ_INTERVAL);
    scene.feed(Event::MemoryDue)
}

fn forks(done: &[String]) -> usize {
    done.iter().filter(|action| action.starts_with("Fork")).count()
}

#[test]
fn memory_is_read_now_and_then_and_at_once_when_the_kernel_has_killed() {
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(scene.feed(Event::MemoryDue), ["ReadMemory"]);
    assert_eq!(scene.feed(Event::MemoryDue), [""; 0]);
    assert_eq!(scene.feed(Event::OutOfMemory(1)), ["ReadMemory"]);
    scene.pass(READ_INTERVAL);
    assert_eq!(scene.feed(Event::MemoryDue), ["ReadMemory"]);
}

#[test]
fn when_memory_is_short_the_largest_worker_leaves_and_the_next_only_when_that_has_shown() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.weigh(&[(1, 100), (2, 300), (3, 200)]);
    assert_eq!(measure(&mut scene, 900), ["ReadMemory"]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(2, PressureReplaced)"]);
    let log = scene.read_log();
    assert!(matches!(log[..], [LogLine::Worker(2, Some(_), WorkerLine::Largest { own_kib: 307_200, .. })]), "{log:?}");
    assert_eq!((scene.fleet.wanted(), scene.fleet.staying()), (3, 2), "its successor comes when there is room");
    assert_eq!(scene.fleet.places_held(), 3, "its successor has its place");
    scene.feed(Event::Leaving(2, ExitReason::PressureReplaced));
    assert_eq!(scene.fleet.places_held(), 3, "as dispatch says, too");
    assert_eq!(forks(&scene.feed(Event::Fill)), 0);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"]);
    scene.pass(RELIEF);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"], "it has not ended");
    scene.worker_ends(2);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(3, PressureReplaced)"]);
    scene.worker_ends(3);
    scene.pass(RELIEF);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"], "the last one stays");
    assert_eq!(measure(&mut scene, 200), ["ReadMemory"]);
    assert_eq!(forks(&scene.feed(Event::Fill)), 2);
}

#[test]
fn where_fewer_may_be_there_are_fewer_after_one_had_to_leave() {
    let mut scene = Scene::serving(policy(1, 2));
    scene.feed(Event::Wanted);
    scene.fill_and_serve();
    scene.weigh(&[(1, 100), (2, 100)]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(2, Pressure)"]);
    assert_eq!((scene.fleet.wanted(), scene.fleet.places_held()), (1, 2));
    scene.worker_ends(2);
    measure(&mut scene, 200);
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "it rests");
    // With the reading before and the one after it, just as long as it rests.
    scene.pass(REST - 2 * READ_INTERVAL);
    measure(&mut scene, 200);
    assert_eq!(scene.feed(Event::Wanted).len(), 2);
}

#[test]
fn where_the_largest_has_its_successor_already_as_many_are_wanted_as_before() {
    let mut scene = Scene::serving(policy(1, 2));
    scene.feed(Event::Wanted);
    scene.fill_and_serve();
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    assert_eq!(forks(&scene.feed(Event::Fill)), 1);
    scene.weigh(&[(1, 300), (2, 100)]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(1, PressureReplaced)"]);
    scene.serve(MOLD, 3);
    assert_eq!((scene.ready(), scene.fleet.wanted(), scene.fleet.places_held()), (vec![2, 3], 2, 2));
}

#[test]
fn nobody_leaves_while_an_application_is_loaded() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.weigh(&[(1, 100), (2, 100)]);
    scene.is_loading = true;
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"]);
    scene.is_loading = false;
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(2, PressureReplaced)"]);
}

#[test]
fn that_memory_holds_no_more_workers_is_told_once_however_often_it_is_read() {
    let mut scene = Scene::serving(policy(1, 3));
    scene.pass(GROWN);
    scene.weigh(&[(1, 100)]);
    for _ in 0..3 {
        measure(&mut scene, 890);
        scene.feed(Event::Wanted);
        scene.feed(Event::Wanted);
    }
    assert!(matches!(scene.read_log()[..], [LogLine::HeldByMemory { there: 1, wanted: 1, .. }]));
    assert!(scene.fleet.view().pool.is_held_by_memory);
    scene.pass(REST);
    measure(&mut scene, 890);
    assert!(!scene.fleet.view().pool.is_held_by_memory, "that was long ago");
    scene.feed(Event::Wanted);
    assert_eq!(scene.read_log().len(), 1);
    measure(&mut scene, 200);
    assert_eq!(scene.feed(Event::Wanted).len(), 2);
}

#[test]
fn after_the_kernel_has_killed_none_is_started_until_that_shows_and_then_as_many_as_fit() {
    let mut scene = Scene::serving(policy(4, 4));
    scene.weigh(&[(1, 100), (2, 100), (3, 100), (4, 100)]);
    measure(&mut scene, 700);
    (2..=4).for_each(|worker| drop(scene.worker_ends(worker)));
    scene.feed(Event::OutOfMemory(2));
    assert_eq!(forks(&scene.feed(Event::Fill)), 0);
    scene.pass(RELIEF);
    assert_eq!(forks(&scene.feed(Event::Fill)), 2);
}

#[test]
fn without_a_worker_one_is_started_unless_the_kernel_would_kill_it_again() {
    for (mib, is_killed, started) in [(999, false, 1), (880, true, 1), (890, true, 0)] {
        let mut scene = Scene::serving(policy(1, 1));
        measure(&mut scene, mib);
        scene.worker_ends(1);
        if is_killed {
            scene.feed(Event::OutOfMemory(1));
        }
        assert_eq!(forks(&scene.feed(Event::Fill)), started, "{mib} MiB");
        assert!(!scene.fleet.view().pool.is_held_by_memory, "without a worker it is only a pause");
        scene.pass(RELIEF);
        assert_eq!(forks(&scene.feed(Event::Fill)), 1 - started, "{mib} MiB");
    }
}

/// Three workers are wanted, each of which is to load the application, and `mib` of 1000 MiB are used.
fn loaded_by_each(mib: u64) -> Scene {
    let mut scene = Scene::new(policy(3, 3));
    scene.memory = used(mib);
    scene.feed(Event::MemoryDue);
    scene.feed(Event::Fill);
    scene.feed(Event::MoldConnected(MOLD));
    let mut says = facts("yes");
    says.push(("preload".to_owned(), "no".to_owned()));
    scene.feed(Event::MoldReady(MOLD, says));
    scene
}

#[test]
fn where_each_worker_loads_the_application_the_first_is_weighed_before_the_others_come() {
    let mut scene = loaded_by_each(500);
    assert_eq!(forks(&scene.feed(Event::Fill)), 1);
    scene.serve(MOLD, 1);
    assert_eq!(forks(&scene.feed(Event::Fill)), 0);
    scene.weigh(&[(1, 150)]);
    assert_eq!(forks(&scene.feed(Event::Fill)), 2);
    assert_eq!(scene.fleet.pid(1), Some(pid(1)));
}

/// As in Docker where workers run as another user than the server: root has no CAP_SYS_PTRACE there.
#[test]
fn where_the_memory_of_none_can_be_read_one_comes_after_the_other() {
    let mut scene = loaded_by_each(800);
    for worker in 1..=3 {
        assert_eq!(forks(&scene.feed(Event::Fill)), 1);
        assert_eq!(forks(&scene.feed(Event::Fill)), 0, "it boots");
        scene.serve(MOLD, worker);
        assert_eq!(forks(&scene.feed(Event::Fill)), 0, "its memory has not been read yet");
        scene.feed(Event::Weighed(vec![(Speaker::Worker(worker), None)]));
    }
    assert_eq!((scene.ready(), forks(&scene.feed(Event::Fill))), (vec![1, 2, 3], 0));
    let log = scene.read_log();
    assert!(!log.iter().any(|line| matches!(line, LogLine::HeldByMemory { .. })), "{log:?}");
}

#[test]
fn after_the_largest_has_ended_the_next_stays_until_its_memory_shows_as_free() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.weigh(&[(1, 100), (2, 300), (3, 200)]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(2, PressureReplaced)"]);
    scene.worker_ends(2);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"]);
    scene.pass(RELIEF);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(3, PressureReplaced)"]);
}

#[test]
fn what_is_missing_by_order_is_started_unless_memory_is_full_as_it_is_which_is_told() {
    for (mib, started, is_held) in [(790, 2, false), (810, 0, true)] {
        let mut scene = Scene::serving(policy(1, 1));
        scene.weigh(&[(1, 100)]);
        measure(&mut scene, mib);
        scene.feed(Event::Scale { min: 3, max: 4, loads: Vec::new() });
        assert_eq!(forks(&scene.feed(Event::Fill)), started, "{mib} MiB");
        assert_eq!(scene.fleet.view().pool.is_held_by_memory, is_held, "{mib} MiB");
        let is_logged = matches!(scene.read_log().last(), Some(LogLine::HeldByMemory { there: 1, wanted: 3, .. }));
        assert_eq!(is_logged, is_held, "{mib} MiB");
    }
}

#[test]
fn where_there_is_memory_for_a_few_more_each_is_measured_before_the_next_which_is_no_shortage() {
    let mut scene = Scene::serving(policy(1, 3));
    scene.weigh(&[(1, 100)]);
    measure(&mut scene, 600);
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "it has just begun to serve");
    assert!(scene.read_log().is_empty() && !scene.fleet.view().pool.is_held_by_memory);
    scene.pass(GROWN);
    scene.weigh(&[(1, 100)]);
    assert_eq!(scene.feed(Event::Wanted)[1..], ["Grown(2)"]);
}

/// Where the kernel does not say what workers use, or no thread is left to ask it.
#[test]
fn a_worker_that_is_not_measured_counts_as_young_for_a_minute_and_then_others_may_come() {
    let mut scene = Scene::serving(policy(1, 3));
    scene.weigh(&[(1, 100)]);
    measure(&mut scene, 600);
    scene.pass(YOUNG_MAX - READ_INTERVAL - Duration::from_millis(1));
    assert_eq!(scene.feed(Event::Wanted), [""; 0]);
    scene.pass(Duration::from_millis(1));
    assert_eq!(scene.feed(Event::Wanted)[1..], ["Grown(2)"]);
}

#[test]
fn a_worker_that_had_to_leave_and_does_not_end_delays_the_next_no_longer_than_that() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.weigh(&[(1, 100), (2, 300), (3, 200)]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(2, PressureReplaced)"]);
    scene.pass(RELIEF_MAX - 2 * READ_INTERVAL);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory"]);
    assert_eq!(measure(&mut scene, 960), ["ReadMemory", "Retire(3, PressureReplaced)"]);
}
