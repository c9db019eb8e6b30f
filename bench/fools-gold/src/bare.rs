//! The yardstick: hyper alone, which answers every request with the same bytes. It shows what this machine, this kernel
//! and this load generator allow before any application server does its work. Usage: `bare-hyper ADDRESS FILE`, the
//! address to listen on and the body.

use std::convert::Infallible;
use std::env;
use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bare-hyper ADDRESS FILE".into());
    };
    let body = Bytes::from(std::fs::read(file)?);
    let listener = TcpListener::bind(address.parse::<SocketAddr>()?).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        // As foolsgold does: without it the kernel may delay the end of a response.
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |_: Request<Incoming>| {
                let body = body.clone();
                async move { Ok::<_, Infallible>(page(body)) }
            });
            // A client that leaves ends its connection; that is no error.
            let _ = http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

fn page(body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
