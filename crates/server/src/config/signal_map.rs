//! The meanings of signals: as in Puma, or as in another server (`--signals`).

use rustix::process::Signal;

/// The action of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalAction {
    /// Graceful shutdown. If a signal has asked for one before, INT is an immediate shutdown.
    End,
    EndNow,
    /// Reload of all applications.
    Reload,
    ReopenLogs,
    /// Upgrade of the program, with the same sockets.
    Upgrade,
    /// One more worker.
    More,
    /// One worker less.
    Fewer,
    /// Replacement of the workers, without loading the application again.
    Recycle,
    /// Pause: no request is begun until it ends.
    Pause,
    /// Backtraces of all threads, to the log.
    Backtraces,
    Ignore,
}

impl SignalAction {
    fn in_words(self) -> &'static str {
        match self {
            SignalAction::End => "ends gracefully",
            SignalAction::EndNow => "ends at once",
            SignalAction::Reload => "reloads",
            SignalAction::ReopenLogs => "opens log files anew",
            SignalAction::Upgrade => "upgrades the program",
            SignalAction::More => "adds a worker",
            SignalAction::Fewer => "takes a worker away",
            SignalAction::Recycle => "replaces the workers",
            SignalAction::Pause => "pauses",
            SignalAction::Backtraces => "writes backtraces",
            SignalAction::Ignore => "is ignored",
        }
    }
}

/// The server whose meanings are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    Puma,
    Unicorn,
    /// Unicorn with a configuration that makes TERM a graceful shutdown, as Heroku advises.
    UnicornGraceful,
    Pitchfork,
    Thin,
    Passenger,
}

const TERM: (&str, Signal) = ("TERM", Signal::TERM);
const INT: (&str, Signal) = ("INT", Signal::INT);
const QUIT: (&str, Signal) = ("QUIT", Signal::QUIT);
const HUP: (&str, Signal) = ("HUP", Signal::HUP);
const USR1: (&str, Signal) = ("USR1", Signal::USR1);
const USR2: (&str, Signal) = ("USR2", Signal::USR2);
const TTIN: (&str, Signal) = ("TTIN", Signal::TTIN);
const TTOU: (&str, Signal) = ("TTOU", Signal::TTOU);
const WINCH: (&str, Signal) = ("WINCH", Signal::WINCH);
const URG: (&str, Signal) = ("URG", Signal::URG);
/// Linux has no INFO; Puma uses this signal there.
const PWR: (&str, Signal) = ("PWR", Signal::POWER);

/// A signal with its name, and its action.
pub type Meaning = ((&'static str, Signal), SignalAction);

const PUMA: &[Meaning] = &[
    (TERM, SignalAction::End),
    (INT, SignalAction::End),
    (QUIT, SignalAction::EndNow),
    (USR1, SignalAction::Reload),
    (USR2, SignalAction::Upgrade),
    (HUP, SignalAction::ReopenLogs),
    (TTIN, SignalAction::More),
    (TTOU, SignalAction::Fewer),
    (URG, SignalAction::Recycle),
    (PWR, SignalAction::Backtraces),
];

/// QUIT comes first: see [`UNICORN_GRACEFUL`].
const UNICORN: [Meaning; 10] = [
    (QUIT, SignalAction::End),
    (TERM, SignalAction::EndNow),
    (INT, SignalAction::EndNow),
    (HUP, SignalAction::Reload),
    (USR1, SignalAction::ReopenLogs),
    (USR2, SignalAction::Upgrade),
    (WINCH, SignalAction::Pause),
    (TTIN, SignalAction::More),
    (TTOU, SignalAction::Fewer),
    (PWR, SignalAction::Backtraces),
];

/// As in Unicorn, but TERM is a graceful shutdown. QUIT comes first: to a process whose file has lost its trap for TERM
/// by now, too, it is the graceful shutdown.
const UNICORN_GRACEFUL: [Meaning; 10] = {
    let mut meanings = UNICORN;
    meanings[1] = (TERM, SignalAction::End);
    meanings
};

/// QUIT comes first: it is also the graceful shutdown of a process with Unicorn's meanings. Pitchfork cannot open log
/// files again, and HUP ends it: here a log rotation can use HUP, as in Puma.
const PITCHFORK: &[Meaning] = &[
    (QUIT, SignalAction::End),
    (TERM, SignalAction::End),
    (INT, SignalAction::EndNow),
    (USR1, SignalAction::Reload),
    (USR2, SignalAction::Recycle),
    (HUP, SignalAction::ReopenLogs),
    (TTIN, SignalAction::More),
    (TTOU, SignalAction::Fewer),
    (PWR, SignalAction::Backtraces),
];

const THIN: &[Meaning] = &[
    (TERM, SignalAction::End),
    (QUIT, SignalAction::End),
    (INT, SignalAction::EndNow),
    (HUP, SignalAction::Reload),
    (USR1, SignalAction::ReopenLogs),
    (USR2, SignalAction::Upgrade),
    (TTIN, SignalAction::More),
    (TTOU, SignalAction::Fewer),
    (PWR, SignalAction::Backtraces),
];

const PASSENGER: &[Meaning] = &[
    (TERM, SignalAction::End),
    (INT, SignalAction::End),
    (QUIT, SignalAction::Backtraces),
    (HUP, SignalAction::Ignore),
    (USR1, SignalAction::ReopenLogs),
    (USR2, SignalAction::Upgrade),
    (TTIN, SignalAction::More),
    (TTOU, SignalAction::Fewer),
    (PWR, SignalAction::Backtraces),
];

impl Habit {
    const ALL: [Habit; 6] =
        [Habit::Puma, Habit::Unicorn, Habit::UnicornGraceful, Habit::Pitchfork, Habit::Thin, Habit::Passenger];

    /// The words of `--signals`, in the same order.
    pub const WORDS: &'static [&'static str] =
        &["puma", "unicorn", "unicorn-graceful", "pitchfork", "thin", "passenger"];

    /// The server of this word; Puma for any other.
    pub fn named(word: &str) -> Habit {
        let found = Habit::WORDS.iter().zip(Habit::ALL).find(|(known, _)| **known == word);
        found.map_or(Habit::Puma, |(_, habit)| habit)
    }

    /// All handled signals, with their actions.
    pub fn meanings(self) -> &'static [Meaning] {
        match self {
            Habit::Puma => PUMA,
            Habit::Unicorn => &UNICORN,
            Habit::UnicornGraceful => &UNICORN_GRACEFUL,
            Habit::Pitchfork => PITCHFORK,
            Habit::Thin => THIN,
            Habit::Passenger => PASSENGER,
        }
    }

    /// Whether the old process stays after an upgrade, until a signal ends one of the two.
    pub fn keeps_both(self) -> bool {
        matches!(self, Habit::Unicorn | Habit::UnicornGraceful)
    }

    /// The signal for a graceful shutdown.
    pub fn graceful_end(self) -> Signal {
        let ends = self.meanings().iter().find(|(_, action)| *action == SignalAction::End);
        ends.map_or(Signal::TERM, |((_, signal), _)| *signal)
    }

    /// All meanings in one line, for the log.
    pub fn in_words(self) -> String {
        let alike = self.meanings().chunk_by(|(_, one), (_, other)| one == other);
        let words = alike.map(|signals| {
            let names: Vec<&str> = signals.iter().map(|((name, _), _)| *name).collect();
            format!("{} {}", names.join(" "), signals[0].1.in_words())
        });
        let words: Vec<String> = words.collect();
        format!("signals as in {}: {}", Habit::WORDS[self as usize], words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_for_a_graceful_shutdown_is_that_of_the_other_server() {
        let ends = Habit::WORDS.iter().map(|word| Habit::named(word).graceful_end());
        let (term, quit) = (Signal::TERM, Signal::QUIT);
        assert_eq!(ends.collect::<Vec<_>>(), [term, quit, quit, quit, term, term]);
    }

    #[test]
    fn a_graceful_unicorn_differs_in_term_alone() {
        let [unicorn, graceful] = [Habit::Unicorn, Habit::UnicornGraceful].map(Habit::meanings);
        let different = unicorn.iter().zip(graceful).filter(|(one, other)| one != other);
        let wanted = (&(TERM, SignalAction::EndNow), &(TERM, SignalAction::End));
        assert_eq!(different.collect::<Vec<_>>(), [wanted]);
    }

    #[test]
    fn the_words_name_every_signal_once() {
        assert!(Habit::Puma.in_words().starts_with(
            "signals as in puma: TERM INT ends gracefully, QUIT ends at once, USR1 reloads, USR2 upgrades the program, "
        ));
        for word in Habit::WORDS {
            let habit = Habit::named(word);
            assert!(habit.in_words().starts_with(&format!("signals as in {word}: ")));
            let mut names: Vec<&str> = habit.meanings().iter().map(|((name, _), _)| *name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{word}");
        }
    }
}
