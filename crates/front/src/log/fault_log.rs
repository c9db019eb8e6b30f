//! What the log says of a request that failed, before its answer or in the middle of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::Fault;

/// Which request it is, without its query, which may hold what is nobody's business.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whose {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The application, where there are several.
    pub(crate) app: Option<Arc<str>>,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}, {} {}", self.id, self.method, self.path)
    }
}

/// Who waits for less than this has not waited.
const WORTH_SAYING: Duration = Duration::from_millis(100);

/// Says in the log what the client is not told.
pub(crate) fn write(fault: &Fault, whose: &Whose, queued: Duration) {
    let Whose { id, method, path, app } = whose;
    let name = fault.name();
    let app = app.as_deref();
    let lines: String = fault.lines().iter().flat_map(|line| ["\n  ", line]).collect();
    match fault {
        // The time of a request begins with its coming: what it lost in the line the application did not have.
        Fault::OutOfTime(_) if queued >= WORTH_SAYING => {
            tracing::error!(
                target: "app",
                id, method, path, app, fault = name, queue_ms = queued.as_secs_f64() * 1e3,
                "{whose}: {fault}, {queued:.2?} of which it waited for a worker{lines}"
            );
        }
        Fault::App(_) | Fault::BadAnswer(_) | Fault::OutOfTime(_) | Fault::OutOfMemory(_) => {
            tracing::error!(target: "app", id, method, path, app, fault = name, "{whose}: {fault}{lines}");
        }
        Fault::WorkerDied(_) | Fault::Broken(_) => {
            tracing::error!(target: "engine", id, method, path, app, fault = name, "{whose}: {fault}");
        }
        // One line for each would make an overload worse; the access log has them.
        Fault::QueueFull(_) | Fault::QueueWait(_) | Fault::Stopping | Fault::ClientGone => {
            tracing::debug!(target: "front", id, method, path, app, fault = name, "{whose}: {fault}");
        }
    }
}
