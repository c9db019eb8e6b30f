//! All limits of connections and requests that options set, with their units. There are no defaults here, so that none
//! is forgotten.

use std::time::Duration;

/// No limit: longer than any process runs.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Limits of connections, requests and responses.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request's head: request line and headers. A longer one is answered with 431 (a request line alone:
    /// 414).
    pub header_bytes: usize,
    /// Number of header lines of a request. More are answered with 431.
    pub header_count: usize,
    /// Time from the first byte of a head to its last; a slower one is answered with 408. A new connection that sends
    /// nothing for so long is closed.
    pub header_time: Duration,
    /// Bytes of a request's body. A longer one is answered with 413.
    pub body_bytes: u64,
    /// Bytes of a request's body that are kept in memory; a longer one goes to a temporary file.
    pub body_memory_bytes: usize,
    /// Time without any byte of a body, and time after which a body must have arrived at a minimum rate (`intake`); a
    /// slower one is answered with 408.
    pub body_time: Duration,
    /// Time for which a connection may be idle between two requests before it is closed; zero closes it after each
    /// response.
    pub keep_alive: Duration,
    /// Connections open at one time, over all listeners. Idle and slow ones are closed for new ones; if there are none,
    /// new ones wait.
    pub connections: usize,
    /// Connections of one client at one time. Further ones are closed. Trusted peers and Unix sockets are not counted.
    pub connections_per_client: Option<usize>,
    /// Open files of the process that are kept for everything but connections, such as logs, workers and commands; half
    /// of the process's limit, if that is less.
    pub spare_files: u64,
    /// Time for which a client may take no byte of a response before the connection is cut off.
    pub write_time: Duration,
    /// Bytes of one streamed response kept in a temporary file for a slow client before the application must wait.
    pub spool_bytes: u64,
    /// Time for which a request may wait in the queue; [`FOREVER`] for no limit. After it the answer is 503.
    pub queue_wait: Duration,
    /// Time from the last byte of a request to the head of its response; [`FOREVER`] for no limit. After it the answer
    /// is 504.
    pub request_time: Duration,
    /// Time for running requests to finish after a stop is requested.
    pub drain_time: Duration,
    /// Time over which upgraded connections (WebSockets and others) are closed when the server, or the application's
    /// code, is replaced or shuts down.
    pub websocket_drain: Duration,
}
