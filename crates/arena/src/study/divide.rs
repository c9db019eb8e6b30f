//! Division of a request's time, per case: after all turns in a family each contender is started once more, with its
//! application behind the arena's middleware, and loaded briefly. This does not affect the figures of the turns.

use super::behind;
use super::contest::{Facts, Keep, Turn};
use super::plan::{PlannedCase, divided_s};
use super::recipe::Tool;
use super::watcher::Watcher;
use crate::contender::Server;
use crate::measure::{QUEUE_LEFT, shortened};
use crate::record::Sample;
use crate::record::date::now;
use loadgen::metric::{DIVIDED_REQUESTS, RUN_QUEUE};
use loadgen::{Divided, Division};

/// Seconds of warm-up before the divided load.
const WARM_UP_S: f64 = 0.5;

impl Turn<'_> {
    /// Measures where the time of a request goes, in those of the turn's cases that are loads at full speed. A case for
    /// which that is impossible gets a sample with the reason, which is no failure; a wrong answer disqualifies, as in
    /// any load. Of its facts there is only whether the server stopped as it should.
    pub fn divide(&self, keep: &mut Keep, watcher: &dyn Watcher) -> Result<Facts, String> {
        watcher.doing(&format!("round {}: where the time of {} goes", self.round, self.entry.name()));
        let server = self.start_behind();
        for case in &self.cases {
            let Some(seconds) = case.divided_s() else { continue };
            let started = now();
            let sample = match &server {
                Ok(server) => self.divided(case, seconds, server),
                Err(why) => undivided(why, None),
            };
            keep(self.sample(case, Sample { started, ..sample }))?;
        }
        // One that did not start has nothing to stop; its samples say why.
        let was_started = server.is_ok();
        let stopped = server.and_then(|server| server.stop());
        if let Err(why) = &stopped {
            watcher.said(&format!("{}: {why}", self.entry.name()));
        }
        watcher.passed(divided_s(self.cases.iter().copied()));
        let in_words = |why: String| format!("round {}, where its time was divided: {}", self.round, shortened(&why));
        Ok(Facts { not_stopped: stopped.err().filter(|_| was_started).map(in_words), ..Facts::default() })
    }

    fn start_behind(&self) -> Result<Server, String> {
        if !self.recipe.names_its_app() {
            return Err(
                "its recipe does not name the application, which would run behind the arena's middleware".into()
            );
        }
        let rackup = behind::middleware(self.common.environment, self.common.app, self.start_of_app())?;
        Ok(self.ready(Server::start(self.wanted(&rackup, "-time"))?)?.server)
    }

    fn divided(&self, case: &PlannedCase, seconds: f64, server: &Server) -> Sample {
        let since = std::time::Instant::now();
        let port = server.port();
        if let Err(not) = loadgen::judge_patiently(port, &self.family.workload, QUEUE_LEFT) {
            return undivided(&not.words, not.is_wrong.then_some(&not.words));
        }
        let warmth = self.warmed_up_for_loads(server, WARM_UP_S);
        if let Err(why) = server.check_counts() {
            return undivided(&why, warmth.wrong.as_ref());
        }
        let is_kept = !matches!(case.tool, Tool::Ab | Tool::Siege);
        let plan = Division { clients: case.clients, seconds, keep: is_kept };
        let before = server.usage();
        let Divided { numbers, wrong } = loadgen::divide(port, &self.family.workload, &plan);
        let wrong = warmth.wrong.or(wrong);
        let mut numbers = match numbers {
            Ok(numbers) => numbers,
            Err(why) => return undivided(&why, wrong.as_ref()),
        };
        let waited_us = server.usage().delay_us.saturating_sub(before.delay_us) as f64;
        let answers = numbers.get(DIVIDED_REQUESTS).copied().unwrap_or(0.0);
        numbers.insert(RUN_QUEUE.into(), waited_us / 1e3 / answers.max(1.0));
        let command = plan.in_words();
        let took_s = since.elapsed().as_secs_f64();
        Sample { command, numbers, took_s, disqualified: disqualified(wrong.as_ref()), ..Sample::default() }
    }
}

/// A sample without a division of time, for this reason; a wrong answer disqualifies.
fn undivided(why: &str, wrong: Option<&String>) -> Sample {
    Sample { undivided: Some(shortened(why)), disqualified: disqualified(wrong), ..Sample::default() }
}

fn disqualified(wrong: Option<&String>) -> Option<String> {
    wrong.map(|wrong| shortened(&format!("wrong answer while its time was divided: {wrong}")))
}
