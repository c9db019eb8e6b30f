//! Services that an application needs, started before its first contender and stopped after the last.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::recipe::ServiceName;
use super::service::Postgres;
use crate::environment::Environment;
use loadgen::process::{Process, until};

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Running services, and the environment variables that describe them.
#[derive(Default)]
pub struct Services {
    /// Environment variables for every contender.
    pub env: BTreeMap<String, String>,
    /// Processes and databases, which stop when dropped.
    _running: (Vec<Process>, Vec<Postgres>),
}

impl Services {
    /// Starts the services that a study names. `app` is the application's path in the environment.
    pub fn start(
        names: &[ServiceName],
        environment: &Environment,
        app: &Path,
        logs: &Path,
    ) -> Result<Services, String> {
        let mut services = Services::default();
        for name in names {
            match name {
                ServiceName::Postgresql => services.add_postgres(environment, app, logs)?,
                ServiceName::Upstream => services.add_upstream(environment, app, logs)?,
            }
        }
        Ok(services)
    }

    fn add_postgres(&mut self, environment: &Environment, app: &Path, logs: &Path) -> Result<(), String> {
        let postgres = Postgres::start(&logs.join("postgresql.log"))?;
        self.env.insert("DATABASE_URL".into(), postgres.url("rails_posts"));
        let mut prepare = environment.command("ruby", app);
        prepare.arg("bin/prepare").envs(&self.env).env("RAILS_ENV", "production").stdin(Stdio::null());
        let output = prepare.output().map_err(|error| format!("bin/prepare: {error}"))?;
        if !output.status.success() {
            return Err(format!("bin/prepare: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        self._running.1.push(postgres);
        Ok(())
    }

    fn add_upstream(&mut self, environment: &Environment, app: &Path, logs: &Path) -> Result<(), String> {
        let log = logs.join("upstream.log");
        // It is stopped with this program, even if that is killed.
        let before = ["setpriv", "--pdeathsig", "TERM"].map(str::to_owned);
        let mut command = environment.command_behind(&before, "ruby", app, &BTreeMap::new());
        command.args(["upstream.rb", "0"]);
        let mut process = Process::start("upstream", command, &log)?;
        let address = || {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let word = said.split_whitespace().find(|word| word.starts_with("http://"))?;
            Some(word.trim_end_matches(['.', ',']).to_owned())
        };
        until(START_TIMEOUT, || process.ended().is_some() || address().is_some());
        let address = address().ok_or_else(|| format!("the upstream does not start; see {}", log.display()))?;
        self.env.insert("FEED_URL".into(), address);
        self._running.0.push(process);
        Ok(())
    }
}
