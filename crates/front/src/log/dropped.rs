//! Headers of answers that were left out: one line in the log for each name, and not for each answer.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::log::fault_log::Whose;

/// An application that makes up names gets no more lines than this.
const NAMES_MAX: usize = 100;

/// The names that have had their line.
static NAMES: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Writes those of which there was no word yet.
pub(crate) fn write(dropped: &[(String, &'static str)], whose: &Whose) {
    let mut names = NAMES.lock();
    let names = names.get_or_insert_default();
    for (name, why) in dropped {
        if names.len() < NAMES_MAX && names.insert(name.clone()) {
            tracing::warn!(
                target: "app",
                id = whose.id, method = whose.method, path = whose.path, app = whose.app.as_deref(),
                "{whose}: the header \"{name}\" is left out of the answer: {why} (logged once for each header)"
            );
        }
    }
}
