//! The place of this process among others: what it takes before it gives up root, and what it tells the process and the
//! service manager that started it once it serves.

use std::path::Path;
use std::sync::Arc;

use front::{Lanes, Listener};
use tracing::info;

use crate::admin;
use crate::cradle::{Cradle, Handed};
use crate::launch::Launch;
use crate::runfiles::RunFiles;
use crate::settings::Settings;
use crate::sockets::{Shared, Sockets, Wanted, gather};
use crate::systemd;
use crate::upgrade::{Upgrade, follow};

/// Binds addresses, takes the pid file and the state file, and becomes who it is to be.
pub fn take(settings: &Settings, launch: &mut Launch) -> Result<(Sockets, Arc<RunFiles>), String> {
    let operating = &settings.operating;
    let wanted =
        Wanted { binds: &settings.binds, is_default: operating.is_default_bind, activated: operating.activated };
    let mut handed = std::mem::take(&mut launch.sockets);
    let admin = gather_admin(settings, &mut handed)?;
    let mut sockets = gather(&wanted, handed)?;
    if let Some(admin) = admin {
        sockets.add_admin(admin)?;
    }
    let is_successor = launch.is_successor();
    let run_files = RunFiles::claim(operating.pidfile.as_deref(), operating.state.as_deref(), is_successor)?;
    if let Some(identity) = &operating.identity {
        let paths = run_files.paths();
        let has_owner = |shared: &Shared| {
            let same = settings.binds.iter().find(|one| one.bind == shared.share.asked);
            same.is_some_and(|one| one.options.owner.is_some() || one.options.group.is_some())
        };
        let own = sockets.shares.iter().filter(|shared| !shared.is_taken && !has_owner(shared));
        let bound = own.filter_map(|shared| shared.share.path());
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

/// The admin listener: that of an older process, or one of our own.
fn gather_admin(settings: &Settings, handed: &mut Vec<Handed>) -> Result<Option<Listener>, String> {
    let Some(bind) = &settings.admin.bind else { return Ok(None) };
    let is_it = |one: &Handed| !one.is_activated && one.asked == bind.to_string();
    // Addresses may be asked for in the same words, such as port 0; that of the admin listener is handed over last.
    let others = settings.binds.iter().filter(|other| other.bind.to_string() == bind.to_string()).count();
    let at = handed.iter().rposition(is_it).filter(|_| handed.iter().filter(|one| is_it(one)).count() > others);
    let Some(at) = at else { return admin::bind(&settings.admin) };
    let adopted = Listener::adopt(handed.remove(at).socket, bind.clone());
    adopted.map(Some).map_err(|error| format!("--admin: {error}"))
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
