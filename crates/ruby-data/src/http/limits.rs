//! A limit of time for each read of a response's body. ureq's own limits are set with the request, and know nothing of
//! a Timeout block that begins later. A connection that breaks within a body is an error here, while ureq takes it for
//! the end.

use std::cell::Cell;
use std::io::ErrorKind;
use std::time::Instant;

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

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

/// A part of a chain of connectors: makes connections that keep to the limit.
#[derive(Debug)]
pub struct Limits;

impl<In: Transport> Connector<In> for Limits {
    type Out = Limited<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Limited<In>>, Error> {
        Ok(chained.map(Limited))
    }
}

/// A connection whose reads keep to the limit.
#[derive(Debug)]
pub struct Limited<T>(T);

impl<T: Transport> Transport for Limited<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, Error> {
        let Some(until) = UNTIL.get() else { return self.0.await_input(timeout) };
        let left = until.saturating_duration_since(Instant::now());
        timeout.after = timeout.after.min(left.into());
        self.0.await_input(timeout).map_err(|error| match error {
            Error::Io(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted) => {
                Error::Other(Box::new(error))
            }
            error => error,
        })
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
