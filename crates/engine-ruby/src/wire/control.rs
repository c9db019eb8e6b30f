//! The control connection of a mold or a worker, for orders beside requests.

use bytes::{BufMut, Bytes};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::frames::{frame, kind};

/// The sending end of a control connection. Orders are few and small, and each is sent once, so the channel needs no
/// bound.
#[derive(Debug, Clone)]
pub struct Control(UnboundedSender<Bytes>);

impl Control {
    /// Creates the sending end, and the queue of orders for [`Control::write`].
    #[expect(clippy::disallowed_methods, reason = "each order is sent once, and there are few")]
    pub fn new() -> (Control, UnboundedReceiver<Bytes>) {
        let (sender, orders) = unbounded_channel();
        (Control(sender), orders)
    }

    /// Writes orders until the process is gone or the last sender is dropped.
    pub async fn write(mut orders: UnboundedReceiver<Bytes>, mut writer: OwnedWriteHalf) {
        while let Some(order) = orders.recv().await {
            if writer.write_all(&order).await.is_err() {
                return;
            }
        }
    }

    /// Sends a frame; ignores a process that is gone.
    pub fn send(&self, frame: Bytes) {
        let _ = self.0.send(frame);
    }

    /// Orders a mold to run the `before_exec` hooks within `seconds`, and to report the result.
    pub fn before_exec(&self, seconds: u32) {
        self.send(frame(kind::BEFORE_EXEC, |out| out.put_u32(seconds)));
    }

    /// Orders a process to finish what runs, then exit.
    pub fn stop(&self) {
        self.send(frame(kind::STOP, |_| ()));
    }

    /// Tells a worker that it gets no new requests, and that [`Control::stop`] follows.
    pub fn closing(&self) {
        self.send(frame(kind::CLOSING, |_| ()));
    }

    /// Tells a mold or a worker that the server serves with it.
    pub fn serving(&self) {
        self.send(frame(kind::SERVING, |_| ()));
    }

    /// Orders a worker to open the connections of further threads, up to this number in all.
    pub fn grow(&self, threads: u32) {
        self.send(frame(kind::GROW, |out| out.put_u32(threads)));
    }

    /// Orders a mold to fork this worker, which has this index among the workers.
    pub fn fork(&self, worker: u32, index: u32) {
        self.send_numbers(kind::FORK, worker, index);
    }

    /// Tells a worker that the client of a request has gone.
    pub fn cancel(&self, slot: u32, seq: u32) {
        self.send_numbers(kind::CANCEL, slot, seq);
    }

    /// Orders a worker to send the answers that it holds, if it runs a later request than this one.
    pub fn flush(&self, slot: u32, seq: u32) {
        self.send_numbers(kind::FLUSH, slot, seq);
    }

    /// Orders a worker to log the backtraces of all threads.
    pub fn dump(&self, slot: u32, seq: u32) {
        self.send_numbers(kind::DUMP, slot, seq);
    }

    /// Pings a process.
    pub fn ping(&self) {
        self.send(frame(kind::PING, |_| ()));
    }

    /// Sets the text after the name in the process title; an empty text clears it.
    pub fn title(&self, text: &str) {
        self.send(frame(kind::TITLE, |out| out.put_slice(text.as_bytes())));
    }

    /// Asks a worker for the backtraces of all threads; the reply has this number.
    pub fn threads(&self, number: u32) {
        self.send(frame(kind::THREADS, |out| out.put_u32(number)));
    }

    /// Orders a worker to run its `out_of_band` hooks; it gets no request until it reports that they are done.
    pub fn out_of_band(&self) {
        self.send(frame(kind::OUT_OF_BAND, |_| ()));
    }

    /// Orders a worker to raise `FoolsGold::RequestTimeout` in the thread that runs this request.
    pub fn interrupt(&self, slot: u32, seq: u32) {
        self.send_numbers(kind::INTERRUPT, slot, seq);
    }

    /// Ends the oldest loan of a worker's thread: `taken` bytes of it have been read, or the file of an answer has been
    /// opened.
    pub fn release(&self, slot: u32, taken: u64) {
        self.send(frame(kind::RELEASE, |out| {
            out.put_u32(slot);
            out.put_u64(taken);
        }));
    }

    fn send_numbers(&self, kind: u8, first: u32, second: u32) {
        self.send(frame(kind, |out| {
            out.put_u32(first);
            out.put_u32(second);
        }));
    }
}
