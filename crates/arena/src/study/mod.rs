//! A study: its recipe, its plan, and its run.
//!
//! `recipe` is a file of arena/studies; `plan` derives the cases and turns of a run from it; `ready` checks everything
//! before the run; `contest` is one contender's turn in a family of cases; `divide` follows the turns of all and
//! divides a request's time, with the application `behind` a middleware; `run` performs all turns, in rounds, and
//! resumes an interrupted run; `twin` is the contender that takes part twice; `summarize` makes the report's data from
//! the samples; `by_k6` has k6 make the loads; `import` makes a run of loads that k6 made on other machines;
//! `challenge` adds a user's recipe; `fit` checks whether a run may be shown on a page.

mod asked;
mod bad_day;
mod behind;
mod by_k6;
mod case;
mod challenge;
mod check;
mod contest;
mod context;
mod divide;
mod effort;
mod expect;
mod fit;
mod import;
mod ladder;
mod origin;
mod plan;
mod published;
mod ready;
mod recipe;
mod recipes;
mod run;
mod service;
mod services;
mod summarize;
mod twin;
mod verdicts;
mod watcher;

pub use asked::Asked;
pub use challenge::Challenge;
pub use check::surroundings;
pub use context::Context;
pub use effort::Effort;
pub use fit::shown;
pub use import::Import;
pub use origin::Origin;
pub use plan::{Case, Plan};
pub use published::Figures;
pub use ready::Ready;
pub use recipe::{Recipe, ServiceName, Tool};
pub use recipes::Recipes;
pub use run::home;
pub use watcher::Watcher;
