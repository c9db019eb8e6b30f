//! Common context of all studies.

use std::path::Path;

use super::published::Figures;
use crate::contender::Catalogue;
use crate::environment::Environment;

/// Catalogue, environment, applications and published figures, which all studies of a command share.
pub struct Context<'a> {
    /// Recipes of contenders.
    pub catalogue: &'a Catalogue,
    /// Environment in which the servers run.
    pub environment: &'a Environment,
    /// The folder apps/.
    pub apps: &'a Path,
    /// Published figures of the original studies.
    pub figures: &'a Figures,
}
