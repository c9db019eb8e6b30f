//! Limits for unit tests and fuzz targets.

use std::time::Duration;

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
