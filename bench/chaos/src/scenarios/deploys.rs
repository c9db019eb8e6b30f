//! New code under load: reloads that work, reloads that fail, and upgrades on the same sockets.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use loadgen::{Workload, check};
use rustix::process::Signal;

use crate::app;
use crate::findings::Findings;
use crate::load::Load;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Longest latency: requests during a reload may wait a little for processors, no more.
const LONGEST: Duration = Duration::from_secs(5);
/// Time until new code serves.
const NEW: Duration = Duration::from_secs(30);

/// Reloads on Sinatra.
pub fn storm(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::ruby(app::SINATRA, 2, 4);
    reloading(stage, &setup, &app::sinatra_with_posts()?)
}

/// Reloads on embedded interpreters.
pub fn storm_mruby(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::mruby(app::MRUBY, 8);
    reloading(stage, &setup, &app::mruby()?)
}

fn reloading(stage: &Stage, setup: &Setup, workload: &Workload) -> Result<Findings, String> {
    let mut findings = Findings::default();
    boots_as(stage, "1")?;
    let mut server = Server::start(stage, setup)?;
    let load = server.load(workload);
    let rounds = if stage.is_quick { 5 } else { 60 };
    for version in 2..rounds + 2 {
        stage.doing(format!("reloads to version {version}"));
        boots_as(stage, &version.to_string())?;
        let begun = Instant::now();
        reload(&server, &mut findings, None);
        findings
            .expect(serves(&server, version).is_ok(), || format!("version {version} is not served after its reload"));
        pause(Duration::from_secs(1).saturating_sub(begun.elapsed()));
    }
    findings.remark(format!("{rounds} reloads"));
    finish(&mut server, load, &mut findings, stage);
    server.end(&mut findings);
    Ok(findings)
}

/// New code that does not boot, fails its probe, or hangs: the old code goes on, and the command reports why.
pub fn broken(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::ruby(app::SINATRA, 2, 4).with(&["--probe", "/fit", "--boot-time", "8s"]);
    failing(stage, &setup, &app::sinatra_with_posts()?)
}

/// The same on embedded interpreters.
pub fn broken_mruby(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::mruby(app::MRUBY, 8).with(&["--probe", "/fit", "--boot-time", "8s"]);
    failing(stage, &setup, &app::mruby()?)
}

fn failing(stage: &Stage, setup: &Setup, workload: &Workload) -> Result<Findings, String> {
    let mut findings = Findings::default();
    boots_as(stage, "1")?;
    let mut server = Server::start(stage, setup)?;
    let load = server.load(workload);
    let rounds = if stage.is_quick { 1 } else { 4 };
    let mut version = 1;
    for _ in 0..rounds {
        for (word, says) in [("raise", "does not boot"), ("unfit", "500"), ("hang", "8s")] {
            stage.doing(format!("reloads an application that is to {word}"));
            boots_as(stage, word)?;
            reload(&server, &mut findings, Some(says));
            findings
                .expect(serves(&server, version).is_ok(), || format!("after {word}, the old version is not served"));
        }
        version += 1;
        stage.doing("reloads one that works");
        boots_as(stage, &version.to_string())?;
        reload(&server, &mut findings, None);
        findings
            .expect(serves(&server, version).is_ok(), || format!("version {version} is not served after its reload"));
    }
    findings.remark(format!("{rounds} times each: it does not boot, fails its probe, hangs, works"));
    finish(&mut server, load, &mut findings, stage);
    server.end(&mut findings);
    Ok(findings)
}

/// SIGUSR2: the program is started again and takes over the listening sockets.
pub fn upgrade(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    boots_as(stage, "1")?;
    let pidfile = stage.folder.join("pid");
    let setup = Setup::ruby(app::SINATRA, 2, 4).with(&["--pidfile", &pidfile.display().to_string()]);
    let mut server = Server::start(stage, &setup)?;
    let load = server.load(&app::sinatra_with_posts()?);
    let rounds = if stage.is_quick { 2 } else { 10 };
    for version in 2..rounds + 2 {
        stage.doing(format!("upgrades to version {version}"));
        boots_as(stage, &version.to_string())?;
        let is_new = upgraded(stage, &mut server, &pidfile, &mut findings, |server| serves(server, version).is_ok());
        if !is_new {
            findings
                .complain(format!("{NEW:?} after SIGUSR2 it is not version {version} of a new process that serves"));
            break;
        }
    }
    findings.remark(format!("{rounds} upgrades"));
    finish(&mut server, load, &mut findings, stage);
    server.end(&mut findings);
    Ok(findings)
}

/// Upgrades the program; returns whether there is a new process for which `is_there` holds.
pub(super) fn upgraded(
    stage: &Stage,
    server: &mut Server,
    pidfile: &Path,
    findings: &mut Findings,
    is_there: impl Fn(&Server) -> bool,
) -> bool {
    let before = server.id;
    server.signal(Signal::USR2);
    let is_new = pace::within(NEW, || {
        let text = fs::read_to_string(pidfile).unwrap_or_default();
        let id = text.trim().parse().unwrap_or(before);
        if id != before {
            server.succeeded_by(id);
        }
        id != before && is_there(server)
    });
    if is_new {
        let is_gone = pace::within(NEW, || !stage.processes().iter().any(|one| one.id == before && !one.is_zombie));
        findings.expect(is_gone, || format!("the old process {before} has not ended {NEW:?} after its upgrade"));
        let bad_end = server.bad_end_of(before);
        findings.complaints.extend(bad_end.map(|how| format!("the old process {before} ended with {how}")));
    }
    is_new
}

pub(super) fn finish(server: &mut Server, load: Load, findings: &mut Findings, stage: &Stage) {
    stage.doing("goes on for a moment");
    pause(Duration::from_millis(500));
    findings.count("the clients", &load.end(), &[]);
    findings.bound(LONGEST);
    server.wait_for_recovery(findings);
    let mut molds = Vec::new();
    let is_one = pace::within(NEW, || {
        molds = server.processes().into_iter().filter(|one| one.title.starts_with("foolsgold: mold")).collect();
        molds.len() <= 1
    });
    findings.expect(is_one, || format!("{} molds are left, not one", molds.len()));
}

/// Sets how the application boots from now on.
pub(super) fn boots_as(stage: &Stage, word: &str) -> Result<(), String> {
    fs::write(stage.folder.join("boot"), word).map_err(|error| format!("boot: {error}"))
}

/// Reloads by the command, which must succeed, or fail with this text.
pub(super) fn reload(server: &Server, findings: &mut Findings, says: Option<&str>) {
    let output = match server.command(&["reload"]) {
        Ok(output) => output,
        Err(why) => return findings.complain(why),
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    match says {
        None => findings.expect(output.status.success(), || format!("a reload failed: {text}")),
        Some(says) => findings.expect(!output.status.success() && text.contains(says), || {
            format!("a reload that must fail with {says:?} in its words ended with {}: {text}", output.status)
        }),
    }
}

pub(super) fn serves(server: &Server, version: u32) -> Result<(), String> {
    let ask = format!(r#"{{ "path": "/version", "exactly": "version {version}\n" }}"#);
    check(server.port, &app::workload(&[&ask])?)
}
