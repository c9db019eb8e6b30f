//! Native functions for the library etc: the processors, and the names of the system.

use ruby_native::{Arg, Context, Outcome, Tree, Value};

/// `processors`: the number of processors that this process may use, at least 1.
pub fn processors(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Value::Int(i64::try_from(count).unwrap_or(1)))
}

/// `system_names`: the names of the system, of this machine in the network, of the system's release and version, and of
/// the kind of machine.
pub fn names(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    let found = rustix::system::uname();
    let names = [found.sysname(), found.nodename(), found.release(), found.version(), found.machine()];
    let names = names.iter().map(|name| Tree::Str(name.to_bytes().to_vec()));
    Ok(Value::Tree(Tree::Array(names.collect()).encoded()))
}
