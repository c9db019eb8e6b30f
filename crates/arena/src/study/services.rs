//! What an application needs beside itself, started before its first contender and ended after the last.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::recipe::ServiceName;
use super::service::Postgres;
use crate::place::Place;
use loadgen::process::{Process, until};

const PATIENCE: Duration = Duration::from_secs(30);

/// All of them, and what servers are told of them.
#[derive(Default)]
pub struct Services {
    /// For every contender.
    pub env: BTreeMap<String, String>,
    /// They end when this is dropped.
    _running: (Vec<Process>, Vec<Postgres>),
}

impl Services {
    /// Starts what a study names. The application's folder is given as the place knows it.
    pub fn start(names: &[ServiceName], place: &Place, app: &Path, logs: &Path) -> Result<Services, String> {
        let mut services = Services::default();
        for name in names {
            match name {
                ServiceName::Postgresql => services.add_postgres(place, app, logs)?,
                ServiceName::Upstream => services.add_upstream(place, app, logs)?,
            }
        }
        Ok(services)
    }

    fn add_postgres(&mut self, place: &Place, app: &Path, logs: &Path) -> Result<(), String> {
        let postgres = Postgres::start(&logs.join("postgresql.log"))?;
        self.env.insert("DATABASE_URL".into(), postgres.url("rails_posts"));
        let mut prepare = place.command("ruby", app);
        prepare.arg("bin/prepare").envs(&self.env).env("RAILS_ENV", "production").stdin(Stdio::null());
        let output = prepare.output().map_err(|error| format!("bin/prepare: {error}"))?;
        if !output.status.success() {
            return Err(format!("bin/prepare: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        self._running.1.push(postgres);
        Ok(())
    }

    fn add_upstream(&mut self, place: &Place, app: &Path, logs: &Path) -> Result<(), String> {
        let log = logs.join("upstream.log");
        // It ends with this program, also when that is killed.
        let before = ["setpriv", "--pdeathsig", "TERM"].map(str::to_owned);
        let mut command = place.command_behind(&before, "ruby", app, &BTreeMap::new());
        command.args(["upstream.rb", "0"]);
        let mut process = Process::start("upstream", command, &log)?;
        let address = || {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let word = said.split_whitespace().find(|word| word.starts_with("http://"))?;
            Some(word.trim_end_matches(['.', ',']).to_owned())
        };
        until(PATIENCE, || process.ended().is_some() || address().is_some());
        let address = address().ok_or_else(|| format!("the upstream does not start; see {}", log.display()))?;
        self.env.insert("FEED_URL".into(), address);
        self._running.0.push(process);
        Ok(())
    }
}
