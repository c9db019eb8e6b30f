//! The shutdown, in the order in which processes exit.

use super::super::scene::{MOLD, Scene, pid, policy};
use super::*;
use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::fleet::event::Event;

const TIME: Duration = Duration::from_secs(5);

fn due(scene: &mut Scene) -> Vec<String> {
    scene.feed(Event::StopDue { has_last_answers: false })
}

#[test]
fn workers_finish_then_molds_end_then_it_is_over() {
    let mut scene = Scene::serving(policy(2, 2));
    let until = scene.now + TIME;
    assert_eq!(scene.feed(Event::Stop(until)), ["Stop(Worker(1))", "Stop(Worker(2))"]);
    assert!(scene.fleet.is_stopping() && scene.fleet.stops_by() == Some(until));
    scene.worker_ends(1);
    assert_eq!(due(&mut scene), [""; 0]);
    assert_eq!(scene.feed(Event::Fill), [""; 0], "nobody takes its place");
    scene.worker_ends(2);
    assert_eq!(scene.feed(Event::StopDue { has_last_answers: true }), [""; 0]);
    assert_eq!(due(&mut scene), [format!("Stop(Mold({MOLD}))")]);
    assert!(!scene.fleet.is_over() && scene.fleet.stops_by() == Some(until));
    scene.feed(Event::Stop(scene.now + MOLD_TIME));
    assert_eq!(scene.fleet.stops_by(), Some(scene.now + MOLD_TIME), "molds may get less time as well");
    scene.mold_ends(MOLD, 0);
    assert_eq!(due(&mut scene), [""; 0]);
    assert!(scene.fleet.is_over() && scene.fleet.stops_by().is_none());
    assert!(!scene.read_log().iter().any(|line| format!("{line:?}").contains("MoldExited")), "it was told to");
}

/// The budget of workers that applications share (`--total-workers`) counts the places: after a reload, the last worker
/// of the old code may take long to exit.
#[test]
fn a_place_is_free_when_its_worker_has_ended_though_others_have_not() {
    let mut scene = Scene::serving(policy(2, 4));
    let places = |scene: &Scene| (scene.fleet.places_held(), scene.fleet.places_leaving());
    assert_eq!(places(&scene), (2, 0));
    scene.feed(Event::Stop(scene.now + TIME));
    assert_eq!(places(&scene), (2, 2));
    scene.worker_ends(1);
    assert_eq!(places(&scene), (1, 1));
}

#[test]
fn what_does_not_end_in_time_is_killed() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Stop(scene.now + TIME));
    scene.worker_ends(1);
    scene.pass(TIME);
    assert_eq!(due(&mut scene), [format!("Kill({})", pid(2)), format!("Stop(Mold({MOLD}))")]);
    assert_eq!(scene.fleet.stops_by(), Some(scene.now + MOLD_TIME));
    scene.pass(MOLD_TIME);
    assert_eq!(due(&mut scene), [format!("Kill({MOLD})")]);
    assert!(scene.fleet.is_over());
}

#[test]
fn what_is_not_ready_has_nothing_to_finish() {
    let mut scene = Scene::serving(policy(4, 4));
    (1..=4).for_each(|worker| drop(scene.feed(Event::Leaving(worker, ExitReason::Recycle))));
    scene.feed(Event::Fill);
    // Worker 5 boots, 6 is about to serve, 7 has failed, and 8 was only ordered.
    (5..=7).for_each(|worker| scene.boot(MOLD, worker));
    scene.fleet.policy.threads = 2;
    scene.feed(Event::WorkerReady(6));
    scene.feed(Event::WorkerFailed(7, crate::start_error::StartError::CalledOff));
    let done = scene.feed(Event::Stop(scene.now + TIME));
    assert_eq!(done[..2], ["Forget(Worker(8))".to_owned(), format!("Kill({MOLD})")], "it may be forking");
    let stops = [1, 2, 3, 4].map(|worker| format!("Stop(Worker({worker}))"));
    assert_eq!(done[2..6], stops);
    assert_eq!(done[6..], [format!("Kill({})", pid(5)), "Stop(Worker(6))".to_owned(), format!("Kill({})", pid(7))]);
}

#[test]
fn a_mold_that_loads_is_killed_at_once_and_one_that_has_not_connected_cannot_be_told() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    assert_eq!(scene.feed(Event::Stop(scene.now + TIME)), [format!("Kill({MOLD})")]);
    assert_eq!(due(&mut scene), [""; 0]);
    scene.feed(Event::MoldEnded(MOLD, Exit::of(-9)));
    due(&mut scene);
    assert!(scene.fleet.is_over());
}

#[test]
fn it_is_told_to_stop_once_and_may_get_less_time() {
    let mut scene = Scene::serving(policy(1, 1));
    let until = scene.now + TIME;
    scene.feed(Event::Stop(until));
    assert_eq!(scene.feed(Event::Stop(until + TIME)), [""; 0]);
    assert_eq!(scene.fleet.stops_by(), Some(until));
    let until = until.checked_sub(TIME / 2).unwrap();
    assert_eq!(scene.feed(Event::Stop(until)), [""; 0]);
    assert_eq!(scene.fleet.stops_by(), Some(until));
    for event in [Event::Wanted, Event::MemoryDue, Event::Expired(1, ExitReason::Recycle)] {
        assert_eq!(scene.feed(event), [""; 0]);
    }
}

#[test]
fn what_was_still_starting_when_the_end_began_is_no_failed_boot() {
    // On a Ruby that cannot fork, one process serves while another loads.
    let mut scene = Scene::ordered(policy(2, 2), "no");
    scene.becomes(MOLD, 1);
    scene.feed(Event::MoldConnected(MOLD + 1));
    let done = scene.feed(Event::Stop(scene.now + TIME));
    assert_eq!(done, [format!("Kill({})", MOLD + 1), "Stop(Worker(1))".to_owned()]);
    scene.read_log();
    scene.mold_ends(MOLD + 1, -9);
    assert!(scene.read_log().is_empty(), "nothing is tried again");

    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.boot(MOLD, 2);
    scene.feed(Event::Stop(scene.now + TIME));
    scene.read_log();
    scene.feed(Event::WorkerFailed(2, crate::start_error::StartError::CalledOff));
    assert!(scene.read_log().is_empty());
}

#[test]
fn a_worker_that_boots_while_its_mold_is_to_fork_another_does_not_delay_the_end() {
    // Its connection ends before its mold is gone, or after that; or it has none yet.
    for case in 0..3 {
        let mut scene = Scene::serving(policy(1, 1));
        scene.feed(Event::Scale { min: 3, max: 3, loads: Vec::new() });
        scene.feed(Event::Fill);
        scene.feed(Event::Forked { mold: MOLD, worker: 2, pid: pid(2) });
        if case < 2 {
            scene.feed(Event::WorkerConnected(2, pid(2)));
        }
        let done = scene.feed(Event::Stop(scene.now + TIME));
        assert_eq!(done[..2], ["Forget(Worker(3))".to_owned(), format!("Kill({MOLD})")], "it may be forking");
        scene.worker_ends(1);
        if case == 0 {
            scene.feed(Event::WorkerDisconnected(2));
        }
        scene.mold_ends(MOLD, -9);
        if case == 1 {
            scene.feed(Event::WorkerDisconnected(2));
        }
        due(&mut scene);
        assert!(scene.fleet.is_over(), "{case}");
    }
}
