//! Orphans of servers. That they are adopted holds for the whole process, so this test has a program of its own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use loadgen::process::{Process, Tree, adopt, until};
use rustix::process::Signal;

const TIMEOUT: Duration = Duration::from_secs(20);

fn shell(script: &str, log: &Path) -> Process {
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", script]);
    Process::start("shell", command, log).expect("started")
}

#[test]
fn what_has_left_a_server_with_its_session_and_environment_is_its_own_and_waited_for() {
    adopt().expect("orphans");
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = shell("setsid sh -c 'env -i sleep 61 & exit 0'; exec sleep 62", &folder.path().join("server"));
    let tree = Tree { roots: vec![server.id()], orphans_since: server.since(), ..Tree::default() };
    let daemon = || tree.members().into_iter().find(|one| one.title.starts_with("sleep 61"));
    assert!(until(TIMEOUT, || daemon().is_some()), "{:?}", tree.members());
    let daemon = daemon().expect("it runs").id;
    let session = Tree { orphans_since: None, ..tree.clone() };
    assert!(session.members().iter().all(|one| one.id != daemon), "it is no longer in the session");
    assert!(tree.usage().rss_kib > session.usage().rss_kib);
    // How another child has ended is not lost, although it began later, and has not been waited for.
    let mut other = shell("exit 3", &folder.path().join("other"));
    let stat = format!("/proc/{}/stat", other.id());
    let is_zombie = || std::fs::read_to_string(&stat).is_ok_and(|text| text.contains(") Z "));
    assert!(until(TIMEOUT, is_zombie) && tree.members().iter().all(|one| one.id != other.id()));
    assert!(other.ended().is_some_and(|how| how.contains('3')));
    tree.signal_all(Signal::KILL);
    let is_there = || Path::new("/proc").join(daemon.to_string()).exists();
    assert!(until(TIMEOUT, || tree.is_gone() && !is_there()), "it has been waited for");
    assert!(until(TIMEOUT, || server.ended().is_some()));
}
