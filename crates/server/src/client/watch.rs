//! `foolsgold status`: once, or redrawn each second until Ctrl-C.

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::termios::tcgetwinsize;

use crate::client::call::Call;
use crate::client::control_client::{ClientError, ControlClient};
use crate::client::outcome::{Failure, say};
use crate::client::{find, status};
use crate::config::commands::Flag;
use crate::process::exit::print;

/// Enters the terminal's alternate screen, without cursor and line wrap; and leaves it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Cursor to the upper left; clearing the rest of a line, and of the screen.
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
    let width = size().map(|(width, _)| width);
    say(&look(call, &line, width).map_err(|error| error.failure(&line.socket))?)
}

fn look(call: &Call, line: &ControlClient, width: Option<usize>) -> Result<String, ClientError> {
    let status = line.look(&format!("/v1/status{}", call.query()))?;
    Ok(if call.has(Flag::Json) { format!("{status}\n") } else { status::status_text(&status, width) })
}

/// Columns and rows of the terminal, if there is one.
fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

fn watch(call: &Call, line: &ControlClient) -> Result<(), Failure> {
    // A file or a pipe gets plain texts one after the other, or JSON line by line.
    let draws = io::stdout().is_terminal() && !call.has(Flag::Json);
    if draws {
        say(ENTER)?;
    }
    let outcome = watch_on(call, line, draws);
    if draws {
        say(LEAVE)?;
    }
    outcome
}

/// Shows the status until Ctrl-C, or until the server is gone.
fn watch_on(call: &Call, line: &ControlClient, draws: bool) -> Result<(), Failure> {
    let mut interrupts = line.interrupts()?;
    loop {
        // The terminal may have been resized.
        let size = size().filter(|_| draws);
        let width = size.map(|(width, _)| width);
        let text = match look(call, line, width) {
            // The request may have met the server's exit: then it is gone now.
            Err(ClientError::Other(_)) if line.wait(AGAIN, &mut interrupts) => look(call, line, width),
            looked => looked,
        };
        let text = text.map_err(|error| error.failure(&line.socket))?;
        let screen = if draws { screen(&text, size.map(|(_, rows)| rows)) } else { text };
        let has_reader = print(&screen).map_err(Failure::failed)?;
        if !has_reader || !line.wait(Duration::from_secs(1), &mut interrupts) {
            return Ok(());
        }
    }
}

/// The text for a screen with this number of rows; the last one counts lines that do not fit.
fn screen(text: &str, rows: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    // The cursor is in a row of its own.
    let room = rows.map_or(lines.len(), |rows| rows.saturating_sub(1));
    let shown = if lines.len() <= room { lines.len() } else { room.saturating_sub(1) };
    let mut out = HOME.to_owned();
    lines[..shown].iter().for_each(|line| out.extend([line, CLEAR_LINE]));
    if shown < lines.len() {
        out.push_str(&format!("({} more lines){CLEAR_LINE}", lines.len() - shown));
    }
    out + CLEAR_REST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_the_screen_is_counted() {
        assert_eq!(screen("a\nb\n", Some(3)), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(screen("a\nb\nc\n", Some(3)), "\x1b[Ha\x1b[K\n(2 more lines)\x1b[K\n\x1b[J");
        assert_eq!(screen("a\n", None), "\x1b[Ha\x1b[K\n\x1b[J");
    }
}
