//! The number of workers grows and shrinks.

use std::time::Duration;

use super::super::scene::{MOLD, Scene, load, policy, raised, used};
use super::*;
use crate::fleet::event::Event;

/// A fleet of one to three workers, of which `workers` serve.
fn elastic(workers: usize) -> Scene {
    let mut scene = Scene::serving(policy(1, 3));
    for _ in 1..workers {
        scene.feed(Event::Wanted);
        scene.fill_and_serve();
    }
    assert_eq!(scene.ready().len(), workers);
    scene.logged.clear();
    scene
}

#[test]
fn one_more_worker_comes_while_requests_wait_and_none_while_one_is_on_its_way() {
    let mut scene = elastic(1);
    assert_eq!(scene.feed(Event::Wanted), ["TakePlace { has_none: false }", "Grown(2)"]);
    assert_eq!(scene.read_log(), [LogLine::ScalingUp { wanted: 2 }]);
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "it has not been ordered");
    scene.feed(Event::Fill);
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "it boots");
    scene.serve(MOLD, 2);
    assert_eq!(scene.feed(Event::Wanted)[1..], ["Grown(3)"]);
    scene.fill_and_serve();
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "there are as many as may be");
}

#[test]
fn the_first_worker_comes_whatever_memory_there_is_and_others_do_not() {
    let mut scene = Scene::serving(policy(0, 2));
    scene.memory = used(999);
    scene.feed(Event::MemoryDue);
    assert_eq!(scene.feed(Event::Wanted), ["TakePlace { has_none: true }", "Grown(1)"]);
    scene.fill_and_serve();
    assert_eq!(scene.feed(Event::Wanted), [""; 0]);
    assert!(matches!(scene.read_log().last(), Some(LogLine::HeldByMemory { there: 1, wanted: 1, .. })));
}

#[test]
fn one_too_many_that_cannot_start_is_given_up_and_delays_nobody() {
    let mut scene = elastic(1);
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.feed(Event::WorkerFailed(2, raised()));
    assert_eq!((scene.fleet.wanted(), scene.feed(Event::Fill)), (1, vec![]));
    assert!(matches!(scene.read_log().last(), Some(LogLine::BootFailed { pause, .. }) if pause.as_secs() == 60));
    assert_eq!(scene.feed(Event::Wanted), [""; 0], "not again at once");
    scene.worker_ends(1);
    assert_eq!(scene.feed(Event::Fill).len(), 1, "the one that is needed is replaced at once");
    scene.serve(MOLD, 3);
    scene.pass(Duration::from_secs(61));
    assert_eq!(scene.feed(Event::Wanted)[1..], ["Grown(2)"]);
}

#[test]
fn without_a_place_among_those_that_applications_share_none_comes() {
    let mut scene = elastic(1);
    scene.has_place = false;
    assert_eq!(scene.feed(Event::Wanted), ["TakePlace { has_none: false }"]);
    assert_eq!(scene.fleet.wanted(), 1);
}

#[test]
fn the_youngest_that_has_nothing_to_do_leaves_when_fewer_are_needed() {
    let mut scene = elastic(3);
    let loads = || vec![load(1, 0), load(2, 0), load(3, 1)];
    assert_eq!(scene.feed(Event::Needed(3, loads())), [""; 0]);
    assert_eq!(scene.feed(Event::Needed(2, loads())), ["Retire(2, Idle)"]);
    assert_eq!((scene.ready(), scene.fleet.wanted()), (vec![1, 3], 2));
    assert_eq!(scene.feed(Event::Fill), [""; 0], "nobody takes its place");
    let busy = vec![load(1, 1), Load { is_leaving: true, ..load(2, 0) }, load(3, 1)];
    assert_eq!(scene.feed(Event::Needed(0, busy)), [""; 0], "all are busy");
    assert_eq!(scene.feed(Event::Needed(0, loads())), ["Retire(1, Idle)"], "and not more than the fewest");
}

#[test]
fn several_leave_at_once_where_several_are_too_many() {
    let mut scene = elastic(3);
    let idle = vec![load(1, 0), load(2, 0), load(3, 0)];
    assert_eq!(scene.feed(Event::Needed(0, idle)), ["Retire(3, Idle)", "Retire(2, Idle)"]);
}

#[test]
fn a_place_is_given_up_unless_all_are_kept() {
    let mut scene = elastic(2);
    assert_eq!(scene.feed(Event::GiveUp(vec![load(1, 2), load(2, 3)])), ["Retire(1, Scale)"], "busy or not");
    assert_eq!(scene.feed(Event::GiveUp(vec![load(2, 0)])), ["KeepPlace"]);
}

#[test]
fn there_are_as_many_as_somebody_says() {
    let answer = |text: &str| format!("Answer(Ok({text:?}))");
    let scale = |min, max| Event::Scale { min, max, loads: vec![load(1, 0), load(2, 1), load(3, 0)] };
    let mut scene = elastic(3);
    assert_eq!(scene.feed(scale(1, 1)), ["Retire(3, Scale)".into(), "Retire(1, Scale)".into(), answer("1 worker")]);
    assert_eq!(scene.read_log(), [LogLine::Scaled { min: 1, max: 1, wanted: 1 }]);
    assert_eq!(scene.feed(scale(1, 1)), [answer("1 worker")]);
    assert!(scene.read_log().is_empty(), "each reload orders what is so already");
    assert_eq!(scene.feed(scale(2, 4)), ["Grown(2)".into(), answer("from 2 to 4 workers, 2 now")]);
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 4 }}")]);
    for (min, max) in [(3, 2), (0, 0), (1, WORKERS_MAX + 1)] {
        let refused = scene.feed(scale(min, max));
        assert!(refused.len() == 1 && refused[0].contains("MAX not below MIN"), "{refused:?}");
    }
    assert_eq!((scene.fleet.min_workers(), scene.fleet.max_workers()), (2, 4), "those change nothing");
    assert!(scene.feed(scale(0, WORKERS_MAX))[0].starts_with("Answer(Ok("));
    let fleet = &scene.fleet;
    assert_eq!((fleet.min_workers(), fleet.max_workers(), fleet.wanted()), (0, WORKERS_MAX, 2));
}

#[test]
fn a_worker_that_is_not_there_yet_is_just_not_ordered() {
    let mut scene = elastic(2);
    scene.worker_ends(2);
    scene.feed(Event::Needed(1, vec![load(1, 1)]));
    assert_eq!((scene.fleet.wanted(), scene.feed(Event::Fill).len()), (1, 0));
}

#[test]
fn where_none_is_ready_as_many_of_those_that_boot_are_forgotten_as_are_too_many() {
    let mut scene = Scene::serving(policy(3, 3));
    (1..=3).for_each(|worker| drop(scene.worker_ends(worker)));
    scene.feed(Event::Fill);
    scene.feed(Event::Scale { min: 1, max: 1, loads: Vec::new() });
    assert_eq!((scene.fleet.staying(), scene.fleet.places_held()), (1, 3));
    for worker in [4, 5] {
        assert_eq!(scene.serve(MOLD, worker)[1..], [format!("Retire({worker}, Scale)")]);
    }
    assert_eq!(scene.serve(MOLD, 6).len(), 1);
    assert_eq!(scene.ready(), [6]);
}

#[test]
fn after_one_too_many_could_not_start_the_first_worker_still_comes_at_once() {
    let mut scene = Scene::serving(policy(0, 3));
    scene.feed(Event::Wanted);
    scene.fill_and_serve();
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.feed(Event::WorkerFailed(2, raised()));
    assert_eq!(scene.feed(Event::Needed(0, vec![load(1, 0)])), ["Retire(1, Idle)"]);
    assert_eq!(scene.feed(Event::Wanted), ["TakePlace { has_none: true }", "Grown(1)"]);
}

#[test]
fn one_that_boots_only_to_leave_again_holds_up_no_other() {
    let mut scene = elastic(1);
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.feed(Event::Scale { min: 1, max: 1, loads: Vec::new() });
    scene.feed(Event::Scale { min: 1, max: 3, loads: Vec::new() });
    assert_eq!(scene.feed(Event::Wanted)[1..], ["Grown(2)"]);
}

#[test]
fn a_worker_that_has_anything_left_to_do_is_not_idle() {
    let mut scene = elastic(2);
    let opening = Load { is_done: false, ..load(2, 0) };
    assert_eq!(scene.feed(Event::Needed(1, vec![load(1, 1), opening])), [""; 0]);
}

#[test]
fn one_that_has_its_successor_already_is_not_chosen_where_there_are_to_be_fewer() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 4 }}")]);
    let loads = vec![load(1, 0), load(2, 1), load(3, 2)];
    let done = scene.feed(Event::Scale { min: 2, max: 2, loads });
    assert_eq!(done[0], "Retire(2, Scale)", "the first one leaves anyway");
    scene.serve(MOLD, 4);
    scene.check_health(Duration::from_millis(100));
    assert_eq!((scene.ready(), scene.fleet.wanted()), (vec![3, 4], 2));
}

/// TTIN and TTOU one right after the other.
#[test]
fn the_only_one_that_serves_does_not_leave_while_another_boots() {
    let scale = |min, max| Event::Scale { min, max, loads: vec![load(1, 0)] };
    let mut scene = elastic(1);
    scene.feed(scale(2, 2));
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 2 }}")]);
    assert_eq!(scene.feed(scale(1, 1)), ["Answer(Ok(\"1 worker\"))"]);
    assert_eq!((scene.ready(), scene.fleet.staying()), (vec![1], 1));
    assert_eq!(scene.serve(MOLD, 2)[1..], ["Retire(2, Scale)"]);
    scene.feed(scale(1, 3));
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    assert_eq!(scene.feed(Event::Needed(0, vec![load(1, 0)])), [""; 0], "nor as idle");
    scene.serve(MOLD, 3);
    assert_eq!(scene.feed(Event::Needed(0, vec![load(1, 0), load(3, 0)])), ["Retire(3, Idle)"]);
}
