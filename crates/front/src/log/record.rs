//! The data of a request for its access log entry, which is written when the request is over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Fault;
use engine::snapshot::Past;
use http::{Method, Uri};

use crate::log::access_log::AccessLog;
use crate::log::body_fault::{self, FaultCount};
use crate::log::fault_log::RequestIdentity;
use crate::log::log_line::{self, Entry, LoggedTarget};
use crate::proxy::request_id::RequestId;

/// A connection, as the records of its requests see it.
pub(crate) trait Logged: Send + Sync {
    /// The access log, if there is one.
    fn access_log(&self) -> Option<&AccessLog>;

    /// Address of the peer; `None` for a Unix socket.
    fn remote(&self) -> Option<SocketAddr>;

    /// Reason why a request without a response was abandoned.
    fn cut_by(&self) -> Fault;
}

/// A request's data for the access log. Dropping it writes the entry.
pub(crate) struct Record {
    pub(crate) connection: Arc<dyn Logged>,
    pub(crate) received: Instant,
    /// Time when the request was complete.
    pub(crate) complete: Instant,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) id: RequestId,
    /// Status of the response; 0 while there is none.
    pub(crate) status: u16,
    /// Bytes of the response's body that were sent.
    pub(crate) bytes: u64,
    /// Time that the request waited for a worker.
    pub(crate) queued: Duration,
    /// Name of what went wrong, or empty.
    pub(crate) fault: &'static str,
    /// Description of what went wrong, or empty.
    pub(crate) reason: &'static str,
    /// Name of the application, if the engine has several.
    pub(crate) app: Option<Arc<str>>,
    /// Whether a connection that the application had taken over has ended in order: the missing status is no fault.
    pub(crate) is_over: bool,
    /// The count of a fault, once the body is handed over: the socket may not take all of it.
    pub(crate) faults: FaultCount,
}

impl Record {
    /// Notes that the response was not written to its end. What went wrong before stays the reason.
    pub(crate) fn cut(&mut self, fault: &Fault) {
        if self.fault.is_empty() {
            self.fault = fault.name();
        }
        let mut faults = std::mem::take(&mut self.faults);
        faults.fail(fault, || Some(self.past()));
    }

    /// The request for the recorder.
    pub(crate) fn past(&self) -> Past {
        let (method, path) = (self.method.to_string(), log_line::escaped(self.target.path()));
        let identity = RequestIdentity { id: self.id.as_str().to_owned(), method, path, app: None };
        body_fault::past(identity, self.status, self.complete, self.queued)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(log) = self.connection.access_log() else { return };
        if self.status == 0 && self.fault.is_empty() && !self.is_over {
            self.fault = self.connection.cut_by().name();
        }
        let entry = Entry {
            client: self.connection.remote(),
            method: self.method.as_str().as_bytes(),
            target: LoggedTarget::Whole(&self.target),
            status: self.status,
            bytes: self.bytes,
            took: self.received.elapsed(),
            queued: self.queued,
            id: self.id.as_str(),
            fault: self.fault,
            reason: self.reason,
            app: self.app.as_deref().unwrap_or_default(),
        };
        log.write(&entry);
    }
}
