//! Sends one request on a connection of its own and reads the whole response, right or not, from which the caller
//! learns what is right.

use std::pin::pin;
use std::time::Duration;

use http::Response;
use hyper::body::Bytes;
use tokio::time::timeout;

use super::ask::Ask;
use super::connection::{Connection, Prepared};
use super::fault::Fault;
use super::form::Form;
use super::on_this_thread;

/// Fetches the response of the server on this port within `limit`. Calls the function in `slow` once if no response has
/// come after the time in it.
pub fn fetch(
    port: u16,
    ask: &Ask,
    limit: Duration,
    slow: (Duration, &mut dyn FnMut()),
) -> Result<Response<Bytes>, Fault> {
    let prepared = Prepared::of(port, ask, false, Form::default()).map_err(|error| Fault::Write(error.to_string()))?;
    let connection = Connection::new(port, false);
    let (after, tell) = slow;
    let exchange = async {
        let mut response = pin!(connection.whole(&prepared));
        if let Ok(response) = timeout(after.min(limit), &mut response).await {
            return response;
        }
        tell();
        timeout(limit.saturating_sub(after), response).await.unwrap_or(Err(Fault::Timeout))
    };
    on_this_thread(exchange).unwrap_or_else(|error| Err(Fault::Connect(error)))
}
