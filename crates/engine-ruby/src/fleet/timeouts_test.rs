//! Boots and forks time out.

use super::super::scene::{MOLD, Scene, pid, policy, raised};
use super::*;
use crate::exit_reason::ExitReason;
use crate::fleet::event::Event;

const LATE: Event = Event::TimeoutsDue { is_called_off: false };
const BOOT_TIME: Duration = Duration::from_secs(60);

/// Makes a check, and returns what the log says of a slow start or boot: the worker, and what that waits for.
fn reminded(scene: &mut Scene) -> Option<(Option<u32>, Waiting)> {
    scene.feed(LATE);
    scene.read_log().into_iter().rev().find_map(|line| match line {
        LogLine::NotReady { waiting, .. } => Some((None, waiting)),
        LogLine::BootSlow { worker, waiting, .. } => Some((Some(worker), waiting)),
        _ => None,
    })
}

fn past(scene: &mut Scene) -> Vec<String> {
    scene.pass(BOOT_TIME + Duration::from_millis(1));
    scene.feed(LATE)
}

#[test]
fn a_start_that_was_called_off_ends_and_a_service_does_not() {
    let called_off = || Event::TimeoutsDue { is_called_off: true };
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    assert_eq!(scene.feed(called_off()), [format!("Kill({MOLD})"), "CannotStart(CalledOff)".to_owned()]);
    assert_eq!(Scene::serving(policy(1, 1)).feed(called_off()), [""; 0]);
}

#[test]
fn a_start_has_its_time() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    scene.pass(BOOT_TIME);
    assert_eq!(scene.feed(LATE), [""; 0]);
    scene.pass(Duration::from_millis(1));
    assert_eq!(scene.feed(LATE), [format!("Kill({MOLD})"), "CannotStart(Late(60s))".to_owned()]);
}

#[test]
fn a_start_that_takes_long_is_told_with_what_it_waits_for() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    scene.pass(Duration::from_secs(30));
    assert_eq!(reminded(&mut scene), Some((None, Waiting::Mold(MOLD))));
    assert_eq!(reminded(&mut scene), None, "not again before as long");
    scene.mold_ready(MOLD, "yes");
    scene.feed(Event::Fill);
    scene.pass(Duration::from_secs(30));
    assert_eq!(reminded(&mut scene), Some((None, Waiting::Fork)));
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
    scene.fleet.policy.boot_time = Duration::MAX;
    scene.pass(Duration::from_secs(60));
    assert_eq!(reminded(&mut scene), Some((None, Waiting::Worker(1, pid(1)))));
}

/// A mold that hangs in a hook, or is stopped, forks no worker, and no other line of the log says so.
#[test]
fn later_a_worker_that_is_not_ready_for_long_is_told_with_what_it_waits_for() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.fleet.policy.boot_time = Duration::MAX;
    scene.pass(Duration::from_secs(3600));
    scene.worker_ends(1);
    scene.feed(Event::Fill);
    assert_eq!(reminded(&mut scene), None);
    scene.pass(Duration::from_secs(30));
    assert_eq!(reminded(&mut scene), Some((Some(3), Waiting::Fork)));
    assert_eq!(reminded(&mut scene), None, "not again before as long");
    scene.feed(Event::Forked { mold: MOLD, worker: 3, pid: pid(3) });
    scene.pass(Duration::from_secs(30));
    assert_eq!(reminded(&mut scene), Some((Some(3), Waiting::Worker(3, pid(3)))));
}

#[test]
fn later_a_worker_that_hangs_while_it_boots_is_killed() {
    let mut scene = Scene::booting_again();
    assert_eq!(past(&mut scene), [format!("Kill({})", pid(2))]);
    let log = scene.read_log();
    assert_eq!(log.last(), Some(&LogLine::BootTimedOut { pid: pid(2), limit: BOOT_TIME }), "{log:?}");
    assert!(matches!(log[..], [LogLine::BootSlow { worker: 2, .. }, _]), "{log:?}");
    assert_eq!(scene.feed(LATE), [""; 0], "its exit may take a while");
    assert!(!scene.read_log().iter().any(|line| matches!(line, LogLine::BootTimedOut { .. })), "it is said once");
}

/// Until it has ended, no other one is started.
#[test]
fn a_mold_that_cannot_load_the_application_and_does_not_exit_is_killed_once() {
    let mut scene = Scene::loading_again();
    scene.feed(Event::MoldConnected(MOLD + 1));
    scene.feed(Event::MoldFailed(MOLD + 1, raised()));
    assert_eq!(past(&mut scene), [format!("Kill({})", MOLD + 1)]);
    assert_eq!(past(&mut scene), [""; 0]);
}

#[test]
fn a_mold_that_does_not_fork_what_was_ordered_is_killed() {
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(past(&mut scene), [""; 0], "it has nothing to do");
    scene.worker_ends(1);
    scene.feed(Event::Fill);
    assert_eq!(past(&mut scene), [format!("Kill({MOLD})")]);
}

#[test]
fn a_mold_that_hangs_while_it_loads_is_killed_even_where_a_start_has_no_limit() {
    let mut scene = Scene::loading_again();
    scene.fleet.policy.boot_time = Duration::MAX;
    scene.pass(LATER_BOOT_TIME);
    assert_eq!(scene.feed(LATE), [""; 0]);
    scene.pass(Duration::from_millis(1));
    assert_eq!(scene.feed(LATE), [format!("Kill({})", MOLD + 1)]);
}

#[test]
fn a_mold_that_hangs_before_a_fork_is_killed_and_not_the_one_that_made_way_for_it() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Leaving(2, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.feed(Event::MoldShares(MOLD, vec!["a socket".to_owned()]));
    scene.feed(Event::Fill);
    scene.mold_ready(MOLD + 1, "yes");
    scene.feed(Event::Fill);
    assert_eq!(past(&mut scene), [format!("Kill({})", MOLD + 1)]);
}

#[test]
fn a_process_that_does_not_become_the_worker_that_it_was_ordered_to_be_is_killed() {
    let mut scene = Scene::ordered(policy(2, 2), "no");
    scene.becomes(MOLD, 1);
    scene.mold_ready(MOLD + 1, "no");
    assert_eq!(past(&mut scene), [""; 0], "it has no order");
    scene.feed(Event::Fill);
    assert_eq!(past(&mut scene), [format!("Kill({})", MOLD + 1)]);
    scene.mold_ends(MOLD + 1, -9);
    assert!(!scene.fleet.has_worker(2));
}
