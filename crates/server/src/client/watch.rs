//! `foolsgold status`: once, or drawn anew each second until Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crate::client::asked::Call;
use crate::client::line::{Line, Trouble};
use crate::client::table::Flag;
use crate::client::{Failure, find, say, show};

/// The terminal's second screen, without a cursor, long lines cut off; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// To the upper left; the rest of a line, and of the screen, is cleared.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\n";
const CLEAR_REST: &str = "\x1b[J";
const AGAIN: Duration = Duration::from_millis(200);

/// `foolsgold status`
pub fn status(call: &Call) -> Result<(), Failure> {
    let line = find::server(call)?;
    if call.has(Flag::Watch) {
        return watch(call, &line);
    }
    say(&look(call, &line).map_err(|trouble| trouble.failure(&line.socket))?);
    Ok(())
}

fn look(call: &Call, line: &Line) -> Result<String, Trouble> {
    let status = line.look(&format!("/v1/status{}", call.query()))?;
    Ok(if call.has(Flag::Json) { format!("{status}\n") } else { show::status_text(&status) })
}

fn watch(call: &Call, line: &Line) -> Result<(), Failure> {
    // Into a file or a program go plain texts, one after the other, and JSON line by line.
    let draws = io::stdout().is_terminal() && !call.has(Flag::Json);
    if draws {
        say(ENTER);
    }
    let outcome = watch_on(call, line, draws);
    if draws {
        say(LEAVE);
    }
    outcome
}

/// Until Ctrl-C, or until the server is gone.
fn watch_on(call: &Call, line: &Line, draws: bool) -> Result<(), Failure> {
    let mut interrupts = line.interrupts()?;
    loop {
        let text = match look(call, line) {
            // It may have been asked in the moment of its end: then it is gone now.
            Err(Trouble::Other(_)) if line.wait(AGAIN, &mut interrupts) => look(call, line),
            looked => looked,
        };
        let text = text.map_err(|trouble| trouble.failure(&line.socket))?;
        let screen = if draws { screen(&text) } else { text };
        let mut out = io::stdout().lock();
        // Whoever looked has gone, as with `| head`.
        if out.write_all(screen.as_bytes()).and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        if !line.wait(Duration::from_secs(1), &mut interrupts) {
            return Ok(());
        }
    }
}

fn screen(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("{line}{CLEAR_LINE}")).collect();
    format!("{HOME}{lines}{CLEAR_REST}")
}
