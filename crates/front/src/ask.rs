//! HTTP client for the commands that talk to a running FoolsGold: one request over a Unix socket.

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

/// Longest response that is accepted; the control socket sends much less.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Longest time to connect; a server that runs accepts at once.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Reason why there is no response.
#[derive(Debug)]
pub enum AskError {
    /// The connection failed: no server listens on the socket.
    Connect(io::Error),
    /// The connection broke, or the response was not valid HTTP; the text says how.
    Broken(String),
    /// No response came within this time.
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

/// Sends a request with a JSON body, or without one if `json` is empty, and returns status and body of the response.
/// Needs a tokio runtime with I/O and time.
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
    // The connection makes progress only while it is polled. If it ends first, `talk` gets the error from its channel.
    tokio::pin!(talk);
    tokio::select! {
        biased;
        answer = &mut talk => answer,
        _ = connection => talk.await,
    }
}
