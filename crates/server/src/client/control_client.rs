//! The client of a server's control socket: sends requests one after another, each on a connection of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::brief;
use front::{AskError, ask};
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::outcome::Failure;

/// Time for a server to report its status.
const LOOK_TIME: Duration = Duration::from_secs(10);
/// The same for one server among several.
const GLANCE_TIME: Duration = Duration::from_secs(2);
/// Time for an action: a reload takes as long as it takes.
const ORDER_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Age up to which a socket file without a listener may be one that a server is just opening: the kernel makes the file
/// before the server can listen, and refuses connections meanwhile.
const FRESH: Duration = Duration::from_secs(2);
/// Interval at which such a socket is tried again.
const OPENING_INTERVAL: Duration = Duration::from_millis(5);

/// A client of one server.
pub struct ControlClient {
    runtime: Runtime,
    pub socket: PathBuf,
}

/// Why there was no good response.
#[derive(Debug)]
pub enum ClientError {
    /// The server's own error.
    Refused(StatusCode, String),
    /// No server listens on the socket, or not for this user.
    Gone(io::Error),
    /// A process has the socket, but did not answer within this time.
    Silent(Duration),
    /// The response was not valid.
    Other(String),
}

impl ControlClient {
    /// A client of this socket; does not connect yet.
    pub fn to(socket: &Path) -> Result<ControlClient, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("there is no way to ask: {error}")))?;
        Ok(ControlClient { runtime, socket: socket.to_owned() })
    }

    /// GETs a path of the API.
    pub fn look(&self, target: &str) -> Result<Value, ClientError> {
        self.ask(Method::GET, target, "", LOOK_TIME)
    }

    /// The status, with a short time limit: a stopped server must not hide the others.
    pub fn glance(&self) -> Result<Value, ClientError> {
        self.ask(Method::GET, "/v1/status", "", GLANCE_TIME)
    }

    /// POSTs an action and waits until it is done, after checking that the server answers at all.
    pub fn order(&self, target: &str, parameters: &Value) -> Result<Value, ClientError> {
        self.look("/v1")?;
        self.ask(Method::POST, target, &parameters.to_string(), ORDER_TIME)
    }

    /// POSTs an action that the server answers at once.
    pub fn brief_order(&self, target: &str, parameters: &Value) -> Result<Value, ClientError> {
        self.ask(Method::POST, target, &parameters.to_string(), LOOK_TIME)
    }

    /// Ctrl-C, which from now on ends waits, and not this program.
    pub fn interrupts(&self) -> Result<Signal, Failure> {
        let _inside = self.runtime.enter();
        let signal = signal(SignalKind::interrupt());
        signal.map_err(|error| Failure::failed(format!("Ctrl-C cannot be listened to: {error}")))
    }

    /// Waits for this time, or until Ctrl-C. Returns whether the time has passed.
    pub fn wait(&self, time: Duration, interrupts: &mut Signal) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = interrupts.recv() => false,
                () = tokio::time::sleep(time) => true,
            }
        })
    }

    fn ask(&self, method: Method, target: &str, json: &str, time: Duration) -> Result<Value, ClientError> {
        let answer = self.runtime.block_on(async {
            loop {
                match ask(&self.socket, method.clone(), target, json, time).await {
                    Err(AskError::Connect(error)) if is_just_opening(&self.socket, &error) => {
                        tokio::time::sleep(OPENING_INTERVAL).await;
                    }
                    answer => return answer,
                }
            }
        });
        let (status, body) = match answer {
            Ok(answer) => answer,
            // The backlog of a server that does not accept is full.
            Err(AskError::Connect(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(ClientError::Silent(Duration::ZERO));
            }
            Err(AskError::Late(time)) => return Err(ClientError::Silent(time)),
            Err(AskError::Connect(error)) => return Err(ClientError::Gone(error)),
            Err(error) => return Err(ClientError::Other(format!("{} {error}", self.socket.display()))),
        };
        let value = serde_json::from_slice::<Value>(&body).map_err(|error| {
            let socket = self.socket.display();
            let status = status.as_u16();
            ClientError::Other(format!("{socket} is no FoolsGold: it answered {status}, and no JSON ({error})"))
        })?;
        if status.is_success() {
            return Ok(value);
        }
        let why = value["error"].as_str().unwrap_or("for no reason that it tells").to_owned();
        Err(ClientError::Refused(status, why))
    }
}

impl ClientError {
    /// The error as a failure of the command.
    pub fn failure(self, socket: &Path) -> Failure {
        match self {
            ClientError::Refused(status, why) if status == StatusCode::BAD_REQUEST => Failure::usage(why),
            ClientError::Refused(_, why) | ClientError::Other(why) => Failure::failed(why),
            ClientError::Gone(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Failure::failed(gone(socket, &error))
            }
            ClientError::Gone(error) => Failure::no_server(gone(socket, &error)),
            ClientError::Silent(time) => Failure::failed(silent(socket, time)),
        }
    }
}

/// The message about a server that does not answer.
pub fn silent(socket: &Path, time: Duration) -> String {
    let shown = socket.display();
    let within = if time.is_zero() { String::new() } else { format!(" within {}", brief(time)) };
    match front::listener_of(socket) {
        Ok(pid) => format!(
            "process {pid}, whose control socket is {shown}, did not answer{within}: it is stopped, hangs or is very \
             busy; kill -CONT {pid} lets it go on if it was stopped, kill -KILL {pid} ends it"
        ),
        Err(_) => format!(
            "the server whose control socket is {shown} did not answer{within}: it is stopped, hangs or is very busy; \
             `ss -xlp` names its process"
        ),
    }
}

/// Whether a connection was refused with this error since a server has just made the socket, and is about to listen.
fn is_just_opening(socket: &Path, error: &io::Error) -> bool {
    let made = || fs::metadata(socket).and_then(|found| found.modified());
    error.kind() == io::ErrorKind::ConnectionRefused && made().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < FRESH))
}

fn gone(socket: &Path, error: &io::Error) -> String {
    let socket = socket.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("no server: there is no socket {socket}"),
        io::ErrorKind::ConnectionRefused => format!("no server: nobody listens on {socket} any more"),
        io::ErrorKind::PermissionDenied => {
            format!("{socket} belongs to another user: call this as the user that runs the server, or as root")
        }
        _ => format!("{socket} cannot be reached: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::process::ExitCode;
    use std::thread;

    use front::{Bind, Listener};

    use super::*;
    use crate::client::outcome;

    #[test]
    fn a_socket_that_is_just_being_opened_is_waited_for_and_an_old_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let listener = Listener::bind(&Bind::Unix(path.clone())).unwrap();
        let opening = thread::spawn(move || {
            thread::park_timeout(Duration::from_millis(100));
            listener.open().unwrap();
            let socket = UnixListener::from(listener.share().unwrap().socket);
            socket.set_nonblocking(false).unwrap();
            let (mut client, _) = socket.accept().unwrap();
            assert!(client.read(&mut [0; 4096]).unwrap() > 0);
            client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        });
        assert_eq!(ControlClient::to(&path).unwrap().look("/v1").unwrap(), serde_json::json!({}));
        opening.join().unwrap();
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        fs::write(&path, "").unwrap();
        assert!(is_just_opening(&path, &refused) && !is_just_opening(&path, &io::ErrorKind::NotFound.into()));
        let old = std::time::SystemTime::now() - 2 * FRESH;
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(!is_just_opening(&path, &refused));
    }

    #[test]
    fn a_server_that_may_not_be_asked_is_not_one_that_does_not_run() {
        let code = |kind: io::ErrorKind| {
            let failure = ClientError::Gone(kind.into()).failure(Path::new("control.sock"));
            format!("{:?}", outcome::fail("status", &failure))
        };
        assert_eq!(code(io::ErrorKind::PermissionDenied), format!("{:?}", ExitCode::from(1)));
        assert_eq!(code(io::ErrorKind::ConnectionRefused), format!("{:?}", ExitCode::from(3)));
        assert_eq!(code(io::ErrorKind::NotFound), format!("{:?}", ExitCode::from(3)));
    }
}
