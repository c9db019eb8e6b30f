//! A limit of time for each read of a response's body. ureq's own limits are set with the request, and know nothing of
//! a Timeout block that begins later. A connection that breaks within a body is an error here, while ureq takes it for
//! the end.

use std::cell::Cell;
use std::io::ErrorKind;
use std::time::Instant;

use ureq::Error;
use ureq::unversioned::transport::{NextTimeout, Transport};

thread_local! {
    /// When the current read of this thread must end; None where ureq's own limits are enough.
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Runs a read that ends at `until` at the latest.
pub fn read_until<T>(until: Instant, read: impl FnOnce() -> T) -> T {
    UNTIL.set(Some(until));
    let done = read();
    UNTIL.set(None);
    done
}

/// Waits for input, until the limit at most.
pub fn await_input(transport: &mut impl Transport, mut timeout: NextTimeout) -> Result<bool, Error> {
    let Some(until) = UNTIL.get() else { return transport.await_input(timeout) };
    let left = until.saturating_duration_since(Instant::now());
    timeout.after = timeout.after.min(left.into());
    transport.await_input(timeout).map_err(|error| match error {
        Error::Io(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted) => {
            Error::Other(Box::new(error))
        }
        error => error,
    })
}
