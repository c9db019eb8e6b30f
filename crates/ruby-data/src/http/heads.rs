//! The heads of responses as they were received, for what ureq does not keep of them: the reason phrase, and the header
//! fields of a proxy's response that refuses a tunnel.

use std::cell::Cell;

use memchr::memmem;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

thread_local! {
    /// Head of the last response in this thread; None while a request has no response yet.
    static HEAD: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

/// Takes the head of the last response; None where it was not seen whole.
pub fn last_head() -> Option<Vec<u8>> {
    HEAD.take()
}

/// The reason phrase in a head.
pub fn reason(head: &[u8]) -> Option<&[u8]> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    line.strip_prefix(b"HTTP/1.")?.get("1 200 ".len()..)
}

/// A part of a chain of connectors: makes connections that keep the head of each response.
#[derive(Debug)]
pub struct Heads;

impl<In: Transport> Connector<In> for Heads {
    type Out = Headed<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Headed<In>>, Error> {
        Ok(chained.map(|transport| Headed { transport, asked: false }))
    }
}

/// A connection that keeps the head of each response.
#[derive(Debug)]
pub struct Headed<T> {
    transport: T,
    /// Whether a request was sent whose response has no head yet.
    asked: bool,
}

impl<T: Transport> Transport for Headed<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.transport.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if !self.asked {
            self.asked = true;
            HEAD.set(None);
        }
        self.transport.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let more = self.transport.await_input(timeout)?;
        if self.asked {
            let input = self.transport.buffers().input();
            // Another head follows an informational one, such as 100.
            let is_final = input.get("HTTP/1.1 ".len()) != Some(&b'1');
            if let Some(end) = memmem::find(input, b"\r\n\r\n").filter(|_| is_final) {
                HEAD.set(Some(input[..end].to_vec()));
                self.asked = false;
            }
        }
        Ok(more)
    }

    fn is_open(&mut self) -> bool {
        self.transport.is_open()
    }

    fn is_tls(&self) -> bool {
        self.transport.is_tls()
    }
}
