//! Every number that bounds a connection or a request, with its unit. The server's options set them all;
//! there is no default here, so that none is forgotten.

use std::time::Duration;

/// Stands for no limit: longer than a process lives.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What one connection, one request and one response may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request's head: request line and headers. More is answered with 431 (a request line alone: 414).
    pub header_bytes: usize,
    /// How many header lines a request may have. More is answered with 431.
    pub header_count: usize,
    /// From the first byte of a head to its last; later is answered with 408. A new connection that says nothing
    /// for so long is closed.
    pub header_time: Duration,
    /// Bytes of a request's body. More is answered with 413.
    pub body_bytes: u64,
    /// Bytes of a request's body that are kept in memory; what is longer goes to a temporary file.
    pub body_memory_bytes: usize,
    /// How long nothing of a body may come, and how long a body may take before it must have come at a rate
    /// (`intake`); later is answered with 408.
    pub body_time: Duration,
    /// How long a connection may be idle between two requests before it is closed without a word; zero where each
    /// request has a connection of its own.
    pub keep_alive: Duration,
    /// Connections served at one time, over all listeners. For further ones idle and slow ones are closed; where there
    /// are none, they wait.
    pub connections: usize,
    /// How many of these one client may have. Further ones are closed. Trusted peers and Unix sockets are not counted.
    pub connections_per_client: Option<usize>,
    /// How many of the process's open files connections leave to everything else, such as logs, workers and commands; a
    /// quarter of the limit, where that is less.
    pub spare_files: u64,
    /// How long a client may take no byte of what is ready for it before it is cut off.
    pub write_time: Duration,
    /// Bytes of one streamed response kept in a temporary file for a slow client, before the application must wait.
    pub spool_bytes: u64,
    /// How long a request may wait for an interpreter, [`FOREVER`] where there is no limit; longer is answered with
    /// 503.
    pub queue_wait: Duration,
    /// How long a request may take from its last byte to the head of its response, [`FOREVER`] where there is no
    /// limit; longer is answered with 504.
    pub request_time: Duration,
    /// How long running requests may go on after the stop.
    pub drain_time: Duration,
    /// The time over which WebSockets, and other connections that applications have taken over, are closed when the
    /// server, or the code that they belong to, goes away.
    pub websocket_drain: Duration,
}
