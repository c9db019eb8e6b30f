//! The connections of one process.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use crate::process::Loading;
use crate::wire::control::Control;

/// Of a mold or a worker, until it is forgotten.
#[derive(Default)]
pub struct Link {
    /// The way to give it orders.
    pub control: Option<Arc<Control>>,
    /// The connections of its threads, until dispatch has them.
    pub threads: Vec<(u32, StdStream)>,
    /// It has something to do between requests.
    pub has_errands: bool,
    /// As long as it has not loaded the application.
    pub loading: Option<Loading>,
}
