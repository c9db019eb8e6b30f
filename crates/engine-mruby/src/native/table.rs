//! The table of native functions: those of the libraries, and the engine's own for the request, for shared state and
//! for time. Ruby reaches Rust through these alone.

use ruby_native::{Arg, Native, Outcome, raise};

use super::{Call, input, log, source, store, wait};

/// A native function of the engine.
pub type Run = fn(&mut Call<'_>, &[Arg<'_>]) -> Outcome;

/// The functions of the libraries. Ruby knows a function by its index in these tables, one after the other, and then in
/// [`OWN`].
pub static LIBRARIES: [&[Native]; 2] = [ruby_stdlib::TABLE, ruby_data::TABLE];

/// The engine's own functions.
pub static OWN: &[Native<Run>] = &[
    Native::function(c"sleep", wait::sleep),
    Native::singular(c"FoolsGold::Counter", c"count", store::requests_count),
    Native::singular(c"FoolsGold::Counter", c"increment", store::requests_increment),
    Native::function(c"store_get", store::get),
    Native::function(c"store_set", store::set),
    Native::function(c"store_delete", store::delete),
    Native::function(c"store_increment", store::increment),
    Native::function(c"store_clear", store::clear),
    Native::function(c"store_size", store::size),
    Native::function(c"input_read", input::read),
    Native::function(c"input_size", input::size),
    Native::function(c"log", log::log),
    Native::function(c"environment", log::environment),
    Native::function(c"environment_variables", log::environment_variables),
    Native::function(c"source_read", source::read_source),
    Native::function(c"source_known", source::knows_source),
    Native::function(c"library_known", source::knows_library),
    Native::function(c"timer_start", wait::timer_start),
    Native::function(c"timer_stop", wait::timer_stop),
    Native::function(c"process_id", log::process_id),
];

/// Runs the function with this index.
pub fn run(number: usize, call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut at = number;
    for rows in LIBRARIES {
        match rows.get(at) {
            Some(row) => return (row.run)(&mut call.context(), args),
            None => at -= rows.len(),
        }
    }
    match OWN.get(at) {
        Some(row) => (row.run)(call, args),
        None => Err(raise("NotImplementedError", "this native function does not exist")),
    }
}
