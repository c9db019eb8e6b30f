//! `front::serve` over an engine that returns a fixed answer at once; compare with `bare.rs`. Options: --port,
//! --body-bytes and --log 1 (an access log that is discarded).

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Body, Engine, Reply, Request, Response, ResponseHead, Status};
use front::{AccessLog, Bind, Limits, LogFormat, QueryLog, Settings, Stop};
use http::{HeaderValue, header};

struct Fixed(Bytes);

impl Engine for Fixed {
    fn call(&self, _: Request) -> Reply {
        let mut head = ResponseHead::default();
        head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        Reply::ready(Ok(Response { head, body: Body::Full(self.0.clone()) }))
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn close(&self) {}
}

fn limits() -> Limits {
    let long = Duration::from_secs(30);
    Limits {
        header_bytes: 112 << 10,
        header_count: 100,
        header_time: long,
        body_bytes: 1 << 30,
        body_memory_bytes: 112 << 10,
        body_time: long,
        keep_alive: long,
        connections: 16_384,
        connections_per_client: None,
        spare_files: 0,
        write_time: long,
        spool_bytes: 1 << 30,
        queue_wait: long,
        request_time: long,
        drain_time: long,
        websocket_drain: Duration::ZERO,
    }
}

fn number(name: &str, default: usize) -> usize {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name);
    at.and_then(|at| arguments.get(at + 1)).and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Arc::new(Fixed(Bytes::from(vec![b'x'; number("--body-bytes", 12)])));
    let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(number("--port", 9301))?));
    let listeners = front::listen(&[Bind::Tcp(address)])?;
    let access_log = (number("--log", 0) == 1)
        .then(|| AccessLog::new(LogFormat::Text, QueryLog::default(), std::io::sink(), Arc::default()));
    let settings = Settings {
        limits: limits(),
        trusted: Vec::new(),
        access_log,
        passes_underscores: false,
        remote_address: front::RemoteAddress::Socket,
        scheme: None,
        more_connections: "",
        json_errors: false,
        counts: Default::default(),
    };
    let io_threads = front::IoThreads::start(2)?;
    front::serve(listeners, &io_threads, engine, Arc::new(settings), Stop::new())?.await;
    Ok(())
}
