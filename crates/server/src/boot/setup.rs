//! Takes addresses and files while this process may still be root; and reports, once it serves, to the process and the
//! service manager that started it.

use std::path::Path;
use std::sync::Arc;

use front::{Bind, IoThreads, Listener};
use tracing::info;

use crate::admin;
use crate::boot::prepare::Prepared;
use crate::config::admin::Control;
use crate::config::control_path;
use crate::config::settings::Settings;
use crate::control::upgrade::{Upgrade, follow};
use crate::process::folder::absolute;
use crate::process::parent::{InheritedSocket, Parent};
use crate::process::run_files::{Claimed, RunFiles};
use crate::process::sockets::{Shared, Sockets, Wanted, gather};
use crate::process::systemd;

/// Binds addresses, claims the pid file and the state file, and switches to the configured user and group.
pub fn take(settings: &Settings, prepared: &mut Prepared) -> Result<(Sockets, Claimed), String> {
    let operating = &settings.operating;
    let is_successor = prepared.is_successor();
    // Before any socket: a second server must fail before it removes the file of one that has not begun to listen.
    let state = operating.state.as_deref().map(|path| (path, operating.state_bits));
    let run_files = RunFiles::claim(operating.pidfile.as_deref(), state, is_successor, settings.links())?;
    let run_files = Claimed(Arc::new(run_files));
    let wanted =
        Wanted { binds: &settings.binds, is_default: operating.is_default_bind, activated: operating.activated };
    let mut handed = std::mem::take(&mut prepared.sockets);
    let admin = gather_admin(settings, &mut handed)?;
    let control = gather_control(settings, &mut handed, is_successor)?;
    systemd::warn_of_missed();
    let mut sockets = gather(&wanted, handed)?;
    if let Some((listener, is_taken)) = admin {
        sockets.share(&listener, is_taken)?;
        sockets.admin = Some(listener);
    }
    if let Some((listener, is_taken)) = control {
        sockets.share(&listener, is_taken)?;
        sockets.control = Some(listener);
    }
    if let Some(identity) = &operating.identity {
        let paths = run_files.0.paths();
        let has_owner = |shared: &Shared| {
            let same = settings.binds.iter().find(|one| one.bind == shared.share.asked);
            same.is_some_and(|one| one.options.owner.is_some() || one.options.group.is_some())
        };
        let own = sockets.shares.iter().filter(|shared| !shared.is_taken && !has_owner(shared));
        let bound = own.filter_map(|shared| shared.share.path());
        let files = prepared.log_files.paths().chain(paths.iter().map(|path| path.as_path())).chain(bound);
        identity.own(files.collect::<Vec<&Path>>()).and_then(|()| identity.assume())?;
        info!(target: "server", "this process is {identity} from now on");
    }
    Ok((sockets, run_files))
}

/// The admin listener: handed over by the previous process, or newly bound; `None` without `--admin`. The flag says
/// whether it was handed over.
fn gather_admin(settings: &Settings, handed: &mut Vec<InheritedSocket>) -> Result<Option<(Listener, bool)>, String> {
    let Some(bind) = &settings.admin.bind else { return Ok(None) };
    let is_it = |one: &InheritedSocket| !one.is_activated && one.asked == bind.to_string();
    // Several addresses may be written alike, such as port 0; the admin listener's is handed over last.
    let others = settings.binds.iter().filter(|other| other.bind.to_string() == bind.to_string()).count();
    let at = handed.iter().rposition(is_it).filter(|_| handed.iter().filter(|one| is_it(one)).count() > others);
    let Some(at) = at else { return Ok(admin::bind(&settings.admin)?.map(|listener| (listener, false))) };
    adopt(handed.remove(at), bind.clone(), "--admin").map(|listener| Some((listener, true)))
}

/// The control socket at a path that was configured, of a server that gives up root: only root may be able to create it
/// in that folder. A successor, which is never root, gets it from the previous process. The flag says whether it was
/// handed over.
fn gather_control(
    settings: &Settings,
    handed: &mut Vec<InheritedSocket>,
    is_successor: bool,
) -> Result<Option<(Listener, bool)>, String> {
    let (Control::Path(path), Some(_)) = (&settings.admin.control, &settings.operating.identity) else {
        return Ok(None);
    };
    let bind = Bind::Unix(absolute(path));
    let is_it = |one: &InheritedSocket| !one.is_activated && one.asked == bind.to_string();
    if let Some(at) = handed.iter().rposition(is_it) {
        return adopt(handed.remove(at), bind, "--control").map(|listener| Some((listener, true)));
    }
    if is_successor {
        return Ok(None);
    }
    control_path::listen_at(path, false).map(|(listener, _)| Some((listener, false)))
}

/// Takes over the socket of a listener that an option configures; the option begins the error.
fn adopt(handed: InheritedSocket, bind: Bind, option: &str) -> Result<Listener, String> {
    Listener::adopt(handed.socket, bind).map_err(|error| format!("{option}: {error}"))
}

/// Reports that this process serves: to its parent, and to the service manager.
pub fn tell(
    parent: Option<Parent>,
    upgrade: Arc<Upgrade>,
    run_files: &Arc<RunFiles>,
    taken: &[String],
    io_threads: &IoThreads,
) -> Result<(), String> {
    let runtime = tokio::runtime::Handle::current();
    let io_threads = io_threads.handles();
    // A successor becomes the service only when the previous process says so.
    let serve = move |status: &str| {
        systemd::ready(status);
        drop(runtime.spawn(systemd::watchdog(io_threads)));
    };
    let Some(parent) = parent else {
        serve("serving");
        return Ok(());
    };
    follow(parent, upgrade, run_files.clone(), taken, serve)
}
