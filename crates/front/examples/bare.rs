//! The baseline for the front's cost: hyper alone, with a fixed answer; compare with `fixed.rs`. Options: --port,
//! --body-bytes.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

fn number(name: &str, default: usize) -> usize {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name);
    at.and_then(|at| arguments.get(at + 1)).and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let body = Bytes::from(vec![b'x'; number("--body-bytes", 12)]);
    let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(number("--port", 9300))?));
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |_| {
                let mut response = http::Response::new(Full::new(body.clone()));
                let plain = http::HeaderValue::from_static("text/plain");
                response.headers_mut().insert(http::header::CONTENT_TYPE, plain);
                std::future::ready(Ok::<_, Infallible>(response))
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
