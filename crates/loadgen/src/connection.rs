//! A connection to a server, with one exchange at a time. Never repeats a request that the server may have seen.

use std::time::Instant;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ask::{Ask, BodyRule, Workload};
use super::fault::Fault;
use super::judge::judge_parts;

/// Bytes at the beginning of a long body that are kept for rules that search it.
pub const SEARCHED_BYTES: usize = 4 << 20;

/// A request with everything that is the same each time it is sent.
pub(crate) struct Prepared {
    ask: Ask,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    /// Bytes of the response body that are needed to judge it.
    keep_bytes: usize,
}

/// A connection, opened when it is needed.
pub(crate) struct Connection {
    port: u16,
    keep: bool,
    sender: Option<SendRequest<Full<Bytes>>>,
    body: Vec<u8>,
}

/// A response that arrived, right or not.
pub(crate) struct Arrived {
    /// Time when it was complete.
    pub at: Instant,
    /// Length of its body in bytes, or the fault in it.
    pub verdict: Result<u64, Fault>,
}

impl Prepared {
    /// All requests of a workload, and the cumulative sums of their weights.
    pub fn all(port: u16, workload: &Workload, keep: bool) -> Result<(Vec<Prepared>, Vec<f64>), String> {
        if let Some(complaint) = workload.complaint() {
            return Err(complaint);
        }
        let mut sum = 0.0;
        let mut sums = Vec::new();
        let mut all = Vec::new();
        for ask in &workload.asks {
            sum += ask.weight;
            sums.push(sum);
            all.push(Prepared::of(port, ask, keep).map_err(|error| format!("{}: {error}", ask.in_words()))?);
        }
        Ok((all, sums))
    }

    fn of(port: u16, ask: &Ask, keep: bool) -> Result<Prepared, http::Error> {
        let headers = headers(port, ask, keep)?;
        let keep_bytes = match &ask.expect.body {
            BodyRule::Any | BodyRule::Length(_) => 1_024,
            BodyRule::Exactly(right) => right.len().max(1_024),
            BodyRule::Contains(_) | BodyRule::Matches(_) => SEARCHED_BYTES,
        };
        let method = Method::try_from(ask.method.as_str())?;
        let uri = Uri::try_from(&ask.path)?;
        let body = Bytes::from(ask.body.clone());
        Ok(Prepared { ask: ask.clone(), method, uri, headers, body, keep_bytes })
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// Header fields of a request: ours, and its own, which may repeat a name. Its own replace ours of the same name.
pub(crate) fn headers(port: u16, ask: &Ask, keep: bool) -> Result<HeaderMap, http::Error> {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::try_from(format!("127.0.0.1:{port}"))?);
    if !keep {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut asked = HeaderMap::new();
    for (name, value) in &ask.headers {
        asked.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    headers.extend(asked);
    if !ask.body.is_empty() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
    }
    Ok(headers)
}

impl Connection {
    /// An unopened connection. With `keep` it is reused as long as the server keeps it open.
    pub fn new(port: u16, keep: bool) -> Connection {
        Connection { port, keep, sender: None, body: Vec::new() }
    }

    /// Sends a request and reads its response.
    pub async fn call(&mut self, prepared: &Prepared) -> Result<Arrived, Fault> {
        let mut request = prepared.request();
        if let Some(mut sender) = self.sender.take()
            && sender.ready().await.is_ok()
        {
            match sender.try_send_request(request).await {
                Ok(response) => return self.read(sender, response, prepared).await,
                // The server closed the idle connection without seeing the request, so it may be repeated, as any
                // client with kept connections does.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Fault::of_exchange(error.error())),
                },
            }
        }
        let mut sender = self.connect().await?;
        let response = sender.send_request(request).await.map_err(|error| Fault::of_exchange(&error))?;
        self.read(sender, response, prepared).await
    }

    /// Whether the connection is open for another request.
    pub fn is_open(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Closes the connection, since late data may arrive on it.
    pub fn hang_up(&mut self) {
        self.sender = None;
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Fault> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await;
        let stream = stream.map_err(|error| Fault::of_connect(&error))?;
        stream.set_nodelay(true).map_err(|error| Fault::of_connect(&error))?;
        let both = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = both.map_err(|error| Fault::of_exchange(&error))?;
        // Its errors reach the request that waits for a response.
        drop(tokio::task::spawn_local(connection));
        Ok(sender)
    }

    async fn read(
        &mut self,
        sender: SendRequest<Full<Bytes>>,
        response: Response<Incoming>,
        prepared: &Prepared,
    ) -> Result<Arrived, Fault> {
        let status = response.status().as_u16();
        let mut incoming = response.into_body();
        let mut length = 0;
        self.body.clear();
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| Fault::of_exchange(&error))?;
            if let Some(data) = frame.data_ref() {
                length += data.len() as u64;
                let room = prepared.keep_bytes.saturating_sub(self.body.len());
                self.body.extend_from_slice(&data[..data.len().min(room)]);
            }
        }
        let at = Instant::now();
        if self.keep {
            self.sender = Some(sender);
        }
        let verdict = judge_parts(&prepared.ask, status, length, &self.body).map(|()| length);
        Ok(Arrived { at, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_sent_as_often_as_it_is_asked_for() {
        let asked = [("cookie", "a=1"), ("host", "localhost"), ("Cookie", "b=2")];
        let asked = asked.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let ask = Ask { headers: asked, body: b"body".to_vec(), ..Ask::get("/") };
        let of = |keep: bool, name: &str| -> Vec<String> {
            let all = headers(80, &ask, keep).unwrap();
            all.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(of(true, "cookie"), ["a=1", "b=2"]);
        assert_eq!(of(true, "host"), ["localhost"]);
        assert_eq!(of(true, "content-length"), ["4"]);
        assert!(of(true, "connection").is_empty() && of(false, "connection") == ["close"]);
    }
}
