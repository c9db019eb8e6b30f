//! What a worker sends, whatever it is: an answer, or the end of its connection, and the same in pieces of any size.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use engine::{Body, Reply, Request};
use engine_ruby::fuzzing::read;
use http::Method;

/// What came of a request, in words that can be compared.
fn outcome(reply: Reply) -> String {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(reply).poll(&mut context) {
        Poll::Pending => "nothing yet".to_owned(),
        Poll::Ready(answer) => match answer.result {
            Err(fault) => format!("{fault:?}"),
            Ok(response) => {
                let body = match response.body {
                    Body::Full(bytes) => format!("{bytes:?}"),
                    other => format!("{other:?}"),
                };
                format!("{} {:?} {body}", response.head.status, response.head.headers)
            }
        },
    }
}

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let run = |piece| {
        let requests = (0..3).map(|_| Request::sample(Method::GET, "/")).collect();
        let (replies, understood) = read(requests, bytes, piece).expect("sockets");
        (replies.into_iter().map(outcome).collect::<Vec<_>>(), understood)
    };
    assert_eq!(run(usize::MAX), run(7));
}
