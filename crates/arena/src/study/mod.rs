//! A study: its recipe, its plan, and its run.
//!
//! `recipe` is what a file in arena/studies says; `plan` makes of it the cases and turns of a run; `ready` looks at
//! all that can be wrong before; `contest` is one contender's turn in a family of cases; `divide` follows the turns of
//! all and divides a request's time, with the application `behind` a middleware; `run` has all turns, in rounds, and
//! can go on where an earlier run was interrupted; `twin` is the contender that takes part twice; `summarize` makes of
//! the samples what the report shows, `description` what was asked in a case; `by_k6` has k6 make the loads; `import`
//! makes a run of those that k6 made elsewhere; `challenge` adds a recipe that is not the arena's; `fit` looks at what
//! a run lacks to be shown on a page; `known` is what our applications answer beyond what a recipe says;
//! `lost` finds what a summary shows and the samples lack.

mod bad_day;
mod behind;
mod by_k6;
mod case;
mod challenge;
mod check;
mod contest;
mod context;
mod description;
mod divide;
mod effort;
mod expect;
mod fit;
mod import;
mod known;
mod ladder;
mod lost;
mod meaning;
mod origin;
mod plan;
mod published;
mod ready;
mod recipe;
mod request;
mod run;
mod service;
mod services;
mod studies;
mod summarize;
mod twin;
mod verdicts;
mod watcher;

pub use challenge::Challenge;
pub use check::surroundings;
pub use context::Context;
pub use effort::Effort;
pub use fit::shown;
pub use import::Import;
pub use lost::lost_samples;
pub use origin::Origin;
pub use plan::{Plan, PlannedCase};
pub use published::Figures;
pub use ready::{ReadyRun, check_tools};
pub use recipe::{Entry, ServiceName, Study, Tool};
pub use request::RunRequest;
pub use run::home;
pub use studies::Studies;
pub use watcher::Watcher;
