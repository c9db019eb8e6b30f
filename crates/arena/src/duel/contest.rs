//! The second half of a duel: heats that choose settings, rounds of the finalists, and the summary.

use std::time::Instant;

use crate::record::summary::{FORMAT, Summary, Who};
use crate::record::{TWIN, machine};
use loadgen::metric::{RATE, rate_in_words};

use super::advise::advise;
use super::capture::shortened;
use super::choice::Criteria;
use super::contenders::{Contender, remaining};
use super::options::Today;
use super::run::Duel;
use super::settings::Setting;
use super::successive_halving::{Candidate, HeatResult, best, finalists};
use super::traffic_turn::TrafficShape;
use super::turn::{Account, LoadStage};
use super::{cases, caveats, strain, summing, traffic};

/// A contender, by its index in the list, with a setting.
type DuelEntry = (usize, Setting);

/// Results of a heat.
struct Heat {
    /// Results by contender.
    shown: Vec<Vec<HeatResult>>,
    /// Entries for which the budget of time was too short.
    left_out: Vec<DuelEntry>,
}

impl Duel<'_> {
    /// Tries all settings briefly and the better ones longer. Returns the finalists of the rounds.
    pub(super) fn heats(&mut self, stage: &LoadStage<'_>, here: &mut [Contender]) -> Result<Vec<DuelEntry>, String> {
        let all = here.iter().enumerate().flat_map(|(at, one)| one.settings.iter().map(move |setting| (at, *setting)));
        let mut entries: Vec<DuelEntry> = all.collect();
        let mut shown = self.heat(stage, here, &mut entries, 1)?.shown;
        if self.plan.second_heat_s > 0.0 {
            let mut better = Vec::new();
            for (at, one) in here.iter().enumerate() {
                let settings = best(&shown[at], 2, self.setting_now(one));
                // A contender with one setting needs no second heat.
                better.extend(settings.into_iter().map(|setting| (at, setting)).filter(|_| shown[at].len() > 1));
            }
            let heat = self.heat(stage, here, &mut better, 2)?;
            for (at, longer) in heat.shown.into_iter().enumerate() {
                // Where time was short for one of its settings, the first heat compares them.
                let is_whole = !heat.left_out.iter().any(|(one, _)| *one == at);
                if is_whole && !longer.is_empty() {
                    shown[at] = longer;
                }
            }
        }
        let mut finalists = Vec::new();
        for (at, one) in here.iter().enumerate() {
            finalists.extend(best(&shown[at], 1, self.setting_now(one)).into_iter().map(|setting| (at, setting)));
        }
        let rate = |(at, setting): &DuelEntry| {
            shown[*at].iter().find(|one| one.setting == *setting).map_or(0.0, |one| one.rate)
        };
        self.thin_out(here, finalists, &rate)
    }

    /// Runs one heat of these entries in random order. Where the budget of time would not suffice for a round
    /// afterwards, it leaves out entries: all in the second heat, and in the first one those that are neither the first
    /// of a contender nor the user's own.
    fn heat(
        &mut self,
        stage: &LoadStage<'_>,
        here: &mut [Contender],
        entries: &mut [DuelEntry],
        number: u32,
    ) -> Result<Heat, String> {
        let load_s = if number == 1 { self.plan.first_heat_s } else { self.plan.second_heat_s };
        let turn_s = self.plan.heat_s(load_s);
        let mut heat = Heat { shown: vec![Vec::new(); here.len()], left_out: Vec::new() };
        // Contenders of which a setting has to be tried still.
        let mut untried: Vec<usize> = if number == 1 { (0..here.len()).collect() } else { Vec::new() };
        self.rng.shuffle(entries);
        for (at, setting) in entries.iter().copied() {
            let planned_s = turn_s + here[at].start_s;
            let has_to = untried.contains(&at) || (number == 1 && self.setting_now(&here[at]) == Some(setting));
            untried.retain(|one| *one != at);
            let untried_s: f64 = untried.iter().map(|one| turn_s + here[*one].start_s).sum();
            if !has_to && !self.has_time_for(planned_s + untried_s + self.usual_round_s(here)) {
                heat.left_out.push((at, setting));
                continue;
            }
            let name = here[at].name_with(setting);
            let since = self.begins(format!("heat {number}: {name}"));
            let plan = self.plan;
            let turn = |stage: &LoadStage<'_>, one: &mut Contender| stage.heat(one, setting, &plan, number, load_s);
            let account = self.fair_turn(stage, here, (at, setting), &turn);
            if let Some((rate, p99_ms)) = account.full() {
                heat.shown[at].push(HeatResult { setting, rate, p99_ms });
            }
            here[at].start_s = here[at].start_s.max(account.start_s());
            self.record(&here[at], setting, account)?;
            self.ends(since, planned_s);
        }
        if !heat.left_out.is_empty() {
            let names: Vec<String> = heat.left_out.iter().map(|(at, setting)| here[*at].name_with(*setting)).collect();
            let what = if number == 1 { "tried at all" } else { "tried longer" };
            let words = format!("the budget of time was too short, so these were not {what}: {}", names.join(", "));
            self.caveats.push(words.clone());
            self.says(words);
        }
        Ok(heat)
    }

    /// Planned seconds of a round, before it is known which of these contenders are in it.
    fn usual_round_s(&self, here: &[Contender]) -> f64 {
        let remaining = remaining(here, &[], self.now.is_some());
        let twins = usize::from(self.plan.has_twin());
        let turns_s = (remaining.finalists + twins) as f64 * (self.plan.turn_s() + self.plan.traffic_s());
        turns_s + remaining.start_s * self.plan.turns_in_round(remaining.finalists) as f64
    }

    /// Planned seconds of a round of these entries.
    fn round_s(&self, here: &[Contender], entries: impl Iterator<Item = DuelEntry>) -> f64 {
        let starts = f64::from(1 + u8::from(self.plan.traffic.is_some()));
        let turn_s = self.plan.turn_s() + self.plan.traffic_s();
        entries.map(|(at, _)| turn_s + starts * here[at].start_s).sum()
    }

    /// Chooses the finalists: the best of each server, the user's own, and the fastest of the rest.
    fn thin_out(
        &mut self,
        here: &[Contender],
        mut entries: Vec<DuelEntry>,
        rate: &dyn Fn(&DuelEntry) -> f64,
    ) -> Result<Vec<DuelEntry>, String> {
        entries.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        let fastest = entries.first().map_or(0.0, rate);
        let candidate = |entry: &DuelEntry| {
            let one = &here[entry.0];
            let is_own = self.now.as_ref().is_some_and(|now| now.server == one.name());
            Candidate { server: one.server(), rate: rate(entry), is_own }
        };
        let candidates: Vec<Candidate<'_>> = entries.iter().map(candidate).collect();
        let mut stay = Vec::new();
        let mut go = Vec::new();
        for (entry, stays) in entries.iter().zip(finalists(&candidates)) {
            if stays {
                stay.push(*entry);
            } else {
                go.push(format!("{} with {:.0} requests/s", here[entry.0].name_with(entry.1), rate(entry)));
            }
        }
        if !go.is_empty() {
            self.says(format!(
                "not in the rounds, after the heats (the best had {fastest:.0} requests/s): {}",
                go.join(", ")
            ));
        }
        let names: Vec<String> = stay.iter().map(|(at, setting)| here[*at].name_with(*setting)).collect();
        if !names.is_empty() {
            self.says(format!("in the rounds: {}", names.join(", ")));
        }
        let rounds = self.plan.rounds;
        let turns = self.plan.turns_in_round(stay.len());
        self.turns.1 = self.turns.0 + turns * rounds as usize;
        let twin = stay.first().copied().filter(|_| self.plan.has_twin());
        self.clock.replan(f64::from(rounds) * self.round_s(here, stay.iter().copied().chain(twin)));
        Ok(stay)
    }

    /// Runs the rounds, in each of which every finalist has a turn, in random order. A disqualified one has no further
    /// turns.
    pub(super) fn rounds(
        &mut self,
        stage: &LoadStage<'_>,
        here: &mut [Contender],
        finalists: &[DuelEntry],
    ) -> Result<(), String> {
        let mut left: Vec<(DuelEntry, bool)> = finalists.iter().map(|entry| (*entry, false)).collect();
        // One finalist has a second turn in each round, as if it were another: any difference between the two is noise.
        let original = finalists.get(self.rng.below(finalists.len())).filter(|_| self.plan.has_twin());
        self.twin_of = original.map(|(at, setting)| here[*at].name_with(*setting));
        left.extend(original.map(|entry| (*entry, true)));
        // Seconds that the last round took, if all of it can be expected of the next one.
        let mut last_s = 0.0;
        for round in 1..=self.plan.rounds {
            self.rng.shuffle(&mut left);
            let mut out = Vec::new();
            // A round that would not end in time is not begun, so that all have the same number of turns.
            let planned_s = self.round_s(here, left.iter().map(|(entry, _)| *entry));
            let begin = Instant::now();
            if round == 1 && !self.has_time_for(planned_s) {
                let words = "the budget of time was too short for a whole round; one was run all the same, since \
                             without it nothing could be said";
                self.caveats.push(words.to_owned());
                self.says(words.to_owned());
            }
            if round > 1 && !self.has_time_for(planned_s.max(last_s)) {
                let words =
                    format!("the budget of time was used up after {} of {} rounds", round - 1, self.plan.rounds);
                self.caveats.push(words.clone());
                self.says(words);
                return Ok(());
            }
            for ((at, setting), is_twin) in left.iter().copied() {
                let name = here[at].name_with(setting);
                let since = self.begins(format!("round {round} of {}: {name}{}", self.plan.rounds, again(is_twin)));
                let plan = self.plan;
                let turn = |stage: &LoadStage<'_>, one: &mut Contender| stage.turn(one, setting, &plan, round);
                let account = self.fair_turn(stage, here, (at, setting), &turn);
                let mut is_out = self.record_turn(&here[at], setting, is_twin, account)?;
                self.ends(since, plan.turn_s() + here[at].start_s);
                if !is_out {
                    is_out = self.traffic(stage, here, (at, setting), is_twin, round)?;
                }
                out.extend((is_out && !is_twin).then_some((at, setting)));
            }
            last_s = if out.is_empty() { begin.elapsed().as_secs_f64() } else { 0.0 };
            left.retain(|(entry, _)| !out.contains(entry));
        }
        Ok(())
    }

    /// Runs a turn at the user's rate, if there is one. True if it disqualifies.
    fn traffic(
        &mut self,
        stage: &LoadStage<'_>,
        here: &mut [Contender],
        (at, setting): DuelEntry,
        is_twin: bool,
        round: u32,
    ) -> Result<bool, String> {
        let Some(rate) = self.options.rate.as_ref().filter(|_| self.plan.traffic.is_some()) else { return Ok(false) };
        let name = here[at].name_with(setting);
        let rounds = self.plan.rounds;
        let per_s = rate_in_words(rate.per_s);
        let since = self.begins(format!("round {round} of {rounds}: {name} at {per_s}/s{}", again(is_twin)));
        let shape = TrafficShape {
            round,
            times: strain::multiples(rate.per_s, self.capacity_of(&name)),
            smaller: strain::smaller(machine::cores()),
            per_s: rate.per_s,
            limits: self.limits,
        };
        let plan = self.plan;
        let turn = |stage: &LoadStage<'_>, one: &mut Contender| stage.traffic(one, setting, &plan, &shape);
        let account = self.fair_turn(stage, here, (at, setting), &turn);
        let is_out = self.record_turn(&here[at], setting, is_twin, account)?;
        self.ends(since, plan.traffic_s() + here[at].start_s);
        Ok(is_out)
    }

    /// Records the samples of a turn of a round. True if it disqualifies.
    fn record_turn(
        &mut self,
        one: &Contender,
        setting: Setting,
        is_twin: bool,
        account: Account,
    ) -> Result<bool, String> {
        let is_out = account.disqualified.is_some();
        if is_twin {
            self.record_twin(one, setting, account)?
        } else {
            self.record(one, setting, account)?
        };
        Ok(is_out)
    }

    /// Requests per second of a contender in its last heat. The multiples of the user's rate that are tried depend on
    /// it, and are the same in all rounds.
    fn capacity_of(&self, name: &str) -> f64 {
        let heats = self.samples.iter().filter(|sample| sample.is_of(cases::SETTINGS, name));
        heats.filter_map(|sample| sample.numbers.get(RATE)).next_back().copied().unwrap_or(0.0)
    }

    /// Records the samples of this contender's twin under the twin's name, and shows the notes of its turn.
    fn record_twin(&mut self, one: &Contender, setting: Setting, mut account: Account) -> Result<(), String> {
        self.show_notes(&format!("{} as its own twin", one.name_with(setting)), &mut account);
        for mut sample in account.samples {
            TWIN.clone_into(&mut sample.contender);
            self.listener.sample(&sample)?;
            self.samples.push(sample);
        }
        Ok(())
    }

    /// Records the samples of a turn, shows its notes, and updates the contender's entry with its commands and counts.
    fn record(&mut self, one: &Contender, setting: Setting, mut account: Account) -> Result<(), String> {
        let name = one.name_with(setting);
        self.show_notes(&name, &mut account);
        for sample in &account.samples {
            self.listener.sample(sample)?;
        }
        self.samples.extend(account.samples);
        let place = self.whos.iter().position(|who| who.name == name).unwrap_or_else(|| {
            self.whos.push(one.who(setting));
            self.whos.len() - 1
        });
        let who: &mut Who = &mut self.whos[place];
        if let Some((workers, threads)) = account.counted {
            (who.counted_workers, who.counted_threads) = (Some(workers), Some(threads));
        }
        if !account.commands.is_empty() {
            who.commands = account.commands;
        }
        Ok(())
    }

    /// Shows the notes of a turn of this name: why it is disqualified, what changed, and what else was noted.
    fn show_notes(&mut self, name: &str, account: &mut Account) {
        if let Some(why) = &account.disqualified {
            self.warns(&format!("{name} is disqualified: {why}"));
        }
        let changed = shortened(std::mem::take(&mut account.changed)).join("; ");
        if !changed.is_empty() {
            self.says(format!("{name} answers otherwise than before, which was learned: {changed}"));
        }
        for note in std::mem::take(&mut account.notes) {
            self.says(format!("{name}: {note}"));
        }
    }

    /// Sums up the whole duel.
    pub(super) fn summary(mut self, started: String, stage: &LoadStage<'_>) -> Summary {
        // A relative path such as `config.ru` names no folder.
        let rackup = self.options.rackup.canonicalize().unwrap_or_else(|_| self.options.rackup.clone());
        let folder = rackup.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        let cases = summing::cases(&self.samples, stage.clients, self.options.rate.as_ref().map(|rate| rate.per_s));
        let mut caveats = std::mem::take(&mut self.caveats);
        caveats.extend(caveats::of_samples(&self.samples));
        caveats.extend(caveats::of_twin(&self.samples, self.twin_of.as_deref()));
        caveats.extend(caveats::of_slow_starters(&self.whos, self.plan.warm_s));
        caveats.extend(caveats::of_machine(machine::cores()));
        let traffic = self.options.rate.as_ref().and_then(|rate| {
            let is_said = self.options.p99_max_ms.is_some();
            traffic::summed(rate, &self.limits, is_said, &self.samples, &self.whos, self.twin_of.as_deref())
        });
        let plots = summing::plots(&cases, traffic.as_ref());
        let mut summary = Summary {
            format: FORMAT,
            study: "duel".to_owned(),
            title: format!("Duel for {folder}").trim_end().to_owned(),
            question: "Which server, with how many workers and threads, is best for this app on this machine?"
                .to_owned(),
            about: about(self.options.is_quick),
            is_quick: self.options.is_quick,
            started,
            took_s: Instant::now().duration_since(self.begin).as_secs_f64(),
            rounds: summing::rounds(&self.samples),
            command: self.options.command.clone(),
            machine: machine::facts(),
            contenders: self.whos,
            twin_of: self.twin_of,
            plots,
            traffic,
            verdicts: summing::verdicts(&cases),
            cases,
            notes: self.notes,
            ..Summary::default()
        };
        let now = self.now.as_ref().map(Today::name);
        let criteria = Criteria { now, p99_max_ms: self.options.p99_max_ms, caveats };
        summary.advice = Some(advise(&summary, &criteria));
        traffic::tell(&mut summary);
        summary
    }
}

/// Suffix that marks a turn of the twin.
fn again(is_twin: bool) -> &'static str {
    if is_twin { ", once more" } else { "" }
}

fn about(is_quick: bool) -> Vec<String> {
    let mut about = vec![
        "Each contender is started with several numbers of workers and threads. All settings are loaded briefly; the \
         best of each goes on to rounds in random order."
            .to_owned(),
        "In a round each is warmed up and loaded as much as it can take, in a closed loop, then at 50, 80 and 100 % of \
         that in an open loop, where a wait counts from the time at which the request should have been sent."
            .to_owned(),
        "The right answers were learned from one of them before; every answer under load was checked against them."
            .to_owned(),
    ];
    about.extend(
        is_quick.then(|| "This is the quick form: its figures show that all is well, and little more.".to_owned()),
    );
    about
}
