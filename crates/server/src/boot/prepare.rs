//! The first step of a start: finds out who started this process, goes into the background if configured, and redirects
//! the output to the log files.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use crate::config::settings::Settings;
use crate::log::files::LogFiles;
use crate::process::daemon;
use crate::process::exit::NotServing;
use crate::process::folder::absolute;
use crate::process::inherited;
use crate::process::parent::{InheritedSocket, Parent, StartedAs};
use crate::process::program::Program;
use crate::process::umask;

/// The state of this process after `prepare`, for `serve`.
pub struct Prepared {
    pub program: Program,
    pub parent: Option<Parent>,
    /// Sockets from systemd or from the previous process.
    pub sockets: Vec<InheritedSocket>,
    pub log_files: Arc<LogFiles>,
}

impl Prepared {
    /// Whether the previous process of this server still serves.
    pub fn is_successor(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.started_as == StartedAs::Upgrade)
    }
}

/// The parent process, and the sockets that this process was started with.
pub struct Arrived {
    pub parent: Option<Parent>,
    /// Sockets from systemd or from the previous process.
    pub sockets: Vec<InheritedSocket>,
}

/// Takes over the channel to the parent and inherited sockets. Must run before this process starts any other, which
/// would inherit them.
pub fn arrive(environment: &[(OsString, OsString)]) -> Result<Arrived, String> {
    let mut parent = Parent::find(environment)?;
    let sockets = match &mut parent {
        Some(parent) => std::mem::take(&mut parent.sockets),
        None => inherited::sockets(environment)?,
    };
    if parent.as_ref().is_some_and(|parent| parent.started_as == StartedAs::Background) {
        daemon::leave_terminal()?;
    }
    Ok(Arrived { parent, sockets })
}

/// Applies umask, folders and log files. `None` when the server was started in the background, so that this process is
/// done.
pub fn prepare(program: Program, arrived: Arrived, settings: &Settings) -> Result<Option<Prepared>, NotServing> {
    let Arrived { parent, sockets } = arrived;
    let operating = &settings.operating;
    let files = [&operating.stdout, &operating.stderr, &operating.pidfile, &operating.state];
    let [stdout, stderr, pidfile, state] = files.map(|path| path.as_deref().map(absolute));
    if let Some(identity) = &operating.identity {
        let files = [&stdout, &stderr, &pidfile, &state].into_iter().flatten();
        identity.check_links(files.map(|path| path.as_path())).map_err(NotServing::Failed)?;
    }
    if operating.daemonize && parent.is_none() {
        return daemon::start(&program, &sockets, stdout.as_deref().or(stderr.as_deref())).map(|_| None);
    }
    if operating.is_silent && parent.as_ref().is_some_and(|parent| parent.started_as == StartedAs::Background) {
        let why = "in the background, and no file named for it, as in the server that the settings file is for";
        // The terminal may be gone.
        let _ = writeln!(io::stderr(), "foolsgold: the log goes to /dev/null: {why}; --log-file FILE names one");
    }
    umask::set(operating.umask);
    if operating.makes_folders {
        let files = [&stdout, &stderr, &pidfile].into_iter().flatten();
        // A folder that cannot be made is reported when its file is opened.
        files.filter_map(|file| file.parent()).for_each(|folder| drop(std::fs::create_dir_all(folder)));
    }
    let (stdout, stderr) = (stdout.as_deref(), stderr.as_deref());
    let log_files = LogFiles::open(stdout, stderr, operating.logs_to_stderr, settings.log_form, settings.links())
        .map_err(NotServing::Failed)?;
    Ok(Some(Prepared { program, parent, sockets, log_files: Arc::new(log_files) }))
}
