//! An application's response to one GET, without a client in between.

use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::time::{Duration, Instant};

use engine::{Body, Engine, Fault, ResponseHead, brief, count};

use crate::apps::probe;
use crate::config::app_settings::AppSettings;

/// Bytes of a body that are read.
const LOOKED_MAX: usize = 16 << 20;
/// Bytes of a body that are kept for comparison; the rest is hashed.
pub const KEPT_MAX: usize = 1 << 20;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case, sorted.
    pub headers: Vec<(String, String)>,
    pub body: Content,
}

/// A body, as far as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The first [`KEPT_MAX`] bytes.
    pub bytes: Vec<u8>,
    /// Number of bytes that were read.
    pub length: usize,
    /// Hash of all bytes that were read; `None` if `bytes` has them all.
    hash: Option<u64>,
    pub end: End,
}

/// How far a body was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Whole,
    /// The body is longer than [`LOOKED_MAX`].
    Long,
    /// The body had not ended within this time.
    Late(Duration),
}

/// Requests a path as a client of this machine would; `time` is for the whole response.
pub fn ask(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<Answer, String> {
    let (head, (bytes, late)) = fetch(engine, settings, path, time)?;
    let mut headers: Vec<(String, String)> = head.headers.iter().map(pair).collect();
    headers.sort();
    Ok(Answer { status: head.status.as_u16(), headers, body: Content::of(bytes, late) })
}

/// The body of the response to a path.
pub fn body(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<Vec<u8>, String> {
    fetch(engine, settings, path, time).map(|(_, (bytes, _))| bytes)
}

type Fetched = (ResponseHead, Looked);

fn fetch(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<Fetched, String> {
    let reply = engine.call(probe::request(settings, path, time));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| format!("could not be waited for: {error}"))?;
    let end = Instant::now() + time;
    let answer = runtime.block_on(async { tokio::time::timeout(time, reply).await });
    let answer = answer.map_err(|_| format!("no answer within {} (--request-time)", brief(time)))?;
    let response = answer.result.map_err(|fault| words(&fault))?;
    let read = read(response.body, end, time).map_err(|why| format!("the body broke off: {why}"))?;
    Ok((response.head, read))
}

fn pair((name, value): (&http::HeaderName, &http::HeaderValue)) -> (String, String) {
    (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A fault with its backtrace, which the fault's own text leaves out.
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

/// The part of a body that was read, and its end if its time was over.
type Looked = (Vec<u8>, Option<End>);

fn read(body: Body, end: Instant, time: Duration) -> Result<Looked, String> {
    let mut all = Vec::new();
    let mut late = None;
    match body {
        Body::Full(bytes) => all.extend_from_slice(&bytes[..bytes.len().min(LOOKED_MAX + 1)]),
        Body::Stream(mut source) => {
            while all.len() <= LOOKED_MAX && late.is_none() {
                match source.next_blocking(end) {
                    // A stream without pauses never waits, and would not notice the deadline.
                    Ok(Some(_)) if Instant::now() >= end => late = Some(End::Late(time)),
                    Ok(Some(chunk)) => all.extend_from_slice(&chunk),
                    Ok(None) => break,
                    Err(None | Some(Fault::OutOfTime(_))) => late = Some(End::Late(time)),
                    Err(Some(fault)) => return Err(fault.to_string()),
                }
            }
        }
        Body::File(file, _) => {
            file.take(LOOKED_MAX as u64 + 1).read_to_end(&mut all).map_err(|error| error.to_string())?;
        }
        // No body, or an upgraded connection.
        _ => {}
    }
    Ok((all, late))
}

impl Content {
    /// A body of which these bytes were read; `late` is its end if its time was over.
    pub fn of(mut all: Vec<u8>, late: Option<End>) -> Content {
        let end = if all.len() > LOOKED_MAX { End::Long } else { late.unwrap_or_default() };
        all.truncate(LOOKED_MAX);
        let length = all.len();
        let hash = (length > KEPT_MAX).then(|| {
            let mut hasher = DefaultHasher::new();
            hasher.write(&all);
            hasher.finish()
        });
        all.truncate(KEPT_MAX);
        all.shrink_to_fit();
        Content { bytes: all, length, hash, end }
    }

    /// Whether two bodies are the same as far as they can be compared; of unfinished ones, their common length.
    pub fn is_like(&self, other: &Content) -> bool {
        match (self.end, other.end) {
            (End::Whole, _) | (_, End::Whole) | (End::Long, End::Long) => self == other,
            _ => {
                let common = self.bytes.len().min(other.bytes.len());
                self.bytes[..common] == other.bytes[..common]
            }
        }
    }

    /// The size as text.
    pub fn size(&self) -> String {
        let bytes = count(self.length, "byte");
        match self.end {
            End::Whole => bytes,
            End::Long => format!("more than {bytes}"),
            End::Late(time) => format!("{bytes} and no end within {} (--request-time)", brief(time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_are_compared_and_not_kept() {
        let of = |bytes: usize, last: u8| Content::of([vec![b'x'; bytes], vec![last]].concat(), None);
        let (one, other) = (of(KEPT_MAX * 2, b'a'), of(KEPT_MAX * 2, b'b'));
        assert_eq!((one.bytes.len(), one.length, one.end), (KEPT_MAX, KEPT_MAX * 2 + 1, End::Whole));
        assert!(one.is_like(&of(KEPT_MAX * 2, b'a')) && !one.is_like(&other));
        let long = of(LOOKED_MAX, b'a');
        assert_eq!(long.size(), "more than 16777216 bytes");
        assert!(long.is_like(&of(LOOKED_MAX, b'b')) && !long.is_like(&of(LOOKED_MAX - 1, b'x')));
    }

    #[test]
    fn what_was_stopped_is_compared_as_far_as_it_goes() {
        let late = |text: &str| Content::of(text.as_bytes().to_vec(), Some(End::Late(Duration::from_secs(2))));
        assert!(late("gold gold").is_like(&late("gold")) && !late("gold").is_like(&late("tin")));
        assert!(!late("gold").is_like(&Content::of(b"gold".to_vec(), None)));
        assert_eq!(late("gold").size(), "4 bytes and no end within 2s (--request-time)");
    }
}
