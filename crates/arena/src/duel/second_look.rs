//! Second check when a contender's answers change during a duel: either the application changed them (a time of day),
//! or the contender mixes answers up. The reference is asked again; only differences that its answers have, too, are
//! learned.

use std::time::Duration;

use super::capture::{self, AnswerTimeout, shortened};
use super::contenders::Contender;
use super::run::Duel;
use super::settings::ONE;
use super::turn::{Account, FIRST_LIMIT, LoadStage};

/// Turns that are repeated, at most, because pages changed.
const CHANGES_MAX: u32 = 2;
/// Time limit for asking the reference for all paths again.
const CHECK_LIMIT: Duration = Duration::from_secs(15);

impl Duel<'_> {
    /// Runs a turn of the contender at this index of the list, and repeats it if the application had changed its
    /// answers.
    pub(super) fn fair_turn(
        &mut self,
        stage: &LoadStage<'_>,
        here: &mut [Contender],
        at: usize,
        turn: &dyn Fn(&LoadStage<'_>, &mut Contender) -> Account,
    ) -> Account {
        for _ in 0..CHANGES_MAX {
            let before = here[at].learned.clone();
            let mut account = turn(stage, &mut here[at]);
            let is_suspect = account.disqualified.is_some() && !account.changed.is_empty();
            if !is_suspect {
                return account;
            }
            let changed = shortened(std::mem::take(&mut account.changed)).join("; ");
            match self.did_the_app_change(stage, here) {
                Ok(true) => self.says(format!("the app changed its answers meanwhile, which was learned: {changed}")),
                Ok(false) => {
                    here[at].learned = before;
                    let name = here[0].name();
                    account.disqualified =
                        Some(format!("it answered otherwise than before, and {name} does not: {changed}"));
                    return disqualified(account);
                }
                Err(why) => {
                    here[at].learned = before;
                    account.notes.push(format!("the reference could not be asked again: {why}"));
                    return account;
                }
            }
        }
        turn(stage, &mut here[at])
    }

    /// Whether a newly started reference now answers differently than at the beginning.
    fn did_the_app_change(&mut self, stage: &LoadStage<'_>, here: &[Contender]) -> Result<bool, String> {
        let reference = &here[0];
        let mut calm = AnswerTimeout { limit: FIRST_LIMIT, apart: Duration::ZERO, tell: &mut |_| {} };
        let running = stage.start(reference, ONE, &format!("{}-again", reference.name()), &mut calm);
        let running = running.map_err(|unready| unready.why)?;
        let checked = capture::check(running.server.port(), &mut self.known, CHECK_LIMIT);
        checked.wrong.map_or(Ok(!checked.changed.is_empty()), Err)
    }
}

fn disqualified(mut account: Account) -> Account {
    for sample in &mut account.samples {
        sample.disqualified.clone_from(&account.disqualified);
    }
    account
}
