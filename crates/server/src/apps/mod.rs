//! Applications: what is to be loaded, in which engine, generation after generation, and which of them gets a request.
//! Only this folder starts engines. Old code gets no request once new code serves, and is never closed while a request
//! is handed to it; whatever fails before that leaves the old code as it was.

pub mod app;
pub mod choice;
pub mod coalesced_runs;
pub mod context;
pub mod deploy_record;
pub mod engines;
pub mod generation;
pub mod native;
pub mod probe;
pub mod registry;
pub mod reload;
pub mod requires;
pub mod router;
pub mod spec;
pub mod statements;
pub mod trial;
