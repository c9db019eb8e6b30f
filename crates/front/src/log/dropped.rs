//! Response headers that were left out as invalid, logged once for each name.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::log::fault_log::RequestIdentity;

/// Most names that are logged, in case an application makes names up.
const NAMES_MAX: usize = 100;

/// Names that have been logged.
static NAMES: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Logs the headers whose names have not been logged yet.
pub(crate) fn write(dropped: &[(String, &'static str)], identity: &RequestIdentity) {
    let mut names = NAMES.lock();
    let names = names.get_or_insert_default();
    for (name, why) in dropped {
        if names.len() < NAMES_MAX && names.insert(name.clone()) {
            tracing::warn!(
                target: "app",
                id = identity.id, method = identity.method, path = identity.path, app = identity.app.as_deref(),
                "{identity}: the header \"{name}\" is left out of the answer: {why} (logged once for each header)"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_makes_names_up_fills_neither_the_log_nor_the_memory() {
        let dropped: Vec<_> = (0..2 * NAMES_MAX).map(|number| (number.to_string(), "it is no name")).collect();
        write(&dropped, &RequestIdentity::default());
        assert_eq!(NAMES.lock().as_ref().map(HashSet::len), Some(NAMES_MAX));
    }
}
