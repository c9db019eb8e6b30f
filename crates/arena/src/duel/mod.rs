//! The duel: finds the best server for a user's own application, from its workload, the learned answers, the settings
//! worth trying and the measurements. Only `fetch` and `run` with its parts do I/O; all else is pure.

pub mod request;
pub mod urls;

pub mod access_line;
pub mod access_log;
pub mod access_time;
pub mod bounded;
pub mod pace;
pub mod workload;

pub mod answer;
pub mod fetch;
pub mod glob;
pub mod kind;

pub mod plan;
pub mod settings;
pub mod successive_halving;

pub mod advise;
mod advise_at_rate;
pub mod cases;
pub mod caveats;
pub mod choice;
pub mod compare;
pub mod strain;
pub mod summing;
pub mod traffic;

pub mod options;

pub mod run;

mod capture;
mod contenders;
mod contest;
mod second_look;
mod smaller;
mod traffic_turn;
mod turn;

pub use options::{DuelOptions, Listener, Now, TimeLeft, Today};
pub use run::{ReadyDuel, run};
pub use workload::DuelWorkload;
