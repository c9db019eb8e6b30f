//! A check of one whole response, from its first header field to its last byte: a load keeps only the beginning of a
//! long body.

use std::time::Duration;

use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ask::Ask;
use super::connection::headers;
use super::fault::Fault;
use super::form::Form;
use super::judge::judge_whole;

/// Sends a request on a connection of its own, and checks the whole response.
pub(crate) async fn check_whole(port: u16, ask: &Ask, timeout: Duration) -> Result<(), Fault> {
    tokio::time::timeout(timeout, exchange(port, ask)).await.unwrap_or(Err(Fault::Timeout))
}

async fn exchange(port: u16, ask: &Ask) -> Result<(), Fault> {
    let request = request(port, ask).map_err(|error| Fault::Write(error.to_string()))?;
    let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| Fault::of_connect(&error))?;
    let both = http1::Builder::new().title_case_headers(true).handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await;
    let (mut sender, connection) = both.map_err(|error| Fault::of_exchange(&error))?;
    // Its errors reach the request that waits for a response.
    drop(tokio::task::spawn_local(connection));
    let response = sender.send_request(request).await.map_err(|error| Fault::of_exchange(&error))?;
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| Fault::of_exchange(&error))?.to_bytes();
    judge_whole(ask, head.status.as_u16(), &head.headers, &body)
}

fn request(port: u16, ask: &Ask) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::new(Full::new(Bytes::from(ask.body.clone())));
    *request.method_mut() = Method::try_from(ask.method.as_str())?;
    *request.uri_mut() = Uri::try_from(&ask.path)?;
    *request.headers_mut() = headers(port, ask, false, Form::default())?;
    Ok(request)
}
