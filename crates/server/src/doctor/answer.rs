//! What an application answers to one GET, without a client between.

use std::io::Read;
use std::time::{Duration, Instant};

use engine::{Body, Engine, Fault};

use crate::app_settings::AppSettings;
use crate::probe;

/// So much of a body is looked at.
const BYTES_MAX: usize = 16 << 20;

/// An answer, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in small letters, sorted.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Asks for this path, as a client of this machine would; the whole answer must come within the time.
pub fn ask(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<Answer, String> {
    let reply = engine.call(probe::request(settings, path, time));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| format!("could not be waited for: {error}"))?;
    let answer = runtime.block_on(async { tokio::time::timeout(time, reply).await });
    let response = answer.map_err(|_| format!("no answer within {time:?}"))?.result.map_err(|fault| words(&fault))?;
    let mut headers: Vec<(String, String)> = response.head.headers.iter().map(pair).collect();
    headers.sort();
    let body = whole(response.body, time).map_err(|why| format!("the body broke off: {why}"))?;
    Ok(Answer { status: response.head.status.as_u16(), headers, body })
}

fn pair((name, value): (&http::HeaderName, &http::HeaderValue)) -> (String, String) {
    (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// With where it was, which the one line of a fault leaves out.
fn words(fault: &Fault) -> String {
    let mut words = fault.to_string();
    if let Fault::App(error) = fault {
        for line in error.backtrace.iter().filter(|line| !line.starts_with("foolsgold/")).take(5) {
            words.push_str("\n    ");
            words.push_str(line);
        }
    }
    words
}

fn whole(body: Body, time: Duration) -> Result<Vec<u8>, String> {
    match body {
        Body::Full(bytes) => Ok(bytes.to_vec()),
        Body::Stream(mut source) => {
            let deadline = Instant::now() + time;
            let mut all = Vec::new();
            while all.len() < BYTES_MAX {
                match source.next_blocking(deadline).map_err(|fault| {
                    fault.map_or_else(|| format!("nothing came within {time:?}"), |fault| fault.to_string())
                })? {
                    Some(chunk) => all.extend_from_slice(&chunk),
                    None => break,
                }
            }
            Ok(all)
        }
        Body::File(file, _) => {
            let mut all = Vec::new();
            file.take(BYTES_MAX as u64).read_to_end(&mut all).map_err(|error| error.to_string())?;
            Ok(all)
        }
        // No body, or a connection that the application has taken over.
        _ => Ok(Vec::new()),
    }
}
