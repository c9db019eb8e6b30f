//! The machine's floor for any server: the time of a byte to another thread and back, both asleep until it comes. On
//! virtual machines this alone is often longer than the work of a request.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use bench_kit::stats::median;

use crate::processor;

const ROUND_TRIPS: usize = 3_000;

/// The median of many round trips as text, on all processors and on one.
pub fn in_words() -> String {
    let shown = |one: bool| round_trip_us(one).map_or_else(|error| error, |us| format!("{us:.0} us"));
    format!("a byte to a sleeping thread and back: {}; both on one processor: {}", shown(false), shown(true))
}

fn round_trip_us(on_one: bool) -> Result<f64, String> {
    let (mut here, mut there) = UnixStream::pair().map_err(|error| error.to_string())?;
    let echo = thread::spawn(move || {
        if on_one {
            processor::bind_this_thread();
        }
        let mut byte = [0];
        while there.read_exact(&mut byte).is_ok() && there.write_all(&byte).is_ok() {}
    });
    let asking = thread::spawn(move || {
        if on_one {
            processor::bind_this_thread();
        }
        let mut byte = [0];
        let mut trip = || {
            let since = Instant::now();
            here.write_all(&byte).and_then(|()| here.read_exact(&mut byte)).ok()?;
            Some(since.elapsed().as_secs_f64() * 1e6)
        };
        (0..ROUND_TRIPS).map_while(|_| trip()).collect::<Vec<f64>>()
    });
    let times = asking.join().map_err(|_| "the thread that asks has panicked")?;
    echo.join().map_err(|_| "the thread that answers has panicked")?;
    median(&times).ok_or_else(|| "no byte came back".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        assert!(round_trip_us(false).is_ok_and(|us| us > 0.0));
        assert!(round_trip_us(true).is_ok_and(|us| us > 0.0));
    }
}
