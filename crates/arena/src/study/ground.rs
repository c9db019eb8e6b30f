//! What every study is read with.

use std::path::Path;

use super::published::Figures;
use crate::contender::Catalogue;
use crate::place::Place;

/// Where everything is.
pub struct Ground<'a> {
    /// Contenders' recipes.
    pub catalogue: &'a Catalogue,
    /// Where they come from.
    pub place: &'a Place,
    /// The folder apps/.
    pub apps: &'a Path,
    /// The original studies' figures.
    pub figures: &'a Figures,
}
