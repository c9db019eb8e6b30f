//! The I/O threads. Each is a lane of its own: one thread, one event loop, and the connections given to it for their
//! whole life. Nothing is handed from thread to thread for balance: with handlers this short, waking another thread
//! costs more than the work it would take over. A new connection goes to the lane that has the fewest.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The lanes of a server. They end, with whatever is still on them, when this is dropped.
#[derive(Debug)]
pub struct Lanes(Arc<[Lane]>);

#[derive(Debug)]
pub(crate) struct Lane {
    number: usize,
    handle: Handle,
    /// Cloned by every connection: the number of clones is the number of connections.
    connections: Arc<()>,
    /// Dropped, it ends the lane.
    _open: oneshot::Sender<()>,
}

impl Lanes {
    /// Starts so many threads, at least one.
    pub fn start(count: usize) -> io::Result<Lanes> {
        let lanes: io::Result<Vec<Lane>> = (0..count.max(1)).map(Lane::start).collect();
        Ok(Lanes(lanes?.into()))
    }

    /// Their event loops, for an engine that has connections of its own to read.
    pub fn handles(&self) -> Vec<Handle> {
        self.0.iter().map(|lane| lane.handle.clone()).collect()
    }

    /// The same lanes, for somebody who gives them work.
    pub(crate) fn share(&self) -> Lanes {
        Lanes(self.0.clone())
    }

    /// Runs an accept loop, on the first lane.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.0[0].handle.spawn(work));
    }

    /// The lane with the fewest connections.
    pub(crate) fn quietest(&self) -> &Lane {
        let quietest = self.0.iter().min_by_key(|lane| Arc::strong_count(&lane.connections));
        quietest.unwrap_or(&self.0[0])
    }
}

impl Lane {
    /// Whether it is the one that accepts.
    pub(crate) fn accepts(&self) -> bool {
        self.number == 0
    }

    /// Runs a connection.
    pub(crate) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let counted = self.connections.clone();
        drop(self.handle.spawn(async move {
            connection.await;
            drop(counted);
        }));
    }

    fn start(number: usize) -> io::Result<Lane> {
        let (open, closed) = oneshot::channel::<()>();
        let (told, telling) = mpsc::sync_channel(1);
        thread::Builder::new().name(format!("io {number}")).spawn(move || {
            match Builder::new_current_thread().enable_all().build() {
                Err(error) => drop(told.send(Err(error))),
                Ok(runtime) => {
                    drop(told.send(Ok(runtime.handle().clone())));
                    let _ = runtime.block_on(closed);
                    runtime.shutdown_background();
                }
            }
        })?;
        let handle = telling.recv().map_err(io::Error::other)??;
        Ok(Lane { number, handle, connections: Arc::new(()), _open: open })
    }
}
