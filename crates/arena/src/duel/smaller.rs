//! Model of a smaller machine: all threads of a running server are bound to some of the processors. The load generator
//! keeps all of them, and memory, caches and the rest of the machine stay as they are.

use procfs::process::Process;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::contender::Server;
use crate::measure::Up;

/// Most searches for threads that were started while others were bound.
const PASSES: usize = 5;

/// Runs `work` while the server is bound to this many of the processors that this program may use: the last ones, since
/// the first also handle more of the system's work.
pub fn bound<T>(up: &mut Up, processors: u32, work: impl FnOnce(&mut Up) -> T) -> Result<T, String> {
    let before = sched_getaffinity(None).map_err(|error| format!("the processors cannot be read: {error}"))?;
    let mut wanted = CpuSet::new();
    let usable = (0..CpuSet::MAX_CPU).rev().filter(|at| before.is_set(*at));
    usable.take(processors as usize).for_each(|at| wanted.set(at));
    bind(&up.server, &wanted)?;
    let done = work(up);
    bind(&up.server, &before)?;
    Ok(done)
}

/// Binds all threads of all processes. Repeats until none is found elsewhere, since a thread may start another one
/// meanwhile.
fn bind(server: &Server, wanted: &CpuSet) -> Result<(), String> {
    for _ in 0..PASSES {
        let mut moved = 0;
        for thread in threads(server) {
            let is_there = sched_getaffinity(Some(thread)).is_ok_and(|now| now == *wanted);
            if is_there {
                continue;
            }
            moved += 1;
            match sched_setaffinity(Some(thread), wanted) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(format!("its threads cannot be bound to processors: {error}")),
            }
        }
        if moved == 0 {
            return Ok(());
        }
    }
    Ok(())
}

fn threads(server: &Server) -> Vec<Pid> {
    let of = |id: u32| {
        let tasks = Process::new(id.cast_signed()).and_then(|one| one.tasks()).into_iter().flatten().flatten();
        tasks.filter_map(|task| Pid::from_raw(task.tid)).collect::<Vec<Pid>>()
    };
    server.members().into_iter().flat_map(|one| of(one.id)).collect()
}
