//! The HTTP server: listens, parses, enforces limits, buffers, calls an engine and writes its response. This crate
//! knows nothing of Ruby. A request passes through accept, connection, wire, head, service, intake, the engine, reply
//! and out.

mod ask;
mod connection;
mod counts;
mod drain;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http1;
mod io_threads;
mod limits;
mod listener;
mod log;
mod parse;
mod proxy;
mod request;
mod response;
mod settings;
mod transport;

#[cfg(any(test, feature = "fuzzing"))]
mod tests_support;

use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use tokio::sync::mpsc::{self, Receiver};

pub use ask::{AskError, ask};
pub use counts::Counts;
pub use drain::{Ended, Stop};
pub use io_threads::IoThreads;
pub use limits::{FOREVER, Limits};
pub use listener::address::{Bind, BindError, Endpoint, SocketOptions};
pub use listener::listen::{Listener, Share, listen, listener_of};
pub use listener::private::{PATH_BYTES as SOCKET_PATH_BYTES, listen_privately};
pub use log::access_log::AccessLog;
pub use log::log_line::LogFormat;
pub use log::query_log::QueryLog;
pub use proxy::remote::RemoteAddress;
pub use proxy::trust::Trusted;
pub use response::reply::status_of;
pub use settings::Settings;

use crate::connection::link::Common;
use crate::connection::table::ConnectionTable;
use crate::http1::serve;
use crate::listener::accept::{self, AsyncListener};
use crate::log::notices::Notices;

/// Time for cut connections to end.
const CUT_TIME: Duration = Duration::from_secs(1);

/// Serves until the stop. The future, which needs a tokio runtime with time, is ready when the last connection has
/// ended, or was cut off. An error names the listener that the event loop does not take; then nothing is served.
///
/// Connections run on the I/O threads. The caller closes the engine.
pub fn serve(
    listeners: Vec<Listener>,
    io_threads: &IoThreads,
    engine: Arc<dyn Engine>,
    settings: Arc<Settings>,
    stop: Stop,
) -> Result<impl Future<Output = Ended>, BindError> {
    let (_, no_further) = mpsc::channel(1);
    serve_further(listeners, no_further, io_threads, engine, settings, stop)
}

/// Serves like [`serve()`], and also each open listener that arrives in `further` before the stop. One that the event
/// loop does not take is dropped with a warning.
pub fn serve_further(
    listeners: Vec<Listener>,
    further: Receiver<Listener>,
    io_threads: &IoThreads,
    engine: Arc<dyn Engine>,
    settings: Arc<Settings>,
    stop: Stop,
) -> Result<impl Future<Output = Ended>, BindError> {
    let listeners = listeners.into_iter().map(|listener| registered(listener, io_threads));
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    Ok(run(listeners, further, io_threads, engine, settings, stop))
}

/// Registers a listener with the event loop of the thread that accepts.
fn registered(listener: Listener, io_threads: &IoThreads) -> Result<AsyncListener, BindError> {
    let _entered = io_threads.enter();
    AsyncListener::new(listener)
}

/// Serves these listeners: see [`serve_further()`].
async fn run(
    listeners: Vec<AsyncListener>,
    mut further: Receiver<Listener>,
    io_threads: &IoThreads,
    engine: Arc<dyn Engine>,
    settings: Arc<Settings>,
    stop: Stop,
) -> Ended {
    let drain_time = settings.limits.drain_time;
    let http = serve::http(&settings.limits);
    let connections = Arc::new(ConnectionTable::new(&settings.limits, settings.more_connections));
    let notices = Notices::default();
    let common = Arc::new(Common { engine, settings, stop: stop.clone(), connections, http, notices });
    let (guard, gone) = drain::guard();
    let counts = gone.counts();
    let open = |listener: AsyncListener| {
        let common = common.clone();
        let guard = guard.clone();
        let theirs = io_threads.share();
        io_threads.run(async move { accept::run(listener, &theirs, common, guard).await });
    };
    listeners.into_iter().for_each(open);
    loop {
        tokio::select! {
            () = stop.draining() => break,
            Some(listener) = further.recv() => match registered(listener, io_threads) {
                Ok(listener) => open(listener),
                Err(error) => tracing::warn!(target: "front", "{error}"),
            },
        }
    }
    // A listener that has come too late is dropped, too, and removes the file of its socket.
    drop((guard, common, further));
    let mut all_gone = std::pin::pin!(gone.all());
    tokio::select! {
        ended = &mut all_gone => return ended,
        () = stop.cutting() => {}
        () = tokio::time::sleep(drain_time) => stop.now(),
    }
    // An I/O thread that is held by an uninterruptible call never ends its connections: the shutdown does not wait for
    // it.
    tokio::select! {
        ended = &mut all_gone => ended,
        () = tokio::time::sleep(CUT_TIME) => {
            tracing::warn!(target: "front", "some connections did not close within {CUT_TIME:?} and are given up");
            counts.now()
        }
    }
}
