//! Division of a request's time, per case: after all turns in a family each contender is started once more, with its
//! application behind the arena's middleware, and loaded briefly. This does not affect the figures of the turns.

use super::behind;
use super::contest::{Keep, Turn};
use super::plan::{Case, divided_s};
use super::recipe::Tool;
use super::watcher::Watcher;
use crate::contender::Server;
use crate::measure::{QUEUE_LEFT, shortened};
use crate::record::Sample;
use crate::record::date::now;
use loadgen::Division;
use loadgen::metric::{DIVIDED_REQUESTS, RUN_QUEUE};

/// Seconds of warm-up before the divided load.
const WARM_UP_S: f64 = 0.5;

impl Turn<'_> {
    /// Divides the time of its cases that are loads at full speed. A failure is recorded, and does not count against
    /// the contender.
    pub fn divide(&self, keep: &mut Keep, watcher: &dyn Watcher) -> Result<(), String> {
        watcher.doing(&format!("round {}: where the time of {} goes", self.round, self.entry.name()));
        let server = self.start_behind();
        for case in &self.cases {
            let Some(seconds) = case.divided_s() else { continue };
            let started = now();
            let divided = match &server {
                Ok(server) => self.divided(case, seconds, server),
                Err(why) => Err(why.clone()),
            };
            keep(divided.unwrap_or_else(|why| {
                let sample = Sample { started, undivided: Some(shortened(&why)), ..Sample::default() };
                self.sample(case, sample)
            }))?;
        }
        if let Err(why) = server.and_then(|server| server.stop()) {
            watcher.said(&format!("{}: {why}", self.entry.name()));
        }
        watcher.passed(divided_s(self.cases.iter().copied()));
        Ok(())
    }

    fn start_behind(&self) -> Result<Server, String> {
        let rackup = behind::middleware(self.environment, self.app, self.start_of_app())?;
        Ok(self.ready(Server::start(self.wanted(&rackup, "-time"))?)?.server)
    }

    fn divided(&self, case: &Case, seconds: f64, server: &Server) -> Result<Sample, String> {
        let started = now();
        let since = std::time::Instant::now();
        let port = server.port();
        loadgen::check_patiently(port, &self.family.workload, QUEUE_LEFT)?;
        self.warmed_up_for_loads(server, WARM_UP_S);
        let is_kept = !matches!(case.tool, Tool::Ab | Tool::Siege);
        let plan = Division { clients: case.clients, seconds, keep: is_kept };
        let before = server.usage();
        let mut numbers = loadgen::divide(port, &self.family.workload, &plan)?;
        let waited_us = server.usage().delay_us.saturating_sub(before.delay_us) as f64;
        let answers = numbers.get(DIVIDED_REQUESTS).copied().unwrap_or(0.0);
        numbers.insert(RUN_QUEUE.into(), waited_us / 1e3 / answers.max(1.0));
        let command = plan.in_words();
        let took_s = since.elapsed().as_secs_f64();
        Ok(self.sample(case, Sample { started, command, numbers, took_s, ..Sample::default() }))
    }
}
