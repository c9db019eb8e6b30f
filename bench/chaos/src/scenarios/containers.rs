//! Servers in containers: with a read-only root file system, and as process 1.

use std::time::Duration;

use loadgen::Workload;

use super::strangers::{APP, short};
use crate::app;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::processes::ProcessInfo;
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Longest latency: a load or a fork may cause a wait.
const LONGEST: Duration = Duration::from_secs(6);
/// Size of bodies that are kept in files.
const BODY_BYTES: usize = 600_000;
/// The only writable folder, as in a container with a read-only root.
const SHM: &str = "/dev/shm";
/// Time for orphans, which end within a second, to be reaped.
const REAP_TIME: Duration = Duration::from_secs(10);

/// Every file system except shared memory is read-only.
pub fn read_only(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for (which, setup) in [("ruby", Setup::ruby(APP, 2, 3)), ("mruby", Setup::mruby(app::MRUBY, 8))] {
        // The control socket needs a writable folder.
        let control = format!("{SHM}/{}-{which}.sock", stage.folder.file_name().unwrap_or_default().display());
        let server = Server::start(stage, &Setup { control: Some(control.into()), ..locked(setup) })?;
        stage.doing(format!("sends large bodies ({which})"));
        let load = server.load_of(&bodies()?, 16);
        pause(stage.lasts(15.0, 3.0));
        server.reload(&mut findings);
        pause(stage.lasts(10.0, 3.0));
        findings.count(which, &load.end(), &[]);
        findings.bound(LONGEST);
        findings = server.recover_and_end(findings);
    }
    Ok(findings)
}

/// Runs the server in a mount namespace without writable file systems. Open files, such as the log, stay writable.
fn locked(mut setup: Setup) -> Setup {
    let lock = format!(
        "for place in $(awk '{{ print $5 }}' /proc/self/mountinfo); do case $place in {SHM}|/proc*|/sys*|/dev*) ;; \
         *) mount -o remount,bind,ro \"$place\" || exit 1 ;; esac; done; \
         if touch ./written 2>/dev/null; then echo 'this folder can still be written'; exit 1; fi; exec \"$@\""
    );
    setup.before = ["unshare", "--mount", "sh", "-c", &lock, "sh"].map(str::to_owned).to_vec();
    setup
}

fn bodies() -> Result<Workload, String> {
    let body = "gold".repeat(BODY_BYTES / 4);
    let rest = r#""headers": { "content-type": "application/octet-stream" }"#;
    let large =
        format!(r#"{{ "path": "/length", "method": "POST", "body": "{body}", "exactly": "{BODY_BYTES}\n", {rest} }}"#);
    app::workload(&[&large, r#"{ "path": "/short", "exactly": "short\n" }"#])
}

/// As process 1 of a PID namespace, with an application that leaves orphans: none stays a zombie, and a reload works.
pub fn orphans(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let mut setup = Setup::ruby(APP, 2, 3);
    setup.before = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"].map(str::to_owned).to_vec();
    let mut server = Server::start(stage, &setup)?;
    // Signals are for process 1, the child of unshare.
    let first = server.processes().into_iter().find(|one| one.parent == server.id).map(|one| one.id);
    server.id = first.ok_or("unshare has no child")?;
    let load = server.load_of(&short()?, 8);
    let leaving = server.load_of(&app::workload(&[r#"{ "path": "/orphans", "exactly": "orphans\n" }"#])?, 2);
    stage.doing("leaves orphans");
    pause(stage.lasts(15.0, 3.0));
    server.reload(&mut findings);
    pause(stage.lasts(15.0, 3.0));
    let left = leaving.end();
    findings.count("those who leave orphans", &left, &[]);
    findings.remark(format!("{} orphans were left behind", 2 * left.right));
    findings.count("the clients", &load.end(), &[]);
    findings.bound(LONGEST);
    let mut zombies: Vec<ProcessInfo> = Vec::new();
    let are_reaped = pace::within(REAP_TIME, || {
        zombies = stage.processes().into_iter().filter(|one| one.is_zombie).collect();
        zombies.is_empty()
    });
    let words = |all: &[ProcessInfo]| all.iter().take(3).map(ProcessInfo::in_words).collect::<Vec<_>>().join(", ");
    findings.expect(are_reaped, || format!("{} zombies after {REAP_TIME:?}: {}", zombies.len(), words(&zombies)));
    Ok(server.recover_and_end(findings))
}
