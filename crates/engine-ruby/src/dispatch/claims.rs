//! The claims of a worker: memory that it shares with this process, in which the worker writes the request that a
//! thread begins, and this process those that it takes back. Each writes before it reads what the other has written, so
//! one of the two knows of each request that was sent ahead whether the other was faster: it runs once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, fence};

use files::TempFile;

/// The bytes of one thread: the number of the request that it has begun last, and that up to which requests are taken
/// back. Each is a u32 in the machine's byte order, and only requests that were sent ahead count.
const CLAIM_BYTES: u64 = 8;
/// The number of threads for which there is room.
const THREADS: u32 = 1024;
/// How many numbers before another one count as before it, since they wrap around: far more than a thread has requests
/// at once.
const RECENT: u32 = 1024;

/// Returns whether the request with this number is `last` or one before it.
pub fn is_up_to(seq: u32, last: u32) -> bool {
    last.wrapping_sub(seq) < RECENT
}

/// The claims of one worker.
#[derive(Debug)]
pub struct Claims {
    file: TempFile,
}

impl Claims {
    /// Creates the claims of a worker, which has begun nothing.
    pub fn new() -> io::Result<Claims> {
        let nothing = [0; CLAIM_BYTES as usize * THREADS as usize];
        // Some systems forbid files in memory.
        let file = TempFile::of(&nothing).or_else(|_| {
            let file = TempFile::new()?;
            file.put(&nothing, 0)?;
            Ok::<_, io::Error>(file)
        })?;
        Ok(Claims { file })
    }

    /// The file for the worker.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Takes back the requests of a thread up to the one with this number, but those that the worker has begun. Returns
    /// the number of the request that was begun last; none if nothing could be taken back.
    pub fn withdraw(&self, thread: u32, last: u32) -> Option<u32> {
        let at = u64::from(thread) * CLAIM_BYTES;
        if thread >= THREADS {
            return None;
        }
        self.file.write_all_at(&last.to_ne_bytes(), at + 4).ok()?;
        // Not before this process has written; the worker keeps the same order.
        fence(Ordering::SeqCst);
        self.begun(thread)
    }

    /// Returns the number of the last request that was sent ahead to a thread and that it has begun; none if that
    /// cannot be read.
    pub fn begun(&self, thread: u32) -> Option<u32> {
        let mut begun = [0; 4];
        self.file.read_exact_at(&mut begun, u64::from(thread) * CLAIM_BYTES).ok()?;
        Some(u32::from_ne_bytes(begun))
    }

    /// Begins a request as the worker does; returns false if it was taken back.
    #[cfg(test)]
    pub fn begin(&self, thread: u32, seq: u32) -> bool {
        let at = u64::from(thread) * CLAIM_BYTES;
        let mut withdrawn = [0; 4];
        self.file.write_all_at(&seq.to_ne_bytes(), at).unwrap();
        fence(Ordering::SeqCst);
        self.file.read_exact_at(&mut withdrawn, at + 4).unwrap();
        !is_up_to(seq, u32::from_ne_bytes(withdrawn))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;

    #[test]
    fn what_has_begun_is_not_taken_back_and_what_was_taken_back_does_not_begin() {
        let claims = Claims::new().unwrap();
        assert!(claims.begin(3, 7));
        assert_eq!(claims.withdraw(3, 9), Some(7));
        assert!(!claims.begin(3, 8) && !claims.begin(3, 9) && claims.begin(3, 10));
        assert!(claims.begin(4, 8), "another thread");
        assert_eq!(claims.withdraw(THREADS, 1), None);
    }

    #[test]
    fn numbers_wrap_around() {
        assert!(is_up_to(7, 7) && is_up_to(u32::MAX, 3));
        assert!(!is_up_to(8, 7) && !is_up_to(3, u32::MAX) && !is_up_to(1, 0));
    }

    /// The worker begins one request after the other while they are taken back: none is both.
    #[test]
    fn no_request_is_begun_and_taken_back_however_the_two_sides_meet() {
        // A multiple of the steps.
        const LAST: u32 = 21_000;
        const STEP: u32 = 7;
        let claims = Claims::new().unwrap();
        let (sent, over) = (AtomicU32::new(0), AtomicU32::new(0));
        let wait = |number: &AtomicU32, least: u32| {
            while number.load(Ordering::SeqCst) < least {
                thread::yield_now();
            }
        };
        let begin = |seq| {
            wait(&sent, seq);
            let has_begun = claims.begin(0, seq);
            over.store(seq, Ordering::SeqCst);
            has_begun
        };
        thread::scope(|scope| {
            let worker = scope.spawn(|| (1..=LAST).map(begin).collect::<Vec<bool>>());
            let mut taken = vec![false; LAST as usize + 1];
            for last in (STEP..=LAST).step_by(STEP as usize) {
                wait(&over, last.saturating_sub(RECENT / 2));
                sent.store(last, Ordering::SeqCst);
                let begun = claims.withdraw(0, last).unwrap();
                (last + 1 - STEP..=last)
                    .filter(|seq| !is_up_to(*seq, begun))
                    .for_each(|seq| taken[seq as usize] = true);
            }
            let begun = worker.join().unwrap();
            for (seq, has_begun) in (1..).zip(begun) {
                assert!(!(has_begun && taken[seq]), "request {seq} runs twice");
            }
        });
    }
}
