//! A proxy that runs as another user, in front of a Unix socket, during reloads and upgrades.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use loadgen::check;
use loadgen::process::{Ports, Process, free_ports, until};
use rustix::process::Signal;

use super::deploys::{boots_as, finish, reload, serves, upgraded};
use crate::app;
use crate::findings::Findings;
use crate::load::CLIENTS;
use crate::pace::pause;
use crate::processes;
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// User of proxies on Debian. If it is not started by root, nginx runs as the current user, with a warning.
const USER: &str = "www-data";
const SOCKET: &str = "web.sock";
const START: Duration = Duration::from_secs(30);

/// nginx with files of its own, apart from the server's.
struct Nginx {
    process: Process,
    port: u16,
    /// Keeps its port from other servers.
    _ports: Ports,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn start(socket: &Path) -> Result<Nginx, String> {
        let failed = |error: std::io::Error| format!("nginx: {error}");
        let folder = tempfile::Builder::new().prefix("chaos-nginx-").tempdir().map_err(failed)?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(failed)?;
        let ports = free_ports(1)?;
        let port = ports.numbers[0];
        let config = folder.path().join("nginx.conf");
        fs::write(&config, configuration(socket, port)).map_err(failed)?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).args(["-e", "stderr", "-c"]).arg(&config);
        let mut process = Process::start("nginx", command, &folder.path().join("log"))?;
        let workload = app::workload(&[r#"{ "path": "/short", "exactly": "short\n" }"#])?;
        let mut why = String::new();
        let is_ready = until(START, || {
            why = check(port, &workload).err().unwrap_or_default();
            why.is_empty() || process.ended().is_some()
        });
        if !is_ready || !why.is_empty() {
            return Err(format!("nothing comes through nginx: {why}\n{}", process.tail()));
        }
        Ok(Nginx { process, port, _ports: ports, _folder: folder })
    }
}

impl Drop for Nginx {
    /// SIGKILL would leave its workers behind.
    fn drop(&mut self) {
        processes::signal(self.process.id(), Signal::TERM);
        until(START, || self.process.ended().is_some());
    }
}

fn configuration(socket: &Path, port: u16) -> String {
    let socket = socket.display();
    format!(
        "user {USER}; daemon off; worker_processes 2; pid nginx.pid; error_log stderr warn;\n\
         events {{ worker_connections 512; }}\n\
         http {{ access_log off; server {{ listen 127.0.0.1:{port};\n\
         location / {{ proxy_pass http://unix:{socket}:; proxy_buffering off; proxy_request_buffering off; }} }} }}\n"
    )
}

/// Alternates reloads and upgrades: no request through the proxy fails, POST included.
pub fn unix(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    boots_as(stage, "1")?;
    // Other users may enter it, as /run/shop.
    fs::set_permissions(&stage.folder, Permissions::from_mode(0o711)).map_err(|error| error.to_string())?;
    let pidfile = stage.folder.join("pid");
    let socket = stage.folder.join(SOCKET);
    let bind = format!("unix://{}", socket.display());
    let setup = Setup::ruby(app::SINATRA, 2, 4);
    let setup = setup.with(&["-b", &bind, "--pidfile", &pidfile.display().to_string()]);
    let mut server = Server::start(stage, &setup)?;
    let nginx = Nginx::start(&socket)?;
    let load = stage.load_at(nginx.port, server.timeout, &app::sinatra_with_posts()?, CLIENTS);
    let rounds = if stage.is_quick { 2 } else { 6 };
    for round in 0..rounds {
        let version = round * 2 + 2;
        stage.doing(format!("reloads to version {version}"));
        boots_as(stage, &version.to_string())?;
        reload(&server, &mut findings, None);
        pause(Duration::from_millis(500));
        stage.doing(format!("upgrades to version {}", version + 1));
        boots_as(stage, &(version + 1).to_string())?;
        if !upgraded(stage, &mut server, &pidfile, &mut findings, |server| serves(server, version + 1).is_ok()) {
            findings.complain(format!("no new process serves version {}", version + 1));
            break;
        }
    }
    findings.remark(format!("{rounds} reloads and {rounds} upgrades behind nginx"));
    finish(&mut server, load, &mut findings, stage);
    drop(nginx);
    server.end(&mut findings);
    Ok(findings)
}
