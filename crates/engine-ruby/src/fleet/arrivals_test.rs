//! Workers boot, or report why they cannot.

use std::time::Duration;

use super::super::scene::{MOLD, Scene, pid, policy, raised};
use super::*;
use crate::exit::Exit;
use crate::fleet::event::Event;
use crate::fleet::log_line::LogLine;
use crate::fleet::policy::Policy;

fn ordered(policy: Policy) -> Scene {
    Scene::ordered(policy, "yes")
}

#[test]
fn a_worker_serves_when_it_is_ready_and_all_its_connections_are_there_whatever_comes_last() {
    let added = format!("AddWorker {{ worker: 1, pid: {} }}", pid(1));
    let mut scene = ordered(Policy { threads: 2, ..policy(1, 1) });
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
    scene.feed(Event::WorkerConnected(1, pid(1)));
    scene.feed(Event::ThreadConnected(1));
    assert_eq!(scene.feed(Event::WorkerReady(1)), [""; 0], "a thread is missing");
    assert_eq!(scene.fleet.workers[&1].life, Life::Booted);
    assert!(scene.fleet.awaits_thread(1) && !scene.fleet.awaits_thread(2));
    assert_eq!(scene.feed(Event::ThreadConnected(1))[0], added);
    assert!(!scene.fleet.awaits_thread(1));
    assert_eq!(scene.ready(), [1]);
    assert_eq!(scene.feed(Event::ThreadConnected(1)), [""; 0], "it is added once");

    let mut scene = ordered(Policy { threads: 2, ..policy(1, 1) });
    // The connections may arrive before the report of the mold.
    scene.feed(Event::ThreadConnected(1));
    scene.feed(Event::WorkerConnected(1, pid(1)));
    scene.feed(Event::ThreadConnected(1));
    assert_eq!(scene.feed(Event::WorkerReady(1))[0], added);
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
    assert_eq!((scene.ready(), scene.fleet.workers[&1].mold), (vec![1], Some(MOLD)));
}

#[test]
fn the_first_worker_ends_the_start_and_no_other_does() {
    let mut scene = ordered(policy(2, 2));
    assert_eq!(scene.serve(MOLD, 1)[1..], ["Started([(\"fork\", \"yes\")])"]);
    assert_eq!(scene.serve(MOLD, 2).len(), 1);
    let log = scene.read_log();
    assert!(matches!(log[0], LogLine::Worker(1, Some(_), WorkerLine::Ready { .. })), "{log:?}");
}

/// The log has the failures; without this line it would not have their end.
#[test]
fn the_first_worker_that_boots_after_failures_is_told() {
    let mut scene = Scene::serving(policy(0, 2));
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.boot(MOLD, 1);
    scene.feed(Event::WorkerFailed(1, raised()));
    scene.pass(Duration::from_secs(1));
    scene.fill_and_serve();
    scene.worker_ends(2);
    scene.fill_and_serve();
    let log = scene.read_log();
    let recoveries = log.iter().filter_map(|line| match line {
        LogLine::Worker(worker, _, WorkerLine::Ready { is_recovery, .. }) => Some((*worker, *is_recovery)),
        _ => None,
    });
    assert_eq!(recoveries.collect::<Vec<_>>(), [(2, true), (3, false)], "{log:?}");
}

#[test]
fn a_worker_whose_connections_cannot_be_used_ends_and_another_one_is_tried() {
    let mut scene = Scene::booting_again();
    // Without a scene, no worker is added to dispatch.
    let actions = scene.fleet.take(Event::WorkerReady(2), scene.now);
    assert!(matches!(actions[..], [Action::AddWorker { worker: 2, .. }]));
    assert_eq!(scene.feed(Event::WorkerNotAdded(2, "full".to_owned())), [format!("Kill({})", pid(2))]);
    assert_eq!(scene.boot_failure(), "worker 2 (pid 1002) cannot be used: full");
    scene.feed(Event::WorkerDisconnected(2));
    scene.pass(Duration::from_secs(1));
    scene.fill_and_serve();
    assert_eq!(scene.ready(), [3]);
}

#[test]
fn a_start_whose_worker_cannot_be_used_fails_with_the_reason() {
    let mut scene = ordered(policy(1, 1));
    scene.boot(MOLD, 1);
    scene.fleet.take(Event::WorkerReady(1), scene.now);
    let done = scene.feed(Event::WorkerNotAdded(1, "full".to_owned()));
    assert_eq!(done.last().unwrap(), "CannotStart(Unready(\"worker 1 (pid 1001) cannot be used: full\"))");
}

#[test]
fn a_worker_that_is_not_wanted_any_more_when_it_is_ready_goes_at_once() {
    let mut scene = ordered(policy(1, 1));
    scene.boot(MOLD, 1);
    scene.feed(Event::Leaving(1, ExitReason::Scale));
    assert_eq!(scene.feed(Event::WorkerReady(1))[1], "Retire(1, Scale)");
    assert!(scene.ready().is_empty());
}

#[test]
fn a_worker_that_is_ready_after_the_end_began_is_stopped() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.feed(Event::Forked { mold: MOLD, worker: 2, pid: pid(2) });
    scene.feed(Event::WorkerConnected(2, pid(2)));
    scene.feed(Event::WorkerReady(2));
    scene.feed(Event::Stop(scene.now + Duration::from_secs(1)));
    let done = scene.feed(Event::ThreadConnected(2));
    assert_eq!(done, ["Stop(Worker(2))".to_owned(), format!("AddWorker {{ worker: 2, pid: {} }}", pid(2))]);
}

#[test]
fn a_worker_that_cannot_load_the_application_fails_the_start() {
    let mut scene = ordered(policy(1, 1));
    scene.boot(MOLD, 1);
    let done = scene.feed(Event::WorkerFailed(1, raised()));
    assert_eq!(done[..2], [format!("Kill({MOLD})"), format!("Kill({})", pid(1))]);
    assert!(done[2].starts_with("CannotStart(App("), "{done:?}");
}

#[test]
fn later_a_worker_that_cannot_load_the_application_costs_a_pause_and_its_end_is_no_news() {
    let mut scene = Scene::booting_again();
    assert_eq!(scene.feed(Event::WorkerFailed(2, raised())), [""; 0]);
    assert_eq!((scene.fleet.workers[&2].life, scene.fleet.staying()), (Life::Failed, 0));
    assert_eq!(scene.feed(Event::WorkerReady(2)), [""; 0], "it has said that it cannot");
    assert_eq!(scene.feed(Event::WorkerDisconnected(2)), ["Remove(2)", "Forget(Worker(2))"]);
    assert!(matches!(scene.read_log()[..], [LogLine::BootFailed { .. }]));
}

#[test]
fn what_fails_only_because_it_is_loaded_again_is_told_with_that() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::MoldShares(MOLD, vec!["a socket".to_owned()]));
    scene.read_log();
    scene.feed(Event::WorkerFailed(1, raised()));
    let error = scene.boot_failure();
    assert!(error.contains("ouch (it could be loaded before") && error.contains("share a socket. If"), "{error}");
}

#[test]
fn a_hook_that_fails_ends_the_start_unless_starts_are_retried() {
    let hook = || StartError::Hook("on_worker_boot".into(), String::new(), Box::default());
    let mut scene = ordered(policy(1, 1));
    scene.boot(MOLD, 1);
    assert!(scene.feed(Event::HookFailed(1, hook())).iter().any(|done| done.starts_with("CannotStart(Hook(")));

    let mut scene = ordered(Policy { retries_hooks: true, ..policy(1, 1) });
    scene.boot(MOLD, 1);
    assert_eq!(scene.feed(Event::HookFailed(1, hook())), [""; 0]);
    assert!(!scene.fleet.is_over() && matches!(scene.read_log()[..], [LogLine::BootFailed { .. }]));
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 2 }}")], "the other one leaves");
}

#[test]
fn a_worker_that_leaves_has_a_successor_or_keeps_its_place_until_it_has_ended() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    assert_eq!((scene.fleet.staying(), scene.fleet.places_held()), (1, 2));
    scene.feed(Event::Leaving(1, ExitReason::Idle));
    assert_eq!((scene.fleet.staying(), scene.fleet.places_held()), (1, 3));
    scene.feed(Event::WorkerGone(1, None));
    assert_eq!(scene.fleet.places_held(), 2);
}

#[test]
fn a_worker_that_has_ended_gets_no_requests_even_if_a_connection_of_it_is_seen_only_now() {
    let exited = Event::Exited { mold: MOLD, worker: 1, pid: pid(1), exit: Exit::of(-9) };
    for ends in [Event::WorkerDisconnected(1), exited] {
        let mut scene = ordered(policy(1, 1));
        scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
        scene.feed(Event::WorkerConnected(1, pid(1)));
        scene.feed(Event::WorkerReady(1));
        assert!(scene.feed(ends)[0].starts_with("CheckAgain(1"));
        assert_eq!(scene.feed(Event::ThreadConnected(1)), [""; 0]);
        assert!(scene.ready().is_empty());
    }
}
