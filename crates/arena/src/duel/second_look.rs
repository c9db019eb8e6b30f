//! Second check when a contender's answers change during a duel, under load or in the calm checks beside it: either the
//! application changed them (a time of day), or the contender mixes answers up. The reference is asked again; only
//! differences that its answers have, too, are learned.

use std::time::Duration;

use super::answer::KnownAnswer;
use super::capture::{self, AnswerTimeout, shortened};
use super::contenders::Contender;
use super::run::Duel;
use super::settings::{ONE, Setting};
use super::turn::{Account, FIRST_LIMIT, LoadStage};

/// Turns that are repeated, at most, because pages changed.
const CHANGES_MAX: u32 = 2;
/// Time limit for asking the reference for all paths again.
const CHECK_LIMIT: Duration = Duration::from_secs(15);

/// Answers of a contender that changed in a turn.
struct Changes<'a> {
    /// Right answers as they were known before.
    then: &'a [KnownAnswer],
    /// Right answers with what was learned in the turn.
    now: &'a [KnownAnswer],
    /// Whether the turn was disqualified, which may be for a wrong answer under load.
    is_wrong: bool,
}

impl Duel<'_> {
    /// Runs a turn of the contender at this index of the list. Where its answers changed, the reference is asked again:
    /// the turn is disqualified if the application had not changed them, and repeated if it had and the turn was wrong
    /// for it.
    pub(super) fn fair_turn(
        &mut self,
        stage: &LoadStage<'_>,
        here: &mut [Contender],
        (at, setting): (usize, Setting),
        turn: &dyn Fn(&LoadStage<'_>, &mut Contender) -> Account,
    ) -> Account {
        // A page may show the setting: before the loads it may differ from that of a reference that cannot have it.
        let same = Some(setting).filter(|setting| here[0].ability().has(*setting));
        let mut repeats = 0;
        loop {
            let before = here[at].learned.clone();
            let mut account = turn(stage, &mut here[at]);
            let then = if same.is_some() { &before } else { &account.loaded_with };
            let changes = Changes { then, now: &here[at].learned, is_wrong: account.disqualified.is_some() };
            let is_known_to_vary = !changes.is_wrong && may_have_changed(&self.known, &changes);
            if account.changed.is_empty() || is_known_to_vary {
                return account;
            }
            let is_wrong = changes.is_wrong;
            let found = self.did_the_app_change(stage, &here[0], same.unwrap_or(ONE), &changes);
            if found == Ok(true) && !is_wrong {
                return account;
            }
            let changed = shortened(std::mem::take(&mut account.changed)).join("; ");
            match found {
                Ok(true) if repeats < CHANGES_MAX => {
                    repeats += 1;
                    self.says(format!("the app changed its answers meanwhile, which was learned: {changed}"));
                }
                Ok(true) => {
                    let turns = CHANGES_MAX + 1;
                    let why = format!("the app changed its answers in each of {turns} turns: {changed}");
                    return disqualified(account, why);
                }
                Ok(false) => {
                    here[at].learned = before;
                    let name = here[0].name();
                    let why = format!("it answered otherwise than before, and {name} does not: {changed}");
                    return disqualified(account, why);
                }
                Err(why) => {
                    here[at].learned = before;
                    account.notes.push(format!("the reference could not be asked again: {why}"));
                    return account;
                }
            }
        }
    }

    /// Whether a newly started reference with this setting now answers differently than at the beginning, and may do so
    /// wherever the contender does.
    fn did_the_app_change(
        &mut self,
        stage: &LoadStage<'_>,
        reference: &Contender,
        setting: Setting,
        changes: &Changes<'_>,
    ) -> Result<bool, String> {
        let mut calm = AnswerTimeout { limit: FIRST_LIMIT, apart: Duration::ZERO, tell: &mut |_| {} };
        let running = stage.start(reference, setting, &format!("{}-again", reference.name()), &mut calm);
        let running = running.map_err(|unready| unready.why)?;
        let checked = capture::check(running.server.port(), &mut self.known, CHECK_LIMIT);
        let asked = &self.known[..checked.count.min(self.known.len())];
        // What the reference was not asked for may have changed, but excuses no wrong answer.
        let is_excused = !changes.is_wrong || !checked.changed.is_empty();
        let has_changed = is_excused && may_have_changed(asked, changes);
        checked.wrong.map_or(Ok(has_changed), Err)
    }
}

/// Whether the application itself may have changed all answers that a contender has changed. One that has been the same
/// byte for byte whenever the reference was asked has not changed, whatever others have. All lists have the same
/// requests; the reference's has only those that were asked now.
fn may_have_changed(reference: &[KnownAnswer], changes: &Changes<'_>) -> bool {
    let is_same = |known: &KnownAnswer| known.body.is_exact() && known.location.is_exact();
    let own = changes.then.iter().zip(changes.now).map(|(then, now)| then != now);
    !reference.iter().zip(own).any(|(known, has_changed)| has_changed && is_same(known))
}

fn disqualified(mut account: Account, why: String) -> Account {
    for sample in &mut account.samples {
        sample.disqualified = Some(why.clone());
    }
    account.disqualified = Some(why);
    account
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(bodies: &[&str]) -> KnownAnswer {
        KnownAnswer::of_bodies("GET", bodies)
    }

    /// One page of the application says how long ago something was. A server that mixed up another page was excused by
    /// that, and the wrong page was learned as right.
    #[test]
    fn that_the_app_changed_one_page_excuses_no_other() {
        let before = || [known(&["the page"]), known(&["a minute ago"])];
        let reference = [known(&["the page"]), known(&["a minute ago", "2 minutes ago"])];
        let changed = |reference: &[KnownAnswer], then: &[KnownAnswer], now: &[KnownAnswer]| {
            may_have_changed(reference, &Changes { then, now, is_wrong: true })
        };
        let may = |now: [KnownAnswer; 2]| changed(&reference, &before(), &now);
        let (mixed_up, later) = (known(&["the page", "another page"]), known(&["a minute ago", "3 minutes ago"]));
        let [page, ago] = before();
        assert!(may([page, later.clone()]) && may(before()));
        assert!(!may([mixed_up.clone(), ago]) && !may([mixed_up.clone(), later]));
        // The reference was not asked for it, or the contender had no load.
        assert!(changed(&[], &before(), &[mixed_up.clone(), known(&["a minute ago"])]));
        assert!(changed(&reference, &[], &[mixed_up, known(&["a minute ago"])]));
    }
}
