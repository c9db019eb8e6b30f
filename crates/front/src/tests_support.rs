//! Limits for unit tests and fuzz targets, and what several unit tests need.

use std::time::Duration;

#[cfg(test)]
pub(crate) use of_tests::{Shelf, block_on};

use crate::limits::Limits;

pub(crate) fn limits() -> Limits {
    let long = Duration::from_secs(30);
    Limits {
        header_bytes: 8192,
        header_count: 20,
        header_time: long,
        body_bytes: 1 << 20,
        body_memory_bytes: 1 << 16,
        body_time: long,
        keep_alive: long,
        connections: 100,
        connections_per_client: None,
        spare_files: 0,
        write_time: long,
        spool_bytes: 1 << 20,
        queue_wait: long,
        request_time: long,
        drain_time: long,
        websocket_drain: Duration::ZERO,
    }
}

#[cfg(test)]
mod of_tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use parking_lot::Mutex;

    /// Runs a test in an event loop of its own.
    pub(crate) fn block_on<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    /// A log whose bytes a test can read.
    #[derive(Clone, Default)]
    pub(crate) struct Shelf(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Write for Shelf {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
