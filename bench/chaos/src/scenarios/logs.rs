//! Log rotation under load: each request has a line, in the old file or in the new one.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::app;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Renames the log and sends SIGHUP, again and again.
pub fn rotation(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let log = stage.folder.join("server.log");
    let place = log.display().to_string();
    let mut setup = Setup::ruby(app::SINATRA, 2, 4).with(&["--access-log", "text", "--log-file", &place]);
    setup.log = Some(log.clone());
    let server = Server::start(stage, &setup)?;
    let load = server.load(&app::sinatra_with_posts()?);
    let rounds = if stage.is_quick { 3 } else { 20 };
    for round in 1..=rounds {
        pause(Duration::from_secs(1));
        stage.doing(format!("rotates the log, round {round}"));
        fs::rename(&log, stage.folder.join(format!("server.log.{round}"))).map_err(|error| error.to_string())?;
        server.signal(Signal::HUP);
        let is_there = pace::within(Duration::from_secs(5), || fs::metadata(&log).is_ok_and(|file| file.len() > 0));
        findings.expect(is_there, || format!("rotation {round}: there is no new log 5 s after SIGHUP"));
    }
    let count = load.end();
    findings.count("the clients", &count, &[]);
    findings.bound(Duration::from_secs(5));
    let mut findings = server.recover_and_end(findings);
    let lines = lines(stage)?;
    findings.remark(format!("{rounds} rotations; {lines} lines for {} requests", count.requests()));
    findings
        .expect(lines == count.requests(), || format!("{lines} lines in all logs for {} requests", count.requests()));
    Ok(findings)
}

/// Number of lines about requests in all files.
fn lines(stage: &Stage) -> Result<u64, String> {
    let entries = fs::read_dir(&stage.folder).map_err(|error| error.to_string())?.flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("server.log"));
    let text = |path| fs::read_to_string(path).map_err(|error| error.to_string());
    let mut all = 0;
    for entry in logs {
        let of_requests = |line: &&str| line.contains(" GET /") || line.contains(" POST /");
        all += text(entry.path())?.lines().filter(of_requests).count() as u64;
    }
    Ok(all)
}
