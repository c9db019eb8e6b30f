//! The place of this process among others: what it takes before it gives up root, and what it tells the process and the
//! service manager that started it once it serves.

use std::path::Path;
use std::sync::Arc;

use front::Lanes;
use tracing::info;

use crate::cradle::{Birth, Cradle};
use crate::launch::Launch;
use crate::runfiles::RunFiles;
use crate::settings::Settings;
use crate::sockets::{Sockets, Wanted, gather};
use crate::systemd;
use crate::upgrade::{Upgrade, follow};

/// Binds addresses, takes the pid file and the state file, and becomes who it is to be.
pub fn take(settings: &Settings, launch: &mut Launch) -> Result<(Sockets, Arc<RunFiles>), String> {
    let operating = &settings.operating;
    let wanted =
        Wanted { binds: &settings.binds, is_default: operating.is_default_bind, activated: operating.activated };
    let sockets = gather(&wanted, std::mem::take(&mut launch.sockets))?;
    let is_successor = launch.cradle.as_ref().is_some_and(|cradle| cradle.birth == Birth::Upgrade);
    let run_files = RunFiles::claim(operating.pidfile.as_deref(), operating.state.as_deref(), None, is_successor)?;
    if let Some(identity) = &operating.identity {
        let paths = run_files.paths();
        let bound = sockets.shares.iter().filter(|shared| !shared.is_taken).filter_map(|shared| shared.share.path());
        let files = launch.log_files.paths().chain(paths.iter().map(|path| path.as_path())).chain(bound);
        let became = identity.own(files.collect::<Vec<&Path>>()).and_then(|()| identity.assume());
        if let Err(why) = became {
            run_files.remove();
            return Err(why);
        }
        info!(target: "server", "this process is {identity} from now on");
    }
    Ok((sockets, Arc::new(run_files)))
}

/// Says that this process serves.
pub fn tell(
    cradle: Option<Cradle>,
    upgrade: Arc<Upgrade>,
    run_files: &Arc<RunFiles>,
    taken: &[String],
    lanes: &Lanes,
) -> Result<(), String> {
    let (runtime, lanes) = (tokio::runtime::Handle::current(), lanes.handles());
    // A successor is the service when the process before it says so.
    let serve = move |status: &str| {
        systemd::ready(status);
        drop(runtime.spawn(systemd::watchdog(lanes)));
    };
    let Some(cradle) = cradle else {
        serve("serving");
        return Ok(());
    };
    follow(cradle, upgrade, run_files.clone(), taken, serve)
}
