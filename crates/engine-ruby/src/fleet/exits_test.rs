//! Workers and molds end, with the reports in every order.

use super::super::scene::{FAILURE, MOLD, Scene, line, pid, policy};
use super::*;
use crate::fleet::event::Event;
use crate::fleet::policy::Policy;

fn exited(worker: u32, code: i32) -> Event {
    Event::Exited { mold: MOLD, worker, pid: pid(worker), exit: Exit::of(code) }
}

/// Two workers serve and a third boots, which takes the place of one that leaves.
fn booting(policy: Policy) -> Scene {
    let mut scene = Scene::serving(policy);
    scene.feed(Event::Leaving(2, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.boot(MOLD, 3);
    scene.read_log();
    scene
}

#[test]
fn a_worker_that_served_is_replaced_at_once_however_its_end_is_heard() {
    for ends in [vec![Event::WorkerDisconnected(1), exited(1, -9)], vec![Event::WorkerGone(1, None), exited(1, -9)]] {
        let mut scene = Scene::serving(policy(1, 1));
        let done: Vec<String> = ends.into_iter().flat_map(|event| scene.feed(event)).collect();
        assert_eq!(done, ["Remove(1)", "Forget(Worker(1))"]);
        assert_eq!(scene.read_log(), [line(1, WorkerLine::Exited(Exit::of(-9)))]);
        assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 2 }}")]);
    }
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(scene.feed(exited(1, 0)), ["Remove(1)", "Forget(Worker(1))"]);
    assert_eq!(scene.feed(Event::WorkerDisconnected(1)), [""; 0], "nobody knows it any more");
}

#[test]
fn workers_that_end_again_and_again_are_replaced_with_pauses() {
    let mut scene = Scene::serving(policy(1, 1));
    for worker in 1..=20 {
        assert_eq!(scene.ready(), [worker]);
        scene.worker_ends(worker);
        scene.fill_and_serve();
    }
    assert!(scene.ready().is_empty());
    scene.pass(Duration::from_secs(1));
    scene.fill_and_serve();
    assert_eq!(scene.ready(), [21]);
}

#[test]
fn a_worker_that_breaks_the_protocol_is_killed() {
    let mut scene = Scene::serving(policy(1, 1));
    let why = "it broke the protocol".to_owned();
    let done = scene.feed(Event::WorkerGone(1, Some(why.clone())));
    assert_eq!(done, ["Remove(1)".to_owned(), "Forget(Worker(1))".to_owned(), format!("Kill({})", pid(1))]);
    assert_eq!(scene.read_log(), [line(1, WorkerLine::Killed { why })]);
}

#[test]
fn how_a_worker_ended_that_was_not_ready_is_waited_for_and_then_it_is_no_more() {
    let mut scene = booting(policy(2, 2));
    assert_eq!(scene.feed(Event::WorkerDisconnected(3)), ["CheckAgain(3, 5s)"], "its mold will tell");
    assert_eq!(scene.fleet.workers[&3].end, Some(End::Disconnected));
    assert_eq!(scene.feed(exited(3, FAILURE)), ["CheckAgain(3, 100ms)"], "why, it may still say");
    assert!(scene.read_log().is_empty());
    let done = scene.feed(Event::WorkerDisconnected(3));
    assert_eq!(done[..2], ["Remove(3)", "Forget(Worker(3))"]);
    let ended = format!("worker 3 (pid {}) exited with status 1 before it was ready", pid(3));
    assert_eq!(scene.boot_failure(), ended, "whether the application was loaded is not known");
    assert_eq!(scene.feed(Event::WorkerDisconnected(3)), [""; 0], "the other timer");
}

#[test]
fn a_mold_that_does_not_tell_how_a_worker_ended_is_waited_for_so_long() {
    let mut scene = booting(policy(2, 2));
    scene.feed(Event::WorkerDisconnected(3));
    scene.feed(Event::WorkerDisconnected(3));
    let error = scene.boot_failure();
    assert!(error.ends_with("exited before it was ready"), "{error}");
    assert_eq!(scene.fleet.molds[&MOLD].unreported, [(3, pid(3))]);
}

#[test]
fn a_worker_of_which_no_mold_will_tell_is_no_more_when_its_connection_ends() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.feed(Event::WorkerConnected(2, pid(2)));
    assert_eq!(scene.feed(Event::WorkerDisconnected(2))[..2], ["Remove(2)", "Forget(Worker(2))"]);
}

#[test]
fn a_fork_that_fails_is_a_worker_that_ended() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.worker_ends(1);
    scene.feed(Event::Fill);
    scene.read_log();
    let no_fork = Event::Exited { mold: MOLD, worker: 2, pid: 0, exit: Exit::of(FAILURE) };
    assert_eq!(scene.feed(no_fork), ["CheckAgain(2, 100ms)"]);
    scene.feed(Event::WorkerDisconnected(2));
    assert!(scene.fleet.workers.is_empty() && matches!(scene.read_log()[..], [LogLine::BootFailed { .. }]));
}

#[test]
fn at_the_start_what_ends_after_the_application_was_loaded_and_not_while_it_is_loaded_ended_in_a_hook() {
    for (retries_hooks, preload, is_over) in
        [(true, Preload::Yes, false), (false, Preload::Yes, true), (true, Preload::No, true)]
    {
        let mut scene = Scene::ordered(Policy { retries_hooks, preload, ..policy(1, 1) }, "yes");
        scene.boot(MOLD, 1);
        scene.feed(exited(1, FAILURE));
        scene.feed(Event::WorkerDisconnected(1));
        assert_eq!(scene.fleet.is_over(), is_over);
    }
}

#[test]
fn ends_of_workers_that_a_mold_did_not_live_to_tell_are_told_without_a_status() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.feed(Event::WorkerGone(1, None));
    scene.feed(Event::WorkerGone(2, None));
    scene.feed(exited(2, 0));
    assert_eq!(scene.fleet.view().processes, 2, "one serves, and one has not ended as far as anybody knows");
    scene.read_log();
    scene.mold_ends(MOLD, 0);
    assert_eq!(scene.read_log()[0], line(1, WorkerLine::ExitUnknown));
    scene.feed(Event::WorkerGone(3, None));
    assert_eq!(scene.read_log().last(), Some(&line(3, WorkerLine::ExitUnknown)));
}

#[test]
fn a_mold_is_gone_when_its_process_and_its_connection_have_ended_in_either_order() {
    let forgotten = [format!("Forget(Mold({MOLD}))")];
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(scene.feed(Event::MoldDisconnected(MOLD)), [""; 0]);
    assert_eq!(scene.feed(Event::MoldEnded(MOLD, Exit::of(0))), forgotten);
    assert_eq!(scene.read_log(), [LogLine::MoldExited { pid: MOLD, exit: Exit::of(0) }]);
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(scene.feed(Event::MoldEnded(MOLD, Exit::of(0))), [""; 0]);
    assert_eq!(scene.feed(Event::MoldDisconnected(MOLD)), forgotten);
    // A child of the application holds the connection open.
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(Event::MoldEnded(MOLD, Exit::of(0)));
    assert_eq!(scene.feed(Event::LastFramesDue), [""; 0]);
    scene.pass(LAST_FRAMES_TIME);
    assert_eq!(scene.feed(Event::LastFramesDue), forgotten);
}

#[test]
fn a_program_that_ends_without_a_word_is_no_ruby() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    let done = scene.feed(Event::MoldEnded(MOLD, Exit::of(3)));
    let error = "NoRuby { ruby: \"ruby\", how: \"exited with status 3\", has_failed: true }";
    assert_eq!(done.last().unwrap(), &format!("CannotStart({error})"));
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    scene.feed(Event::MoldConnected(MOLD));
    let done = scene.mold_ends(MOLD, 3);
    assert_eq!(done.last().unwrap(), "CannotStart(Ended(\"exited with status 3\"))");
}

#[test]
fn a_mold_that_ends_takes_its_orders_along() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.worker_ends(1);
    scene.feed(Event::Fill);
    scene.read_log();
    assert_eq!(scene.mold_ends(MOLD, -9), [format!("Forget(Mold({MOLD}))"), "Forget(Worker(2))".to_owned()]);
    let error = scene.boot_failure();
    assert!(error.contains("exited: killed by SIGKILL, before it forked a worker"), "{error}");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn a_process_that_has_become_a_worker_ends_as_one() {
    let mut scene = Scene::ordered(policy(1, 1), "no");
    scene.becomes(MOLD, 1);
    assert_eq!(scene.ready(), [1]);
    scene.read_log();
    let done = scene.mold_ends(MOLD, 0);
    assert_eq!(done, [format!("Forget(Mold({MOLD}))"), "Remove(1)".into(), "Forget(Worker(1))".into()]);
    assert_eq!(scene.read_log(), [LogLine::Worker(1, Some(MOLD), WorkerLine::Exited(Exit::of(0)))]);
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn a_worker_that_the_kernel_has_killed_while_it_booted_is_told_and_not_tried_again_at_once() {
    let mut scene = booting(policy(2, 2));
    scene.is_killed_by_kernel = true;
    scene.feed(exited(3, -9));
    let done = scene.feed(Event::WorkerDisconnected(3));
    assert_eq!(done[3..], ["ExitIsLogged(3)", "ReadMemory"], "{done:?}");
    assert_eq!(scene.read_log(), [line(3, WorkerLine::OutOfMemory)]);
    assert!(scene.fleet.headroom.is_being_relieved(scene.now));
}

#[test]
fn where_no_worker_is_left_the_kernels_victim_is_a_failed_boot() {
    let mut scene = Scene::booting_again();
    scene.is_killed_by_kernel = true;
    scene.feed(exited(2, -9));
    scene.feed(Event::WorkerDisconnected(2));
    let error = scene.boot_failure();
    assert!(error.contains("killed by the kernel, out of memory before it was ready"), "{error}");
    assert_eq!(scene.with(|worker| worker.pid.is_none()), [0; 0]);
}

#[test]
fn a_process_that_ends_as_a_worker_takes_no_order_of_another_along() {
    let mut scene = Scene::ordered(policy(2, 2), "no");
    scene.becomes(MOLD, 1);
    scene.mold_ready(MOLD + 1, "no");
    scene.feed(Event::Fill);
    scene.mold_ends(MOLD, 0);
    assert_eq!((scene.fleet.has_worker(1), scene.fleet.has_worker(2)), (false, true));
}

#[test]
fn a_worker_that_ends_with_its_mold_before_it_has_connected_is_replaced() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.worker_ends(1);
    scene.feed(Event::Fill);
    scene.feed(Event::Forked { mold: MOLD, worker: 2, pid: pid(2) });
    let done = scene.mold_ends(MOLD, -9);
    let ended = ["Remove(2)".to_owned(), "Forget(Worker(2))".to_owned()];
    assert_eq!(done[..2], [format!("Forget(Mold({MOLD}))"), format!("Kill({})", pid(2))]);
    assert_eq!(done[2..4], ended, "nobody would tell");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn a_worker_that_ended_while_it_booted_is_not_waited_for_when_its_mold_is_gone() {
    for is_mold_first in [false, true] {
        let mut scene = booting(policy(2, 2));
        if is_mold_first {
            scene.mold_ends(MOLD, -9);
            scene.feed(Event::WorkerDisconnected(3));
        } else {
            scene.feed(Event::WorkerDisconnected(3));
            assert!(scene.fleet.has_worker(3), "its mold will tell");
            scene.mold_ends(MOLD, -9);
        }
        assert!(!scene.fleet.has_worker(3), "{is_mold_first}");
    }
}

#[test]
fn the_processes_of_workers_are_looked_at_until_their_end_is_known() {
    let mut scene = booting(policy(2, 2));
    let all = [1, 2, 3].map(|worker| (worker, pid(worker)));
    assert_eq!(scene.fleet.living_workers(), all);
    scene.feed(Event::WorkerDisconnected(3));
    assert_eq!(scene.fleet.living_workers(), all[..2], "its mold will tell");
    scene.worker_ends(1);
    scene.mold_ends(MOLD, -9);
    assert_eq!(scene.fleet.living_workers(), all[1..2], "also without a mold");
    let mut scene = Scene::ordered(policy(1, 1), "no");
    scene.becomes(MOLD, 1);
    assert_eq!(scene.fleet.living_workers(), [(0, 0); 0], "the server waits for it");
}

#[test]
fn a_worker_that_boots_outlives_its_mold() {
    let mut scene = booting(policy(2, 2));
    scene.mold_ends(MOLD, 0);
    scene.feed(Event::TimeoutsDue { is_called_off: false });
    scene.feed(Event::WorkerReady(3));
    assert_eq!(scene.ready(), [1, 3]);
}

#[test]
fn at_the_start_a_worker_that_has_not_connected_when_its_mold_ends_may_still_come() {
    let mut scene = Scene::ordered(policy(1, 1), "yes");
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
    assert_eq!(scene.mold_ends(MOLD, 0), [format!("Forget(Mold({MOLD}))")]);
    scene.feed(Event::WorkerConnected(1, pid(1)));
    scene.feed(Event::ThreadConnected(1));
    scene.feed(Event::WorkerReady(1));
    assert_eq!(scene.ready(), [1]);
}

/// Without --boot-time, as by default, nothing else would end the start.
#[test]
fn at_the_start_a_worker_that_does_not_connect_after_the_end_of_its_mold_is_an_error() {
    let mut scene = Scene::ordered(Policy { boot_time: Duration::MAX, ..policy(1, 1) }, "yes");
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
    scene.mold_ends(MOLD, -9);
    let due = || Event::TimeoutsDue { is_called_off: false };
    scene.pass(LATE_CONNECTION_TIME - Duration::from_millis(1));
    assert_eq!(scene.feed(due()), [""; 0]);
    scene.pass(Duration::from_millis(1));
    let done = scene.feed(due());
    assert_eq!(done[0], format!("Kill({})", pid(1)));
    assert!(done.last().unwrap().starts_with("CannotStart(Unready("), "{done:?}");
}

#[test]
fn workers_that_were_told_to_leave_are_replaced_without_a_pause_however_many_they_are() {
    let mut scene = Scene::serving(policy(1, 1));
    for worker in 1..=40 {
        scene.feed(Event::Leaving(worker, ExitReason::MaxRequests));
        scene.fill_and_serve();
        scene.worker_ends(worker);
        assert_eq!(scene.ready(), [worker + 1]);
    }
}

#[test]
fn a_mold_that_ends_while_it_loads_is_told_with_what_ended_it() {
    let mut scene = Scene::new(policy(1, 1));
    scene.is_killed_by_kernel = true;
    scene.feed(Event::Fill);
    scene.feed(Event::MoldConnected(MOLD));
    let done = scene.mold_ends(MOLD, -9);
    assert_eq!(done.last().unwrap(), "CannotStart(Ended(\"exited: killed by the kernel, out of memory\"))");

    // Later the program is known to be a Ruby, connected or not.
    let mut scene = Scene::loading_again();
    scene.read_log();
    scene.feed(Event::MoldEnded(MOLD + 1, Exit::of(3)));
    let error = scene.boot_failure();
    assert!(error.ends_with(": exited with status 3"), "{error}");
}
