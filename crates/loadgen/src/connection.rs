//! A connection to a server, with one exchange at a time. Never repeats a request that the server may have seen. Bytes
//! that are no part of the response to a request are a wrong answer.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::Instant;

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, Version};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ask::{Ask, BodyRule, Workload};
use super::counted::Counted;
use super::fault::Fault;
use super::form::Form;
use super::judge::{BEGINNING_BYTES, judge_parts, judge_whole, shown};
use super::size::Size;

/// Bytes at the beginning of a long body that are kept for rules that search it.
pub const SEARCHED_BYTES: usize = 4 << 20;
/// Longest body of a response that is kept whole.
const WHOLE_BYTES: usize = 64 << 20;

/// A request with everything that is the same each time it is sent.
pub(crate) struct Prepared {
    pub ask: Ask,
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    body: Bytes,
    /// Bytes of the response body that are needed to judge it.
    keep_bytes: usize,
}

/// A connection, opened when it is needed.
pub(crate) struct Connection {
    port: u16,
    keep: bool,
    opened: Option<Opened>,
    body: Vec<u8>,
}

/// A connection that was opened.
pub(crate) struct Opened {
    /// Sends requests on it, one at a time.
    pub sender: SendRequest<Full<Bytes>>,
    /// Time in nanoseconds of the first write on it after this was set to 0.
    pub written: Rc<Cell<u64>>,
    /// What had come on it and belonged to no response; set when it ends. Empty if the server only closed it.
    rest: Rc<OnceCell<Bytes>>,
    /// Number of bytes that came on it.
    read: Rc<Cell<u64>>,
    /// The same before the present response.
    read_before: u64,
}

/// A response that arrived, right or not.
pub(crate) struct Arrived {
    /// Time when it was complete.
    pub at: Instant,
    /// Its size, or the fault in it.
    pub verdict: Result<Size, Fault>,
}

impl Prepared {
    /// All requests of a workload, and the cumulative sums of their weights.
    pub fn all(port: u16, workload: &Workload, keep: bool, form: Form) -> Result<(Vec<Prepared>, Vec<f64>), String> {
        if let Some(complaint) = workload.complaint() {
            return Err(complaint);
        }
        let mut sum = 0.0;
        let mut sums = Vec::new();
        let mut all = Vec::new();
        for ask in &workload.asks {
            sum += ask.weight;
            sums.push(sum);
            let prepared = Prepared::of(port, ask, keep, form);
            all.push(prepared.map_err(|error| format!("{}: {error}", ask.in_words()))?);
        }
        Ok((all, sums))
    }

    /// One request of a workload.
    pub fn of(port: u16, ask: &Ask, keep: bool, form: Form) -> Result<Prepared, http::Error> {
        let headers = headers(port, ask, keep, form)?;
        let keep_bytes = match &ask.expect.body {
            BodyRule::Any | BodyRule::Length(_) => BEGINNING_BYTES,
            BodyRule::Exactly(right) => right.len().max(BEGINNING_BYTES),
            BodyRule::Contains(_) | BodyRule::Matches(_) => SEARCHED_BYTES,
        };
        let method = Method::try_from(ask.method.as_str())?;
        let uri = Uri::try_from(&ask.path)?;
        let body = Bytes::from(ask.body.clone());
        Ok(Prepared { ask: ask.clone(), method, uri, version: form.version(), headers, body, keep_bytes })
    }

    /// The request, to be sent once.
    pub fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// Header fields of a request: those of its form, and its own, which may repeat a name. Its own replace those of the
/// same name.
fn headers(port: u16, ask: &Ask, keep: bool, form: Form) -> Result<HeaderMap, http::Error> {
    let mut headers = form.fields(HeaderValue::try_from(format!("127.0.0.1:{port}"))?, keep);
    let mut asked = HeaderMap::new();
    for (name, value) in &ask.headers {
        asked.append(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    headers.extend(asked);
    // With these methods the length is sent even if it is 0 (RFC 9110, section 8.6): some servers require it.
    if !ask.body.is_empty() || ["POST", "PUT", "PATCH"].contains(&ask.method.as_str()) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
    }
    Ok(headers)
}

impl Connection {
    /// An unopened connection. With `keep` it is reused as long as the server keeps it open.
    pub fn new(port: u16, keep: bool) -> Connection {
        Connection { port, keep, opened: None, body: Vec::new() }
    }

    /// Sends a request and reads its response.
    pub async fn call(&mut self, prepared: &Prepared) -> Result<Arrived, Fault> {
        let mut request = prepared.request();
        if let Some(mut opened) = self.opened.take() {
            if opened.sender.ready().await.is_ok() {
                match opened.sender.try_send_request(request).await {
                    Ok(response) => return self.read(opened, response, prepared).await,
                    // The server ended the idle connection without seeing the request, so it may be repeated, as any
                    // client with kept connections does.
                    Err(mut error) => match error.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(Fault::of_exchange(error.error())),
                    },
                }
            }
            opened.check_rest(&prepared.ask)?;
        }
        let (opened, response) = self.call_anew(request).await?;
        self.read(opened, response, prepared).await
    }

    /// Sends a request on a new connection, and checks the whole response, from its first header field to its last
    /// byte.
    pub async fn check_whole(&self, prepared: &Prepared) -> Result<(), Fault> {
        let whole = self.whole(prepared).await?;
        judge_whole(&prepared.ask, whole.status().as_u16(), whole.headers(), whole.body())
    }

    /// Sends a request on a new connection, and reads the whole response, right or not.
    pub async fn whole(&self, prepared: &Prepared) -> Result<Response<Bytes>, Fault> {
        let (opened, response) = self.call_anew(prepared.request()).await?;
        let (head, body) = response.into_parts();
        let read = Limited::new(body, WHOLE_BYTES).collect().await;
        let body = read.map_err(|error| match error.downcast_ref::<hyper::Error>() {
            Some(error) => Fault::of_exchange(error),
            None => Fault::Wrong(format!("{}: a body of more than {WHOLE_BYTES} bytes", prepared.ask.in_words())),
        })?;
        opened.check_rest(&prepared.ask)?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }

    /// Whether the connection is open for another request.
    pub fn is_open(&self) -> bool {
        self.opened.as_ref().is_some_and(|opened| !opened.sender.is_closed())
    }

    /// Closes the connection, since late data may arrive on it.
    pub fn hang_up(&mut self) {
        self.opened = None;
    }

    /// Sends a request on a new connection.
    async fn call_anew(&self, request: Request<Full<Bytes>>) -> Result<(Opened, Response<Incoming>), Fault> {
        let mut opened = Opened::connect(self.port).await?;
        let response = opened.sender.send_request(request).await.map_err(|error| Fault::of_exchange(&error))?;
        Ok((opened, response))
    }

    async fn read(
        &mut self,
        mut opened: Opened,
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
        let size = Size { whole: opened.read.get() - opened.read_before, body: length };
        // What came together with the response has ended the connection by now.
        let right = opened.check_rest(&prepared.ask);
        let verdict = right.and_then(|()| judge_parts(&prepared.ask, status, length, &self.body)).map(|()| size);
        opened.read_before = opened.read.get();
        if self.keep && opened.rest.get().is_none() {
            self.opened = Some(opened);
        }
        Ok(Arrived { at, verdict })
    }
}

impl Opened {
    /// Opens a connection to this port.
    pub async fn connect(port: u16) -> Result<Opened, Fault> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| Fault::of_connect(&error))?;
        stream.set_nodelay(true).map_err(|error| Fault::of_connect(&error))?;
        let (read, written) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let counted = TokioIo::new(Counted::new(stream, Rc::clone(&read), Rc::clone(&written)));
        let both = http1::Builder::new().title_case_headers(true).handshake(counted).await;
        let (sender, mut connection) = both.map_err(|error| Fault::of_exchange(&error))?;
        let rest = Rc::new(OnceCell::new());
        let left = Rc::clone(&rest);
        drop(tokio::task::spawn_local(async move {
            // Its errors reach the request that waits for a response. If none waits, hyper gives the same error for
            // bytes that came unasked as for others, but it leaves them in its buffer.
            let _ = (&mut connection).await;
            let _ = left.set(connection.into_parts().read_buf);
        }));
        Ok(Opened { sender, written, rest, read, read_before: 0 })
    }

    /// An error if the server has sent bytes that belong to no response. `ask` is the request before or after them.
    pub fn check_rest(&self, ask: &Ask) -> Result<(), Fault> {
        let Some(rest) = self.rest.get().filter(|rest| !rest.is_empty()) else { return Ok(()) };
        let (asked, count, text) = (ask.in_words(), rest.len(), shown(rest));
        Err(Fault::Wrong(format!("{asked}: after an answer came {count} or more bytes that nobody asked for: {text}")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::super::on_this_thread;
    use super::*;

    /// What two requests on a kept connection get, with a pause between them, from a server that answers the first
    /// request on a connection, a little later sends something more, and closes the connection.
    fn asked_twice(answer: &str, more: &str) -> [Result<Size, Fault>; 2] {
        let (answer, more) = (answer.to_owned(), more.to_owned());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let mut stream = stream.unwrap();
                let count = stream.read(&mut [0; 1024]).unwrap_or(0);
                assert!(count > 0, "there is a request");
                let _ = stream.write_all(answer.as_bytes());
                thread::park_timeout(Duration::from_millis(50));
                let _ = stream.write_all(more.as_bytes());
            }
        });
        let prepared = Prepared::of(port, &Ask::get("/page"), true, Form::default()).unwrap();
        let mut connection = Connection::new(port, true);
        let ask = async {
            let first = connection.call(&prepared).await.and_then(|arrived| arrived.verdict);
            tokio::time::sleep(Duration::from_millis(400)).await;
            [first, connection.call(&prepared).await.and_then(|arrived| arrived.verdict)]
        };
        on_this_thread(ask).unwrap()
    }

    #[test]
    fn an_idle_connection_that_is_closed_is_no_fault_and_bytes_that_nobody_asked_for_are_a_wrong_answer() {
        let right = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let size = Size { whole: right.len() as u64, body: 5 };
        let unasked = |seen: &Result<Size, Fault>| {
            let text = "GET /page: after an answer came";
            matches!(seen, Err(Fault::Wrong(why)) if why.starts_with(text) && why.contains("that nobody asked for: \""))
        };
        assert_eq!(asked_twice(right, ""), [Ok(size), Ok(size)]);
        // A second answer, and no answer at all, as long as the connection is idle.
        for more in [right, "garbage"] {
            let [first, second] = asked_twice(right, more);
            assert!(first == Ok(size) && unasked(&second), "{more}: {first:?} {second:?}");
        }
        // Together with the answer, which is not kept for the next request, whether the server closes it or not.
        let twice = right.repeat(2);
        let closed = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello, world";
        let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhello";
        for answer in [twice.as_str(), closed, empty] {
            let [first, second] = asked_twice(answer, "");
            assert!(unasked(&first) && unasked(&second), "{answer}: {first:?} {second:?}");
        }
    }

    /// The head of a request, as it is sent.
    fn head(form: Form, keep: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        });
        let prepared = Prepared::of(port, &Ask::get("/page?a=1"), keep, form).unwrap();
        let mut connection = Connection::new(port, keep);
        assert!(on_this_thread(connection.call(&prepared)).unwrap().is_ok());
        server.join().unwrap().replace(&format!(":{port}"), ":80")
    }

    #[test]
    fn a_head_is_that_of_the_tool() {
        let host = "Host: 127.0.0.1:80\r\n";
        assert_eq!(head(Form::Wrk, true), format!("GET /page?a=1 HTTP/1.1\r\n{host}\r\n"));
        let ab = "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n";
        assert_eq!(head(Form::Ab, false), format!("GET /page?a=1 HTTP/1.0\r\n{host}{ab}\r\n"));
        let siege = head(Form::Siege, false);
        let begin = format!("GET /page?a=1 HTTP/1.1\r\n{host}Accept: */*\r\nAccept-Encoding: identity\r\nUser-Agent: ");
        assert!(siege.starts_with(&begin) && siege.ends_with("\r\nConnection: close\r\n\r\n"), "{siege}");
    }

    #[test]
    fn a_header_is_sent_as_often_as_it_is_asked_for() {
        let asked = [("cookie", "a=1"), ("host", "localhost"), ("Cookie", "b=2")];
        let asked = asked.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let ask = Ask { headers: asked, body: b"body".to_vec(), ..Ask::get("/") };
        let of = |keep: bool, name: &str| -> Vec<String> {
            let all = headers(80, &ask, keep, Form::default()).unwrap();
            all.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(of(true, "cookie"), ["a=1", "b=2"]);
        assert_eq!(of(true, "host"), ["localhost"]);
        assert_eq!(of(true, "content-length"), ["4"]);
        assert!(of(true, "connection").is_empty() && of(false, "connection") == ["close"]);
    }
}
