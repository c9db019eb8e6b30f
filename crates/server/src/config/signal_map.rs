//! The meanings of signals: as in Puma, or as in another server (`--signals`).

use rustix::process::Signal;

/// The action of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Graceful shutdown; a second time, immediate shutdown.
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

impl Act {
    fn in_words(self) -> &'static str {
        match self {
            Act::End => "ends gracefully",
            Act::EndNow => "ends at once",
            Act::Reload => "reloads",
            Act::ReopenLogs => "opens log files anew",
            Act::Upgrade => "upgrades the program",
            Act::More => "adds a worker",
            Act::Fewer => "takes a worker away",
            Act::Recycle => "replaces the workers",
            Act::Pause => "pauses",
            Act::Backtraces => "writes backtraces",
            Act::Ignore => "is ignored",
        }
    }
}

/// The server whose meanings are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    Puma,
    Unicorn,
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
pub type Meaning = ((&'static str, Signal), Act);

const PUMA: &[Meaning] = &[
    (TERM, Act::End),
    (INT, Act::End),
    (QUIT, Act::EndNow),
    (USR1, Act::Reload),
    (USR2, Act::Upgrade),
    (HUP, Act::ReopenLogs),
    (TTIN, Act::More),
    (TTOU, Act::Fewer),
    (URG, Act::Recycle),
    (PWR, Act::Backtraces),
];

const UNICORN: &[Meaning] = &[
    (TERM, Act::EndNow),
    (INT, Act::EndNow),
    (QUIT, Act::End),
    (HUP, Act::Reload),
    (USR1, Act::ReopenLogs),
    (USR2, Act::Upgrade),
    (WINCH, Act::Pause),
    (TTIN, Act::More),
    (TTOU, Act::Fewer),
    (PWR, Act::Backtraces),
];

const THIN: &[Meaning] = &[
    (TERM, Act::End),
    (QUIT, Act::End),
    (INT, Act::EndNow),
    (HUP, Act::Reload),
    (USR1, Act::ReopenLogs),
    (USR2, Act::Upgrade),
    (TTIN, Act::More),
    (TTOU, Act::Fewer),
    (PWR, Act::Backtraces),
];

const PASSENGER: &[Meaning] = &[
    (TERM, Act::End),
    (INT, Act::End),
    (QUIT, Act::Backtraces),
    (HUP, Act::Ignore),
    (USR1, Act::ReopenLogs),
    (USR2, Act::Upgrade),
    (TTIN, Act::More),
    (TTOU, Act::Fewer),
    (PWR, Act::Backtraces),
];

impl Habit {
    /// The words of `--signals`.
    pub const WORDS: &'static [&'static str] = &["puma", "unicorn", "thin", "passenger"];

    /// The server of this word; Puma for any other.
    pub fn named(word: &str) -> Habit {
        match word {
            "unicorn" => Habit::Unicorn,
            "thin" => Habit::Thin,
            "passenger" => Habit::Passenger,
            _ => Habit::Puma,
        }
    }

    /// All handled signals, with their actions.
    pub fn meanings(self) -> &'static [Meaning] {
        match self {
            Habit::Puma => PUMA,
            Habit::Unicorn => UNICORN,
            Habit::Thin => THIN,
            Habit::Passenger => PASSENGER,
        }
    }

    /// All meanings in one line, for the log.
    pub fn in_words(self) -> String {
        let mut words = String::new();
        let mut last: Option<Act> = None;
        for ((name, _), act) in self.meanings() {
            let between = match last {
                None => "",
                Some(last) if last == *act => " ",
                Some(last) => &format!(" {}, ", last.in_words()),
            };
            words.push_str(between);
            words.push_str(name);
            last = Some(*act);
        }
        let end = last.map_or("", Act::in_words);
        format!("signals as in {}: {words} {end}", Habit::WORDS[self as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
