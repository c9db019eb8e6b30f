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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    use super::*;
    use crate::tests_support::block_on;

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(50);

    type Asked = Result<(StatusCode, Bytes), AskError>;

    /// Sends a request with this body to somebody who answers this and keeps the connection open. Returns what became
    /// of it, and what was sent.
    async fn asked(json: &'static str, answer: String, time: Duration) -> (Asked, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let listener = UnixListener::bind(&path).unwrap();
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let end = if json.is_empty() { "\r\n\r\n" } else { json };
            let mut sent = Vec::new();
            // One that is no longer waited for may have been given up before it was sent.
            while !sent.ends_with(end.as_bytes()) && stream.read_buf(&mut sent).await.unwrap() > 0 {}
            stream.write_all(answer.as_bytes()).await.unwrap();
            (String::from_utf8(sent).unwrap(), stream)
        });
        let asked = ask(&path, Method::POST, "/reload?all", json, time).await;
        let (sent, _stream) = answering.await.unwrap();
        (asked, sent)
    }

    #[test]
    fn a_request_has_a_body_or_none_and_gets_the_status_and_the_body_of_its_answer() {
        block_on(async {
            let body = "g".repeat(100_000);
            for json in ["", "{\"workers\":2}"] {
                let answer = format!("HTTP/1.1 202 Accepted\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let (asked, sent) = asked(json, answer, LONG).await;
                let (status, text) = asked.unwrap();
                assert!(status == StatusCode::ACCEPTED && text == body, "{status}, {} bytes", text.len());
                assert!(sent.starts_with("POST /reload?all HTTP/1.1\r\n") && sent.contains("host: foolsgold\r\n"));
                let is_announced = sent.contains(&format!("content-length: {}\r\n", json.len()));
                let is_json = sent.contains("content-type: application/json\r\n") && is_announced;
                assert_eq!(is_json, !json.is_empty(), "{sent}");
            }
        });
    }

    #[test]
    fn it_is_told_why_there_is_no_answer() {
        block_on(async {
            let late = asked("", String::new(), SHORT).await.0;
            assert!(matches!(late, Err(AskError::Late(time)) if time == SHORT), "{late:?}");
            let broken = asked("", "no HTTP\r\n\r\n".to_owned(), LONG).await.0;
            assert!(matches!(broken, Err(AskError::Broken(_))), "{broken:?}");
            let folder = tempfile::tempdir().unwrap();
            let nobody = ask(&folder.path().join("control"), Method::GET, "/", "", LONG).await;
            assert!(matches!(nobody, Err(AskError::Connect(_))), "{nobody:?}");
        });
    }
}
