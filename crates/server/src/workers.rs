//! How many worker processes there may be, from three options that can be said in part.

use crate::asked::Origin;
use crate::options::Name;
use crate::picker::Picker;

impl Picker<'_> {
    /// The fewest and the most. `--workers` alone is both; beside one of the others it is the one that is not said.
    pub fn workers(&mut self) -> (usize, usize) {
        let given = self.pick(Name::Workers);
        // A worker may have a core for itself. Puma's 0 means one process; here that is one worker.
        let workers = if given.value == "auto" { self.cores } else { self.small(Name::Workers).max(1) };
        let said = |picker: &mut Self, name| picker.optional(name).map(|_| picker.small(name));
        let (min, max) = (said(self, Name::MinWorkers), said(self, Name::MaxWorkers));
        let fewest = if given.origin == Origin::Default { 1 } else { workers };
        let (min, max) = match (min, max) {
            (None, None) => (workers, workers),
            // Of a platform's WEB_CONCURRENCY and what somebody says of this program, the latter counts.
            (None, Some(max)) if matches!(given.origin, Origin::Variable(_)) => (fewest.min(max), max),
            (None, Some(max)) => (fewest, max),
            (Some(min), None) => (min, workers.max(min)),
            (Some(min), Some(max)) => (min, max),
        };
        if min > max {
            let given = self.pick(Name::MaxWorkers);
            self.refuse(&given, &format!("must be at least {min}, the fewest (--min-workers, or --workers)"));
        }
        (min, max)
    }
}
