//! Sends one request on a connection of its own and reads the whole response. Used to learn and check answers, not for
//! load.

use std::time::Duration;

use http::HeaderName;
use http::header::{CONTENT_TYPE, LOCATION};
use loadgen::{Ask, Fault};

use super::answer::Answer;
use super::request::DuelRequest;

/// `Host` of every request, whatever the port: pages that contain their own address stay the same.
const HOST: &str = "localhost";

/// Reason why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// Message with the request in it.
    pub words: String,
    /// Whether the time limit passed without an answer.
    pub is_late: bool,
}

/// Fetches the answer of the server on this port of 127.0.0.1, within `limit`.
pub fn fetch(port: u16, asked: &DuelRequest, limit: Duration) -> Result<Answer, Unanswered> {
    fetch_with_notice(port, asked, limit, (limit, &mut || {}))
}

/// Fetches an answer and calls the function in `slow` once if none has come after that time.
pub fn fetch_with_notice(
    port: u16,
    asked: &DuelRequest,
    limit: Duration,
    slow: (Duration, &mut dyn FnMut()),
) -> Result<Answer, Unanswered> {
    let response = loadgen::fetch(port, &sent(asked), limit, slow).map_err(|fault| {
        let is_late = fault == Fault::Timeout;
        let (asked, seconds) = (asked.in_words(), limit.as_secs_f64());
        let late = || format!("{asked}: no answer within {seconds} s");
        Unanswered { words: if is_late { late() } else { fault.in_words_with(&asked) }, is_late }
    })?;
    let field = |name: HeaderName| {
        let value = response.headers().get(name);
        value.map_or_else(String::new, |value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (content_type, location) = (field(CONTENT_TYPE), field(LOCATION));
    Ok(Answer { status: response.status().as_u16(), content_type, location, body: response.into_body().into() })
}

/// The request as it is sent, here and by a load, with a rule that accepts any answer.
pub fn sent(asked: &DuelRequest) -> Ask {
    let host = ("host".to_owned(), HOST.to_owned());
    Ask {
        method: asked.method.clone(),
        headers: asked.headers.iter().cloned().chain([host]).collect(),
        body: asked.body.clone(),
        weight: asked.weight,
        ..Ask::get(&asked.path)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Serves this answer once, and then `last`, if it is not empty, again and again until the client closes the
    /// connection; the thread returns the request.
    fn serve(answer: &'static str, last: &'static [u8]) -> (u16, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            while !last.is_empty() && stream.write_all(last).is_ok() {}
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        });
        (port, served)
    }

    #[test]
    fn answers_of_all_kinds_are_read() {
        let rows = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\ncontent-type: text/x\r\n\r\none", "text/x", "", "one"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a\r\ntwo\r\n1\r\n!\r\n0\r\n\r\n", "", "", "two!"),
            ("HTTP/1.0 200 OK\r\n\r\nthe rest", "", "", "the rest"),
            ("HTTP/1.1 200 OK\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "", "/x", ""),
            ("HTTP/1.1 103 Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none", "", "", "one"),
        ];
        for (text, content_type, location, body) in rows {
            let (port, served) = serve(text, b"");
            let answer = fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap();
            let (content_type, location) = (content_type.to_owned(), location.to_owned());
            assert_eq!(answer, Answer { status: 200, content_type, location, body: body.into() }, "{text}");
            assert!(served.join().unwrap().starts_with("GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"));
        }
        let (port, served) = serve("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", b"");
        assert_eq!(fetch(port, &DuelRequest::new("HEAD", "/a"), LIMIT).unwrap().body, b"");
        served.join().unwrap();
    }

    #[test]
    fn bodies_and_headers_are_sent() {
        let (port, served) = serve("HTTP/1.1 201 OK\r\ncontent-length: 0\r\n\r\n", b"");
        let headers = vec![("content-type".to_owned(), "a/b".to_owned())];
        let asked = DuelRequest { headers, body: b"{}".to_vec(), ..DuelRequest::new("POST", "/a") };
        fetch(port, &asked, LIMIT).unwrap();
        let request = served.join().unwrap();
        assert!(request.contains("Content-Type: a/b\r\nContent-Length: 2\r\n"), "{request}");
        let (port, served) = serve("HTTP/1.1 201 OK\r\ncontent-length: 0\r\n\r\n", b"");
        fetch(port, &DuelRequest::new("POST", "/a"), LIMIT).unwrap();
        assert!(served.join().unwrap().contains("\r\nContent-Length: 0\r\n"));
    }

    #[test]
    fn what_is_no_answer_says_so() {
        let rows: [(&str, &[u8], &str); 5] = [
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", b"", "closed the connection before the answer"),
            ("SSH-2.0\r\n\r\n", b"", "this is not HTTP"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"", "this is not HTTP"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none more", b"", "bytes that nobody asked for"),
            ("HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 1 << 13], "a body of more than"),
        ];
        for (text, last, part) in rows {
            let (port, served) = serve(text, last);
            let error = fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap_err();
            assert!(error.words.starts_with("GET /a: ") && error.words.contains(part), "{error:?}");
            assert!(!error.is_late);
            served.join().unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = fetch(port, &DuelRequest::new("GET", "/a"), Duration::from_millis(50)).unwrap_err();
        assert!(error.is_late && error.words.contains("no answer within"), "{error:?}");
        drop(listener);
        assert!(fetch(port, &DuelRequest::new("GET", "/a"), LIMIT).unwrap_err().words.contains("no connection"));
    }
}
