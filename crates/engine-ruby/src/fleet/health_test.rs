//! Workers are replaced, measured and pinged.

use super::super::scene::{FAILURE, MIB, MOLD, Scene, line, pid, policy, used};
use super::*;
use crate::fleet::event::Event;
use crate::fleet::policy::Policy;

const TICK: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);

/// The workers that the next check retires.
fn retired(scene: &mut Scene) -> Vec<String> {
    let done = scene.check_health(TICK);
    done.into_iter().filter(|action| action.starts_with("Retire")).collect()
}

#[test]
fn a_worn_worker_leaves_when_its_successor_serves() {
    let mut scene = Scene::serving(policy(2, 2));
    assert_eq!(scene.feed(Event::Expired(1, ExitReason::MaxRequests)), [""; 0]);
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 3 }}")], "one more than wanted");
    assert_eq!(retired(&mut scene), [""; 0]);
    scene.serve(MOLD, 3);
    assert_eq!(retired(&mut scene), ["Retire(1, MaxRequests)"]);
    assert_eq!((scene.ready(), scene.feed(Event::Fill).len()), (vec![2, 3], 0));
}

#[test]
fn worn_workers_are_replaced_one_after_the_other() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    scene.feed(Event::Expired(2, ExitReason::Memory));
    scene.feed(Event::Expired(2, ExitReason::MaxRequests));
    scene.fill_and_serve();
    assert_eq!(retired(&mut scene), ["Retire(1, MaxRequests)"]);
    assert_eq!(retired(&mut scene), [""; 0], "the first has not ended");
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.worker_ends(1);
    assert_eq!(retired(&mut scene), [""; 0]);
    scene.fill_and_serve();
    assert_eq!(retired(&mut scene), ["Retire(2, Memory)"], "once, and for the first reason");
    scene.worker_ends(2);
    assert_eq!((scene.ready(), retired(&mut scene).len()), (vec![3, 4], 0));
}

#[test]
fn a_worn_worker_that_does_not_end_holds_up_the_next_no_longer_than_that() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    scene.feed(Event::Expired(2, ExitReason::MaxRequests));
    scene.fill_and_serve();
    assert_eq!(retired(&mut scene), ["Retire(1, MaxRequests)"]);
    scene.pass(DRAIN_MAX - TICK);
    assert_eq!((retired(&mut scene).len(), scene.fleet.surge()), (0, 0));
    assert_eq!((retired(&mut scene).len(), scene.fleet.surge()), (0, 1));
    scene.fill_and_serve();
    assert_eq!(retired(&mut scene), ["Retire(2, MaxRequests)"]);
}

#[test]
fn a_worn_worker_that_leaves_or_ends_by_itself_is_not_replaced_twice() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    scene.feed(Event::Expired(2, ExitReason::MaxRequests));
    scene.worker_ends(1);
    scene.feed(Event::Leaving(2, ExitReason::Order));
    scene.check_health(TICK);
    assert_eq!(scene.fleet.surge(), 0);
    assert_eq!(scene.feed(Event::Fill).len(), 2);
    scene.feed(Event::Expired(2, ExitReason::MaxRequests));
    scene.feed(Event::Expired(9, ExitReason::MaxRequests));
    assert_eq!(scene.fleet.surge(), 0, "it leaves, and the other is nobody");
}

#[test]
fn a_worn_worker_that_leaves_for_another_reason_has_one_successor() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 3 }}")]);
    // The supervisor fills after each event, and checks the health a tenth of a second later.
    scene.feed(Event::Leaving(1, ExitReason::Timeout));
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.serve(MOLD, 3);
    assert_eq!((retired(&mut scene).len(), scene.ready()), (0, vec![2, 3]));
}

#[test]
fn a_worker_that_asks_for_it_is_replaced_at_once_or_when_it_serves() {
    let mut scene = Scene::serving(policy(1, 1));
    assert_eq!(scene.feed(Event::AsksToEnd(1)), ["Retire(1, Signal)"]);
    assert_eq!(scene.feed(Event::AsksToEnd(1)), [""; 0], "it leaves");
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 2 }}")]);
    // Its request comes on another connection than that of its thread.
    scene.feed(Event::Forked { mold: MOLD, worker: 2, pid: pid(2) });
    scene.feed(Event::WorkerConnected(2, pid(2)));
    scene.feed(Event::WorkerReady(2));
    assert_eq!(scene.feed(Event::AsksToEnd(2)), [""; 0]);
    scene.feed(Event::ThreadConnected(2));
    scene.worker_ends(1);
    scene.fill_and_serve();
    assert_eq!((retired(&mut scene), scene.ready()), (vec!["Retire(2, Signal)".to_owned()], vec![3]));
}

#[test]
fn where_memory_does_not_hold_a_successor_worn_workers_go_first_one_after_the_other_and_never_the_last() {
    let mut scene = Scene::serving(policy(3, 3));
    scene.weigh(&[(1, 100), (2, 100), (3, 100)]);
    scene.memory = used(890);
    scene.feed(Event::MemoryDue);
    assert_eq!(scene.feed(Event::Expired(1, ExitReason::Recycle)), ["Retire(1, Recycle)"]);
    assert!(scene.read_log().is_empty(), "it is not said that memory holds no more, as all workers are there");
    assert_eq!(scene.feed(Event::Expired(2, ExitReason::Recycle)), [""; 0], "the first has not ended");
    scene.worker_ends(1);
    assert_eq!(scene.feed(Event::Expired(3, ExitReason::Recycle)), ["Retire(2, Recycle)"]);
    scene.worker_ends(2);
    assert_eq!(retired(&mut scene), [""; 0]);
}

#[test]
fn workers_are_asked_whether_they_are_there_and_a_silent_one_is_told_and_then_killed() {
    let mut scene = Scene::serving(policy(1, 1));
    let pings = (0..12).filter(|_| scene.check_health(SECOND).contains(&"Ping(1)".to_owned())).count();
    assert_eq!(pings, 2);
    let silent = WorkerLine::Silent { silent: 12 * SECOND, limit: 60 * SECOND };
    assert_eq!(scene.read_log(), [line(1, silent)]);
    assert_eq!(scene.fleet.view().workers[0].1.state, "hung");
    scene.feed(Event::Alive(1));
    scene.feed(Event::Alive(1));
    assert_eq!(scene.read_log(), [line(1, WorkerLine::AnswersAgain)]);
    (0..60).for_each(|_| drop(scene.check_health(SECOND)));
    scene.read_log();
    let done = scene.check_health(SECOND);
    assert_eq!(done[done.len() - 2..], ["Mark(1, Hung)".to_owned(), format!("Kill({})", pid(1))]);
    assert_eq!(scene.read_log(), [line(1, WorkerLine::Hung)]);
    let done: Vec<String> = (0..200).flat_map(|_| scene.check_health(SECOND)).collect();
    assert!(!done.iter().any(|action| action.starts_with("Kill")), "its exit may take a while: {done:?}");
    assert!(!scene.read_log().contains(&line(1, WorkerLine::Hung)));
}

#[test]
fn a_machine_that_was_asleep_is_no_silence_of_a_worker() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.check_health(Duration::from_secs(3600));
    assert_eq!(scene.fleet.workers[&1].silent, STEP_MAX);
    assert!(scene.read_log().is_empty());
}

#[test]
fn without_a_limit_a_silent_worker_is_left_alone() {
    let mut scene = Scene::serving(Policy { worker_timeout: Duration::ZERO, ..policy(1, 1) });
    let pings = (0..11).filter(|_| scene.check_health(SECOND).contains(&"Ping(1)".to_owned())).count();
    assert_eq!(pings, 2, "as seldom as with a long limit");
    assert_eq!(scene.fleet.view().workers[0].1.state, "ready");
    assert!(scene.read_log().is_empty(), "one answer may come a little late");
    let done: Vec<String> = (0..100).flat_map(|_| scene.check_health(SECOND)).collect();
    assert!(done.iter().all(|action| action.starts_with("Ping") || action.starts_with("Weigh")), "{done:?}");
    assert_eq!(scene.read_log().len(), 1);
}

#[test]
fn a_worker_that_is_away_for_too_long_is_killed() {
    let mut scene = Scene::serving(policy(1, 1));
    let away = || Event::HealthDue { passed: TICK, out: vec![(1, pid(1))], is_watched: false };
    let done = scene.feed(away());
    assert_eq!(done[..2], ["Mark(1, Hung)".to_owned(), format!("Kill({})", pid(1))]);
    assert_eq!(scene.feed(away()), [""; 0], "once, though its exit may take a while");
    let mut scene = Scene::serving(policy(1, 1));
    (0..60).for_each(|_| drop(scene.check_health(SECOND)));
    let done = scene.feed(Event::HealthDue { passed: SECOND, out: vec![(1, pid(1))], is_watched: false });
    let kills = done.iter().filter(|action| action.starts_with("Kill")).count();
    assert_eq!(kills, 1, "it has been silent for too long as well: {done:?}");
}

/// A process that the application has forked in a worker holds the worker's connections open: without a mold nothing
/// reports the end.
#[test]
fn a_hung_worker_whose_mold_is_gone_is_killed_once_and_given_up() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.mold_ends(MOLD, FAILURE);
    scene.read_log();
    let out = || Event::HealthDue { passed: TICK, out: vec![(1, pid(1))], is_watched: false };
    let done = scene.feed(out());
    let wanted = ["Mark(1, Hung)".to_owned(), format!("Kill({})", pid(1)), "Remove(1)".to_owned()];
    assert_eq!(done[..3], wanted);
    assert_eq!(scene.read_log(), [line(1, WorkerLine::Hung), line(1, WorkerLine::ExitUnknown)]);
    assert!(!scene.fleet.has_worker(1));
}

#[test]
fn a_worker_that_is_too_large_is_replaced_and_one_that_cannot_be_weighed_is_told_once() {
    let mut scene = Scene::serving(Policy { worker_memory: Some(50 * MIB), ..policy(2, 2) });
    scene.weigh(&[(1, 50), (2, 51)]);
    let large = || WorkerLine::TooLarge { pss_kib: 51 * 1024, limit_kib: 50 * 1024 };
    assert_eq!(scene.read_log(), [line(2, large())]);
    scene.weigh(&[(2, 51)]);
    assert_eq!(scene.read_log(), [line(2, large())]);
    assert_eq!(scene.fleet.expired, [(2, ExitReason::Memory)], "it is replaced once");
    let unknown = || Event::Weighed(vec![(Speaker::Worker(1), None), (Speaker::Worker(7), None)]);
    scene.feed(unknown());
    assert_eq!(scene.read_log(), [line(1, WorkerLine::WeightUnknown)]);
    scene.feed(unknown());
    assert_eq!(scene.read_log(), []);
    assert_eq!(scene.fleet.workers[&1].own_kib(), None);
    let mut scene = Scene::serving(policy(1, 1));
    scene.feed(unknown());
    assert!(scene.read_log().is_empty(), "without a limit it is no news");
}

#[test]
fn processes_are_weighed_now_and_then_and_not_twice_at_once() {
    let mut scene = Scene::serving(policy(1, 1));
    let all = format!("Weigh([(Mold({MOLD}), {MOLD}), (Worker(1), {})])", pid(1));
    assert_eq!(scene.check_health(TICK), std::slice::from_ref(&all));
    assert_eq!(scene.check_health(UNWATCHED), ["Ping(1)"], "it is under way");
    let weight = Weight { pss_kib: 7, own_kib: 3 };
    scene.feed(Event::Weighed(vec![(Speaker::Mold(MOLD), Some(weight)), (Speaker::Worker(1), Some(weight))]));
    assert_eq!(scene.fleet.view().molds[0].pss_kib, Some(7));
    assert_eq!(scene.fleet.view().workers[0].1.pss_kib, Some(7));
    assert_eq!(scene.check_health(TICK), std::slice::from_ref(&all));
    scene.feed(Event::Weighed(Vec::new()));
    let watched = |scene: &mut Scene| {
        scene.pass(WATCHED);
        scene.feed(Event::HealthDue { passed: TICK, out: Vec::new(), is_watched: true })
    };
    assert_eq!(scene.check_health(WATCHED), [""; 0]);
    assert_eq!(watched(&mut scene), [all]);
}

#[test]
fn a_worker_whose_memory_is_not_known_is_weighed_soon_and_then_seldom() {
    let mut scene = Scene::serving(policy(2, 2));
    assert_eq!(scene.check_health(TICK).len(), 1);
    scene.weigh(&[(1, 20)]);
    assert_eq!(scene.check_health(GROWING).len(), 1, "the other one may have booted since");
    scene.weigh(&[(1, 20), (2, 20)]);
    let is_weighed = |done: &[String]| done.iter().any(|action| action.starts_with("Weigh"));
    assert!(!is_weighed(&scene.check_health(UNWATCHED - TICK)));
    assert!(is_weighed(&scene.check_health(TICK)));
}

#[test]
fn a_young_worker_is_weighed_often_where_more_workers_may_come_and_as_seldom_as_others_where_not() {
    for (max_workers, weighed) in [(2, 1), (1, 0)] {
        let mut scene = Scene::serving(policy(1, max_workers));
        assert_eq!(scene.check_health(TICK).len(), 1);
        scene.weigh(&[(1, 20)]);
        assert_eq!(scene.check_health(GROWING).len(), weighed, "it may have grown");
        scene.weigh(&[(1, 20)]);
        assert_eq!(scene.check_health(GROWING).len(), 0, "it has worked for a second");
    }
}

#[test]
fn a_worker_with_little_time_to_answer_is_asked_often_enough() {
    let mut scene = Scene::serving(Policy { worker_timeout: Duration::from_secs(2), ..policy(1, 1) });
    let asked = (0..4).filter(|_| scene.check_health(5 * TICK).contains(&"Ping(1)".to_owned())).count();
    assert_eq!(asked, 4, "as often before it would be killed");
}

#[test]
fn a_worker_that_boots_is_not_asked_and_its_silence_is_no_reason_to_kill_it() {
    let mut scene = Scene::booting_again();
    let done: Vec<String> = (0..70).flat_map(|_| scene.check_health(SECOND)).collect();
    assert!(!done.iter().any(|action| action.starts_with("Ping") || action.starts_with("Kill")), "{done:?}");
}

#[test]
fn the_silence_of_a_worker_on_its_way_out_is_no_news() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    (0..20).for_each(|_| drop(scene.check_health(SECOND)));
    let log = scene.read_log();
    assert!(matches!(log[..], [LogLine::Worker(2, Some(_), WorkerLine::Silent { .. })]), "{log:?}");
}

#[test]
fn a_process_that_is_a_worker_is_weighed_once_and_one_that_loads_is_not() {
    let mut scene = Scene::ordered(policy(2, 2), "no");
    scene.becomes(MOLD, 1);
    assert!(scene.fleet.has_mold(MOLD + 1), "it loads");
    assert_eq!(scene.check_health(TICK), [format!("Weigh([(Worker(1), {MOLD})])")]);
}

#[test]
fn where_memory_has_a_limit_or_is_tight_it_is_read_more_often() {
    let is_weighed = |scene: &mut Scene, after: Duration| {
        let done = scene.check_health(after);
        scene.weigh(&[(1, 20)]);
        done.iter().any(|action| action.starts_with("Weigh"))
    };
    let mut scene = Scene::serving(Policy { worker_memory: Some(500 * MIB), ..policy(1, 1) });
    assert!(is_weighed(&mut scene, TICK));
    assert_eq!([is_weighed(&mut scene, LIMITED - TICK), is_weighed(&mut scene, TICK)], [false, true]);
    scene.memory = used(750);
    scene.feed(Event::MemoryDue);
    assert_eq!([is_weighed(&mut scene, GROWING - TICK), is_weighed(&mut scene, TICK)], [false, true]);
}

#[test]
fn a_worn_worker_waits_for_a_successor_that_boots_though_there_is_no_memory_for_another() {
    let mut scene = Scene::serving(policy(2, 4));
    scene.weigh(&[(1, 100), (2, 100)]);
    let measure = |scene: &mut Scene, mib: u64| {
        scene.memory = used(mib);
        scene.pass(SECOND);
        scene.feed(Event::MemoryDue);
    };
    measure(&mut scene, 780);
    assert_eq!(scene.feed(Event::Expired(1, ExitReason::Recycle)), [""; 0]);
    scene.feed(Event::Fill);
    scene.boot(MOLD, 3);
    measure(&mut scene, 850);
    assert_eq!(retired(&mut scene), [""; 0]);
    assert!(scene.read_log().is_empty(), "no worker is missing");
    scene.feed(Event::WorkerReady(3));
    assert_eq!(retired(&mut scene), ["Retire(1, Recycle)"]);
}
