//! Orders to one worker, beside its requests.

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::frames::{frame, kind};

/// The way to one process. Orders are few and small, and each is sent once, so the channel needs no bound.
#[derive(Debug, Clone)]
pub struct Control(UnboundedSender<Bytes>);

impl Control {
    /// A way, and what [`Control::write`] takes.
    #[expect(clippy::disallowed_methods, reason = "each order is sent once, and there are few")]
    pub fn new() -> (Control, UnboundedReceiver<Bytes>) {
        let (sender, orders) = unbounded_channel();
        (Control(sender), orders)
    }

    /// Writes orders until the process or everybody who could give one is gone.
    pub async fn write(mut orders: UnboundedReceiver<Bytes>, mut writer: OwnedWriteHalf) {
        while let Some(order) = orders.recv().await {
            if writer.write_all(&order).await.is_err() {
                return;
            }
        }
    }

    /// Sends a frame. A process that is gone needs no orders.
    pub fn send(&self, frame: Bytes) {
        let _ = self.0.send(frame);
    }

    /// Run the hooks `before_exec`, for so long at most, and say what came of it.
    pub fn before_exec(&self, seconds: u32) {
        self.send(frame(kind::BEFORE_EXEC, |out| out.put_u32(seconds)));
    }

    /// Finish what runs, then exit.
    pub fn stop(&self) {
        self.send(frame(kind::STOP, |_| ()));
    }

    /// Fork this worker.
    pub fn fork(&self, worker: u32) {
        self.send(frame(kind::FORK, |out| out.put_u32(worker)));
    }

    /// Nobody waits for this request any more.
    pub fn cancel(&self, slot: u32, seq: u32) {
        self.about(kind::CANCEL, slot, seq);
    }

    /// Log what all threads do.
    pub fn dump(&self, slot: u32, seq: u32) {
        self.about(kind::DUMP, slot, seq);
    }

    /// Say that you are there.
    pub fn ping(&self) {
        self.send(frame(kind::PING, |_| ()));
    }

    /// Show this after your name in the list of processes; nothing clears it.
    pub fn title(&self, text: &str) {
        self.send(frame(kind::TITLE, |out| out.put_slice(text.as_bytes())));
    }

    /// Tell what all threads do, with this number.
    pub fn threads(&self, number: u32) {
        self.send(frame(kind::THREADS, |out| out.put_u32(number)));
    }

    /// You get nothing until you say that you have done what you do between requests.
    pub fn out_of_band(&self) {
        self.send(frame(kind::OUT_OF_BAND, |_| ()));
    }

    /// Raise in the thread that runs this request.
    pub fn interrupt(&self, slot: u32, seq: u32) {
        self.about(kind::INTERRUPT, slot, seq);
    }

    fn about(&self, kind: u8, slot: u32, seq: u32) {
        self.send(frame(kind, |out: &mut BytesMut| {
            out.put_u32(slot);
            out.put_u32(seq);
        }));
    }
}
