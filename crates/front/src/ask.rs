//! One request to a server on a Unix socket, for the commands that talk to a running FoolsGold.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// An answer beyond this is refused: no server of ours says so much.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// A server that lives takes a connection at once.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// Nobody listens there.
    Connect(io::Error),
    /// The connection broke, or what came was no answer.
    Broken(String),
    /// There was none within this time.
    Late(Duration),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Connect(error) => write!(f, "cannot be reached: {error}"),
            AskError::Broken(why) => write!(f, "broke off: {why}"),
            AskError::Late(time) => write!(f, "did not answer within {time:?}"),
        }
    }
}

impl std::error::Error for AskError {}

/// Sends one request with JSON for a body, or none, and reads the whole answer. Needs a tokio runtime with I/O and
/// time.
pub async fn ask(
    socket: &Path,
    method: Method,
    target: &str,
    json: &str,
    time: Duration,
) -> Result<(StatusCode, Bytes), AskError> {
    let connect = timeout(CONNECT_TIME.min(time), UnixStream::connect(socket)).await;
    let stream = match connect {
        Ok(stream) => stream.map_err(AskError::Connect)?,
        Err(_) => return Err(AskError::Late(CONNECT_TIME.min(time))),
    };
    timeout(time, exchange(stream, method, target, json)).await.unwrap_or(Err(AskError::Late(time)))
}

async fn exchange(
    stream: UnixStream,
    method: Method,
    target: &str,
    json: &str,
) -> Result<(StatusCode, Bytes), AskError> {
    let broken = |error: &dyn fmt::Display| AskError::Broken(error.to_string());
    let mut request = Request::builder().method(method).uri(target).header(HOST, "foolsgold");
    if !json.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, json.len());
    }
    let request = request.body(Full::new(Bytes::copy_from_slice(json.as_bytes()))).map_err(|error| broken(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    let talk = async move {
        let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES).collect().await;
        body.map(|body| (status, body.to_bytes())).map_err(|error| broken(&error))
    };
    // The connection moves only while it is polled. When it ends first, the talk learns that from its channel.
    tokio::pin!(talk);
    tokio::select! {
        biased;
        answer = &mut talk => answer,
        _ = connection => talk.await,
    }
}
