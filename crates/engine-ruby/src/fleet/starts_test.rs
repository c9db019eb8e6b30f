//! Molds start, fork, or make way for others.

use super::super::scene::{FAILURE, MOLD, Scene, facts, load, pid, policy, raised};
use super::*;
use crate::exit_reason::ExitReason;
use crate::fleet::event::Event;

#[test]
fn a_mold_is_started_once_told_what_to_load_and_forks_what_is_missing() {
    let mut scene = Scene::new(policy(2, 2));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
    assert_eq!(scene.feed(Event::Fill), [""; 0], "one is loading");
    assert_eq!(
        scene.mold_ready(MOLD, "yes"),
        [format!("SetUp {{ mold: {MOLD}, preload: Yes, max_workers: 2 }}")],
        "the start is not over without a worker"
    );
    let forks = [1, 2].map(|worker| format!("Fork {{ mold: {MOLD}, worker: {worker} }}"));
    assert_eq!(scene.feed(Event::Fill), forks);
    assert_eq!(scene.feed(Event::Fill), [""; 0], "they are on their way");
    assert!(matches!(scene.read_log()[..], [LogLine::MoldLoaded { pid: MOLD, is_first: true, .. }]));
}

#[test]
fn where_no_worker_is_wanted_the_mold_alone_is_the_start() {
    let mut scene = Scene::new(policy(0, 2));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
    assert_eq!(scene.mold_ready(MOLD, "yes")[1..], ["Started([(\"fork\", \"yes\")])"]);
    assert_eq!(scene.feed(Event::MoldReady(MOLD, facts("yes"))), [""; 0], "it is said once");
    assert_eq!(scene.mold_ends(MOLD, 0), [format!("Forget(Mold({MOLD}))")]);
    assert_eq!(scene.feed(Event::Fill), [""; 0], "it could end again and again");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"], "a worker may be wanted at any moment");
}

#[test]
fn where_all_workers_are_there_a_mold_that_has_ended_is_not_missed() {
    let mut scene = Scene::serving(policy(1, 1));
    scene.mold_ends(MOLD, 0);
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.worker_ends(1);
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn a_ruby_that_cannot_fork_is_started_once_for_each_worker() {
    let mut scene = Scene::new(policy(3, 3));
    scene.feed(Event::Fill);
    scene.mold_ready(MOLD, "no");
    let fork = |mold: u32, worker: u32| format!("Fork {{ mold: {mold}, worker: {worker} }}");
    assert_eq!(scene.feed(Event::Fill), [fork(MOLD, 1), "StartMold".into(), "StartMold".into()]);
    assert_eq!(scene.mold(MOLD), MoldState::Worker(1));
    assert_eq!(scene.feed(Event::Fill), [""; 0], "both are loading");
    scene.mold_ready(MOLD + 1, "no");
    assert_eq!(scene.feed(Event::Fill), [fork(MOLD + 1, 2)]);
    // It reports that it has become a worker, and not that it has forked one.
    scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: MOLD });
    assert_eq!((scene.fleet.pid(1), scene.fleet.workers[&1].mold), (Some(MOLD), None));
}

#[test]
fn a_program_that_cannot_be_started_fails_the_start_and_later_is_tried_again() {
    let broken = || StartError::Machine(std::io::ErrorKind::OutOfMemory.into());
    let mut scene = Scene::new(policy(1, 1));
    let done = scene.feed(Event::MoldNotStarted(broken()));
    assert!(done.len() == 1 && done[0].starts_with("CannotStart(Machine("), "{done:?}");
    assert!(scene.fleet.is_over() && scene.feed(Event::Fill).is_empty());
    assert_eq!(scene.feed(Event::MoldStarted(7)), ["Kill(7)"], "nobody else would end it");

    let mut scene = Scene::serving(policy(1, 1));
    scene.mold_ends(MOLD, 0);
    scene.worker_ends(1);
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::MoldNotStarted(broken())), [""; 0]);
    assert!(matches!(scene.read_log().last(), Some(LogLine::BootFailed { .. })));
    assert_eq!(scene.feed(Event::Fill), [""; 0], "not at once");
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn an_application_that_cannot_be_loaded_ends_the_start_and_all_processes() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    scene.feed(Event::MoldConnected(MOLD));
    let done = scene.feed(Event::MoldFailed(MOLD, raised()));
    assert_eq!(done[0], format!("Kill({MOLD})"));
    assert!(done.len() == 2 && done[1].starts_with("CannotStart(App("), "{done:?}");
    assert!(scene.fleet.is_over());
}

#[test]
fn later_an_application_that_cannot_be_loaded_is_tried_again_when_its_process_has_ended() {
    let mut scene = Scene::loading_again();
    let second = MOLD + 1;
    scene.feed(Event::MoldConnected(second));
    scene.read_log();
    assert_eq!(scene.feed(Event::MoldFailed(second, raised())), [""; 0]);
    assert_eq!(scene.mold(second), MoldState::CannotLoad);
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), [""; 0], "it has not ended");
    scene.mold_ends(second, FAILURE);
    assert!(scene.boot_failure().contains("ouch"));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn a_mold_whose_workers_would_share_connections_makes_way_for_one_that_loads_nothing() {
    let mut scene = Scene::ordered(policy(2, 2), "yes");
    let shared = vec!["a socket".to_owned(), "a pipe".to_owned()];
    let forgotten = [1, 2].map(|worker| format!("Forget(Worker({worker}))"));
    assert_eq!(scene.feed(Event::MoldShares(MOLD, shared)), forgotten, "it will not fork them");
    assert_eq!(scene.read_log(), [LogLine::WillNotFork { shared: "a socket; a pipe".to_owned() }]);
    assert_eq!(scene.feed(Event::Fill), [""; 0], "its ports must be free first");
    scene.pass(YIELD_TIME + Duration::from_millis(1));
    assert_eq!(scene.feed(Event::Fill), [format!("Kill({MOLD})")]);
    scene.mold_ends(MOLD, 0);
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
    let done = scene.feed(Event::MoldConnected(MOLD + 1));
    assert_eq!(done, [format!("SetUp {{ mold: {}, preload: No, max_workers: 2 }}", MOLD + 1)]);
    assert!(scene.read_log().is_empty(), "that it ended is no news");
}

#[test]
fn a_mold_that_makes_way_while_its_workers_serve_is_not_waited_for_and_takes_no_order_of_the_next_one_along() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Leaving(2, ExitReason::Recycle));
    scene.feed(Event::Fill);
    scene.feed(Event::MoldShares(MOLD, vec!["a socket".to_owned()]));
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
    scene.mold_ready(MOLD + 1, "yes");
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {}, worker: 4 }}", MOLD + 1)]);
    scene.read_log();
    assert_eq!(scene.mold_ends(MOLD, 0), [format!("Forget(Mold({MOLD}))")]);
    assert!(scene.read_log().is_empty(), "nothing has failed");
    scene.serve(MOLD + 1, 4);
    assert_eq!(scene.ready(), [1, 4]);
}

#[test]
fn failures_of_the_same_pause_are_one_and_pauses_grow_until_a_worker_serves() {
    let mut scene = Scene::serving(policy(1, 1));
    let pauses = |scene: &mut Scene| -> Vec<u128> {
        let log = scene.read_log().into_iter();
        log.filter_map(|line| if let LogLine::BootFailed { pause, .. } = line { Some(pause.as_millis()) } else { None })
            .collect()
    };
    for _ in 0..3 {
        scene.feed(Event::MoldNotStarted(StartError::CalledOff));
        scene.feed(Event::MoldNotStarted(StartError::CalledOff));
        scene.pass(Duration::from_secs(10));
    }
    assert_eq!(pauses(&mut scene), [100, 100, 200, 200, 400, 400]);
    scene.worker_ends(1);
    scene.fill_and_serve();
    scene.feed(Event::MoldNotStarted(StartError::CalledOff));
    assert_eq!(pauses(&mut scene), [100]);
    assert_eq!(scene.fleet.pid(2), Some(pid(2)));
}

#[test]
fn a_successor_that_cannot_start_takes_no_worker_from_those_that_serve() {
    let mut scene = Scene::serving(policy(1, 4));
    scene.feed(Event::Scale { min: 1, max: 4, loads: Vec::new() });
    scene.fleet.wanted = 4;
    scene.fill_and_serve();
    assert_eq!(scene.ready(), [1, 2, 3, 4]);
    scene.feed(Event::Expired(1, ExitReason::MaxRequests));
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {MOLD}, worker: 5 }}")]);
    scene.feed(Event::Forked { mold: MOLD, worker: 5, pid: pid(5) });
    scene.feed(Event::WorkerFailed(5, raised()));
    assert_eq!(scene.feed(Event::Fill), [""; 0], "after a pause");
    let done = scene.check_health(Duration::from_millis(100));
    assert!(!done.iter().any(|action| action.starts_with("Retire")), "{done:?}");
    assert_eq!((scene.fleet.wanted, scene.ready()), (4, vec![1, 2, 3, 4]));
}

#[test]
fn a_worker_has_the_lowest_index_that_is_free_and_keeps_it_until_it_has_ended() {
    let mut scene = Scene::serving(policy(3, 3));
    let indexes: Vec<u32> = (1..=3).map(|worker| scene.fleet.index(worker)).collect();
    assert_eq!(indexes, [0, 1, 2]);
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    scene.fill_and_serve();
    assert_eq!(scene.fleet.index(4), 3, "the first has not ended");
    scene.worker_ends(1);
    scene.worker_ends(2);
    scene.fill_and_serve();
    assert_eq!(scene.fleet.index(5), 0);
}

#[test]
fn a_process_too_many_of_a_ruby_that_cannot_fork_becomes_no_worker() {
    let mut scene = Scene::ordered(policy(3, 3), "no");
    scene.mold_ready(MOLD + 1, "no");
    scene.mold_ready(MOLD + 2, "no");
    scene.feed(Event::Scale { min: 2, max: 2, loads: Vec::new() });
    assert_eq!(scene.feed(Event::Fill), [format!("Fork {{ mold: {}, worker: 2 }}", MOLD + 1)]);
    assert_eq!(scene.mold(MOLD + 2), MoldState::CannotFork);
}

#[test]
fn a_ruby_that_cannot_fork_is_not_started_before_a_worker_is_wanted() {
    let mut scene = Scene::new(policy(0, 2));
    scene.feed(Event::Fill);
    scene.mold_ready(MOLD, "no");
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.becomes(MOLD, 1);
    assert_eq!(scene.feed(Event::Needed(0, vec![load(1, 0)])), ["Retire(1, Idle)"]);
    scene.mold_ends(MOLD, 0);
    scene.pass(Duration::from_secs(1));
    assert_eq!(scene.feed(Event::Fill), [""; 0]);
    scene.feed(Event::Wanted);
    assert_eq!(scene.feed(Event::Fill), ["StartMold"]);
}

#[test]
fn the_only_worker_that_is_wanted_is_tried_again_soon_however_few_are_kept() {
    let mut scene = Scene::serving(policy(0, 2));
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    scene.boot(MOLD, 1);
    scene.feed(Event::WorkerFailed(1, raised()));
    assert!(matches!(scene.read_log().last(), Some(LogLine::BootFailed { pause, .. }) if pause.as_millis() == 100));
    assert_eq!(scene.fleet.wanted, 1);
}

#[test]
fn what_a_mold_reports_under_one_name_says_nothing_about_another() {
    let mut scene = Scene::serving(policy(1, 1));
    let mut says = facts("yes");
    says.push(("bundler".to_owned(), "no".to_owned()));
    scene.feed(Event::MoldReady(MOLD, says));
    assert!(scene.fleet.says("fork", "yes") && !scene.fleet.says("parallel", "yes"));
    assert!(!scene.fleet.loads_in_workers());
}
