//! Log entries of requests that failed, before their response or in the middle of it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Fault;
use parking_lot::Mutex;

/// Identity of a request, without its query, which may contain secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestIdentity {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Name of the application, if the engine has several.
    pub(crate) app: Option<Arc<str>>,
}

impl fmt::Display for RequestIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}, {} {}", self.id, self.method, self.path)
    }
}

/// Shortest wait in the queue that the log mentions for a request that timed out.
const WORTH_SAYING: Duration = Duration::from_millis(100);
/// Interval at which the log says that open files, or places in the queue of an application, were short: a line for
/// each request would make an overload worse.
const SHORT_INTERVAL: Duration = Duration::from_secs(10);

/// Times of the last message of a kind, by application: one that is overloaded must not hide that others are.
type LastSaid = Mutex<BTreeMap<Option<Arc<str>>, Instant>>;

/// Time when the log last said that open files were short, which is no matter of an application.
static FILES_SHORT: LastSaid = Mutex::new(BTreeMap::new());
/// Times when the log last said that places in the queue were short.
static QUEUE_SHORT: LastSaid = Mutex::new(BTreeMap::new());
/// Times when the log last said that requests have waited for the end of a pause.
static PAUSED: LastSaid = Mutex::new(BTreeMap::new());

/// Logs the fault, with details that the client does not get.
pub(crate) fn write(fault: &Fault, identity: &RequestIdentity, queued: Duration) {
    let RequestIdentity { id, method, path, app } = identity;
    let name = fault.name();
    let app = app.as_deref();
    let lines = fault.log_lines();
    match fault {
        // The time of a request begins when it arrives: the application did not have what was spent in the queue.
        Fault::OutOfTime(_) if queued >= WORTH_SAYING => {
            tracing::error!(
                target: "app",
                id, method, path, app, fault = name, queue_ms = queued.as_secs_f64() * 1e3,
                "{identity}: {fault}, {queued:.2?} of which it waited for a worker{lines}"
            );
        }
        Fault::App(_) | Fault::BadAnswer(_) | Fault::OutOfTime(_) | Fault::OutOfMemory(_) => {
            tracing::error!(target: "app", id, method, path, app, fault = name, "{identity}: {fault}{lines}");
        }
        Fault::WorkerDied(_) | Fault::Broken(_) => {
            tracing::error!(target: "engine", id, method, path, app, fault = name, "{identity}: {fault}");
        }
        Fault::OutOfFiles if is_news(&FILES_SHORT, &None) => {
            tracing::warn!(
                target: "front",
                id, method, path, app, fault = name,
                "{identity}: {fault}, and no connection can be closed for it; raise the server's limit of open files \
                 (LimitNOFILE= in a systemd unit, ulimit -n), or allow fewer --connections"
            );
        }
        Fault::QueueFull(_) | Fault::QueueWait(_) | Fault::QueueLate(_) if is_news(&QUEUE_SHORT, &identity.app) => {
            tracing::warn!(
                target: "front",
                id, method, path, app, fault = name,
                "{identity}: {fault}. More requests come than are answered: `foolsgold recorder` shows what runs, and \
                 the access log has each that was refused"
            );
        }
        Fault::QueuePaused(_) if is_news(&PAUSED, &identity.app) => {
            tracing::warn!(
                target: "front",
                id, method, path, app, fault = name,
                "{identity}: {fault}; `foolsgold resume` ends the pause"
            );
        }
        // The access log has them.
        Fault::QueueFull(_)
        | Fault::QueueWait(_)
        | Fault::QueuePaused(_)
        | Fault::QueueLate(_)
        | Fault::OutOfFiles
        | Fault::Stopping
        | Fault::ClientGone
        | Fault::BodyMalformed(_)
        | Fault::BodyTooLarge
        | Fault::BodyLate(_)
        | Fault::DiskFull(_)
        | Fault::DiskError(_) => {
            tracing::debug!(target: "front", id, method, path, app, fault = name, "{identity}: {fault}");
        }
    }
}

/// Logs why a file of a response could not be read (`what` says so, and which); the response broke off with this fault.
pub(crate) fn write_unread(fault: &Fault, identity: &RequestIdentity, what: &str, error: &io::Error) {
    let RequestIdentity { id, method, path, app } = identity;
    let name = fault.name();
    let app = app.as_deref();
    tracing::error!(
        target: "front",
        id, method, path, app, fault = name,
        "{identity}: {what}: {error}"
    );
}

/// Logs that the temporary file of a response could not be written; the response waits for its client.
pub(crate) fn write_held_back(identity: &RequestIdentity, error: &io::Error) {
    let RequestIdentity { id, method, path, app } = identity;
    let app = app.as_deref();
    tracing::warn!(
        target: "front",
        id, method, path, app,
        "{identity}: the temporary file of a response takes no more, so the application waits for the client: {error}; \
         TMPDIR says where these files are, --spool-bytes how large each may be"
    );
}

/// Logs why the body of a request could not be kept.
pub(crate) fn write_unkept_body(identity: &RequestIdentity, error: &io::Error) {
    let RequestIdentity { id, method, path, app } = identity;
    let app = app.as_deref();
    tracing::error!(
        target: "front",
        id, method, path, app,
        "{identity}: cannot keep its body: {error}; TMPDIR says where bodies are kept, --body-bytes how large each may \
         be"
    );
}

/// Whether the last message of a kind about an application is at least [`SHORT_INTERVAL`] old, or there was none. If
/// so, its time becomes now, as the caller writes another one.
fn is_news(last: &LastSaid, app: &Option<Arc<str>>) -> bool {
    let mut last = last.lock();
    let is_news = last.get(app).is_none_or(|last| last.elapsed() >= SHORT_INTERVAL);
    if is_news {
        last.insert(app.clone(), Instant::now());
    }
    is_news
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_application_is_said_to_be_overloaded_once_in_a_while() {
        let last = LastSaid::default();
        let [shop, blog] = ["shop", "blog"].map(|name| Some(Arc::from(name)));
        let said = [&shop, &shop, &blog, &None, &blog].map(|app| is_news(&last, app));
        assert_eq!(said, [true, false, true, true, false]);
        last.lock().values_mut().for_each(|at| *at -= SHORT_INTERVAL);
        assert_eq!([&shop, &shop].map(|app| is_news(&last, app)), [true, false]);
    }
}
