//! The connections of the client: those of ureq, with three additions. The head of a request gets its target
//! (forward.rs), the heads of responses are kept (heads.rs), and reads have a time limit (limits.rs).

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use super::{forward, heads, limits};

/// The last part of a chain of connectors: makes each connection of ureq a [`Connection`].
#[derive(Debug)]
pub struct Connections;

impl<In: Transport> Connector<In> for Connections {
    type Out = Connection<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Connection<In>>, Error> {
        Ok(chained.map(|transport| Connection { transport, asked: false }))
    }
}

/// A connection of ureq with what this folder adds to it.
#[derive(Debug)]
pub struct Connection<T> {
    transport: T,
    /// Whether a request was sent whose response has no head yet.
    asked: bool,
}

impl<T: Transport> Transport for Connection<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.transport.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if !self.asked {
            self.asked = true;
            heads::forget();
        }
        forward::transmit_output(&mut self.transport, amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let more = limits::await_input(&mut self.transport, timeout)?;
        self.asked = self.asked && !heads::keep(self.transport.buffers().input());
        Ok(more)
    }

    fn is_open(&mut self) -> bool {
        self.transport.is_open()
    }

    fn is_tls(&self) -> bool {
        self.transport.is_tls()
    }
}
