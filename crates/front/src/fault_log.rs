//! What the log says of a request that failed, before its answer or in the middle of it.

use std::time::Duration;

use engine::Fault;

/// Who waits for less than this has not waited.
const WORTH_SAYING: Duration = Duration::from_millis(100);

/// Says in the log what the client is not told; `whose` is the request, in words.
pub(crate) fn write(fault: &Fault, whose: &str, queued: Duration) {
    let lines: String = fault.lines().iter().flat_map(|line| ["\n  ", line]).collect();
    match fault {
        // The time of a request begins with its coming: what it lost in the line the application did not have.
        Fault::OutOfTime(_) if queued >= WORTH_SAYING => {
            tracing::error!(target: "app", "{whose}: {fault}, {queued:.2?} of which it waited for a worker{lines}");
        }
        Fault::App(_) | Fault::BadAnswer(_) | Fault::OutOfTime(_) | Fault::OutOfMemory(_) => {
            tracing::error!(target: "app", "{whose}: {fault}{lines}");
        }
        Fault::WorkerDied(_) | Fault::Broken(_) => tracing::error!(target: "engine", "{whose}: {fault}"),
        // One line for each would make an overload worse; the access log has them.
        Fault::QueueFull(_) | Fault::QueueWait(_) | Fault::Stopping | Fault::ClientGone => {
            tracing::debug!(target: "front", "{whose}: {fault}");
        }
    }
}
