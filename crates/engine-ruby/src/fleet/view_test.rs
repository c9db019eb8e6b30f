//! The view in each state.

use std::time::Duration;

use super::super::scene::{MOLD, Scene, facts, pid, policy};
use crate::exit_reason::ExitReason;
use crate::fleet::event::Event;

fn states(scene: &Scene) -> Vec<String> {
    scene.fleet.view().workers.into_iter().map(|(_, worker)| worker.state).collect()
}

#[test]
fn a_worker_is_booting_ready_draining_or_hung() {
    let mut scene = Scene::serving(policy(2, 2));
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    scene.feed(Event::Fill);
    assert_eq!(states(&scene), ["draining", "ready", "booting"]);
    scene.boot(MOLD, 3);
    (0..20).for_each(|_| drop(scene.check_health(Duration::from_secs(1))));
    assert_eq!(states(&scene), ["hung", "hung", "booting"]);
    assert_eq!(scene.fleet.view().processes, 3);
}

#[test]
fn all_workers_are_there_when_as_many_serve_as_there_may_be() {
    let mut scene = Scene::serving(policy(1, 2));
    assert!(!scene.fleet.view().is_complete, "one may be added");
    scene.feed(Event::Wanted);
    scene.feed(Event::Fill);
    assert!(!scene.fleet.view().is_complete, "it boots");
    scene.serve(MOLD, 2);
    assert!(scene.fleet.view().is_complete);
    scene.feed(Event::Leaving(1, ExitReason::Recycle));
    assert!(!scene.fleet.view().is_complete, "one leaves, and another one takes its place");
}

#[test]
fn a_mold_is_loading_or_ready_and_none_when_it_is_a_worker() {
    let mut scene = Scene::new(policy(2, 2));
    let molds = |scene: &Scene| -> Vec<(u32, String)> {
        scene.fleet.view().molds.into_iter().map(|mold| (mold.pid, mold.state)).collect()
    };
    scene.feed(Event::Fill);
    assert_eq!(molds(&scene), [(MOLD, "loading".to_owned())]);
    scene.mold_ready(MOLD, "no");
    assert_eq!(molds(&scene), [(MOLD, "ready".to_owned())]);
    scene.feed(Event::Fill);
    assert_eq!(molds(&scene), [(MOLD + 1, "loading".to_owned())]);
}

#[test]
fn a_process_loads_the_application_until_it_is_ready_a_mold_or_a_worker_that_loads_it_itself() {
    for (preload, of_worker) in [("yes", 0), ("no", 1)] {
        let mut scene = Scene::new(policy(1, 1));
        assert_eq!(scene.fleet.loading(), 0);
        scene.feed(Event::Fill);
        assert_eq!(scene.fleet.loading(), 1, "the mold");
        let mut says = facts("yes");
        says.push(("preload".to_owned(), preload.to_owned()));
        scene.feed(Event::MoldConnected(MOLD));
        scene.feed(Event::MoldReady(MOLD, says));
        scene.feed(Event::Fill);
        assert_eq!(scene.fleet.loading(), 0, "the worker has no process yet");
        scene.feed(Event::Forked { mold: MOLD, worker: 1, pid: pid(1) });
        assert_eq!(scene.fleet.loading(), of_worker, "{preload}");
        scene.feed(Event::WorkerConnected(1, pid(1)));
        scene.feed(Event::WorkerReady(1));
        assert_eq!(scene.fleet.loading(), 0, "{preload}");
    }
}

#[test]
fn the_runtime_is_ruby_rack_and_whether_the_application_is_preloaded() {
    let mut scene = Scene::new(policy(1, 1));
    scene.feed(Event::Fill);
    let says = [("ruby", "ruby 3.3.8 (2025)"), ("rack", "3.1"), ("preload", "no")];
    scene.feed(Event::MoldReady(MOLD, Vec::from(says.map(|(name, value)| (name.to_owned(), value.to_owned())))));
    assert_eq!(scene.fleet.view().runtime, "ruby 3.3.8, rack 3.1, loaded in each worker");
}
