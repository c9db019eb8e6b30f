//! The protocol on recorded bytes (wire/*.hex), which the Ruby side is tested on too, and on invalid bytes.

use std::time::Duration;

use engine::{Body, Fault, Input, Request};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::*;
use crate::wire::answer;
use crate::wire::shapes::Shapes;

fn recorded(text: &str) -> BytesMut {
    let digits = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::chars);
    let digits: Vec<u8> = digits.filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>().as_slice().into()
}

fn frames(mut bytes: BytesMut) -> Vec<Frame> {
    std::iter::from_fn(|| take(&mut bytes).expect("valid frames")).collect()
}

/// The frames of a request that is the first on its connection.
fn written(request: &Request) -> Vec<Frame> {
    let mut out = BytesMut::new();
    Shapes::default().put(&mut out, 1, request, false);
    frames(out)
}

fn request() -> Request {
    let headers = [
        (header::HOST, "example.org"),
        (header::ACCEPT, "*/*"),
        (HeaderName::from_static("x-request-start"), "t=1"),
        (HeaderName::from_static("x-request-id"), "a-b"),
    ];
    Request {
        id: "a-b".to_owned(),
        headers: headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect(),
        input: Input::Memory("body".into()),
        ..Request::sample(Method::POST, "/a?b")
    }
}

#[test]
fn a_request_is_written_as_it_is_recorded() {
    let mut shapes = Shapes::default();
    let mut out = BytesMut::new();
    shapes.put(&mut out, 1, &request(), false);
    shapes.put(&mut out, 2, &request(), false);
    assert_eq!(frames(out), frames(recorded(include_str!("../../wire/requests.hex"))));
}

#[test]
fn recorded_answers_are_read() {
    let mut found = Vec::new();
    for frame in frames(recorded(include_str!("../../wire/answers.hex"))) {
        let answer = answer::read(frame.payload).unwrap();
        let (seq, is_open) = (answer.seq, answer.is_open());
        let made = answer.response(true).unwrap();
        let cookies: Vec<_> =
            made.head.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap().to_owned()).collect();
        let body = made.first.map_or_else(|| format!("{:?}", made.body), |first| format!("{first:?}"));
        found.push((seq, made.head.status.as_u16(), cookies.join(";"), body, is_open));
    }
    let expected = [
        (1, 200, "a=1;b=2", "Full(2 bytes)", false),
        (2, 204, "", "Empty", false),
        (3, 200, "", "b\"first\"", true),
        (4, 101, "", "Upgrade", false),
        (5, 200, "", "Taken", false),
    ];
    let expected =
        expected.map(|(seq, status, cookies, body, open)| (seq, status, cookies.to_owned(), body.to_owned(), open));
    assert_eq!(found, expected);
}

/// rack-timeout reads it with the pattern `^(?:t=)?(\d+)\.(\d{3})$`, and ignores all other numbers of decimals.
#[test]
fn the_start_of_a_request_has_the_form_of_nginx() {
    let frames = written(&Request::sample(Method::GET, "/"));
    let values = String::from_utf8_lossy(&frames[frames.len() - 1].payload).into_owned();
    let start = values.rsplit('\0').next().and_then(|last| last.strip_prefix("t=")).expect("it is the last value");
    let (seconds, millis) = start.split_once('.').expect("it has decimals");
    assert!(seconds.parse::<u64>().is_ok() && millis.parse::<u16>().is_ok(), "{start}");
    assert_eq!(millis.len(), 3, "{start}");
}

/// Monitoring tools read X-Queue-Start where there is no X-Request-Start.
#[test]
fn the_start_of_a_request_that_a_proxy_has_given_is_the_only_one() {
    for name in ["x-request-start", "x-queue-start"] {
        let mut request = Request::sample(Method::GET, "/");
        request.headers.insert(HeaderName::from_static(name), HeaderValue::from_static("t=1"));
        let shape = String::from_utf8_lossy(&written(&request)[0].payload).into_owned();
        assert_eq!(shape.matches("_START").count(), 1, "{shape}");
    }
}

/// Monitoring tools subtract it from the time in the queue. A start that the server sets is after the body has arrived.
#[test]
fn the_time_of_a_body_is_told_where_a_proxy_has_given_the_start() {
    for (has_start, body, is_told) in [(true, "body", true), (true, "", false), (false, "body", false)] {
        let mut request = Request { input: Input::Memory(body.into()), ..request() };
        request.complete = request.head_complete + Duration::from_micros(1500);
        if !has_start {
            request.headers.remove("x-request-start");
        }
        let frames = written(&request);
        let [shape, values] = [0, 1].map(|at| String::from_utf8_lossy(&frames[at].payload).into_owned());
        let found = (shape.contains("puma.request_body_wait\0v\0"), values.ends_with("\x001.500body"));
        assert_eq!(found, (is_told, is_told), "{shape:?} {values:?}");
    }
}

#[test]
fn more_shapes_than_a_worker_may_be_told_are_spelled_out() {
    let mut shapes = Shapes::default();
    let mut defined = 0;
    for number in 0..1000 {
        let mut out = BytesMut::new();
        let mut request = request();
        let name = HeaderName::from_bytes(format!("x-{number}").as_bytes()).unwrap();
        request.headers = HeaderMap::from_iter([(name, HeaderValue::from_static("v"))]);
        shapes.put(&mut out, number, &request, false);
        let frames = frames(out);
        defined += frames.len() - 1;
        let payload = &frames[frames.len() - 1].payload;
        let is_spelled_out = payload[4..6] == [0, 0];
        assert_eq!(is_spelled_out, frames.len() == 1, "request {number}");
        let text = String::from_utf8_lossy(payload);
        assert_eq!(text.contains(&format!("HTTP_X_{number}\0v")), is_spelled_out);
    }
    assert_eq!(defined, 200);
}

#[test]
fn names_that_could_mean_something_in_ruby_are_spelled_out() {
    for name in ["x-#{1}", "x-$a", "x-'", "x-`a`", "x-!", "x-~"] {
        let mut request = request();
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
        request.headers.insert(name, HeaderValue::from_static("v"));
        assert_eq!(written(&request).iter().map(|frame| frame.kind).collect::<Vec<_>>(), [kind::REQUEST]);
    }
}

/// A native worker takes no name of more than 1024 bytes in a shape, and ended.
#[test]
fn names_that_are_long_alone_or_together_are_spelled_out() {
    let cases = [(1, 512, true), (1, 513, false), (1, 65_000, false), (50, 23, true), (50, 103, false)];
    for (count, bytes, is_kept) in cases {
        let mut request = request();
        for number in 0..count {
            let name = HeaderName::from_bytes(format!("{number:x>bytes$}").as_bytes()).unwrap();
            request.headers.insert(name, HeaderValue::from_static("v"));
        }
        let has_shape = written(&request).iter().any(|frame| frame.kind == kind::SHAPE);
        assert_eq!(has_shape, is_kept, "{count} names of {bytes} bytes");
    }
}

#[test]
fn frames_that_are_cut_off_are_errors_and_nothing_else() {
    let whole = recorded(include_str!("../../wire/answers.hex"));
    for end in 0..whole.len().min(60) {
        // A truncated frame counts as incomplete; a truncated payload is an error or a shorter one.
        let mut cut = BytesMut::from(&whole[..end]);
        let _ = take(&mut cut);
        let _ = answer::read(Bytes::copy_from_slice(&whole[..end])).map(|answer| answer.response(true));
    }
}

#[test]
fn a_nul_in_a_header_is_found_by_the_count() {
    let mut payload = BytesMut::new();
    payload.put_slice(&[0, 0, 0, 1, 0, 200, 0, 0, 1, 0, 0, 0, 23]);
    payload.put_slice(b"x\0a\0set-cookie\0stolen\0\0\0");
    let answer = answer::read(payload.freeze()).unwrap();
    let Err(Fault::BadAnswer(why)) = answer.response(true).map(|made| matches!(made.body, Body::Empty)) else {
        panic!("taken");
    };
    assert!(why.contains("NUL"), "{why}");
}

#[test]
fn the_longest_frame_is_taken_and_a_longer_or_an_empty_one_is_not() {
    let begun = |length: usize| {
        let mut begun = BytesMut::new();
        begun.put_u32(u32::try_from(length).unwrap());
        begun.put_u8(kind::CHUNK);
        begun
    };
    assert_eq!(take(&mut begun(LENGTH_MAX)), Ok(None), "the rest has not come");
    assert!([0, LENGTH_MAX + 1, u32::MAX as usize].into_iter().all(|length| take(&mut begun(length)).is_err()));
    assert_eq!(take(&mut begun(1)), Ok(Some(Frame { kind: kind::CHUNK, payload: Bytes::new() })));
}

#[test]
fn small_chunks_that_came_together_are_joined_as_far_as_they_are_whole() {
    let mut buffer = BytesMut::new();
    let large = vec![b'l'; JOINED_BYTES - 2];
    for part in [&b"a"[..], b"", b"bc", &large[..], b"d", b"ef"] {
        put(&mut buffer, kind::CHUNK, |out| out.put_slice(part));
    }
    put(&mut buffer, kind::END, |_| ());
    put(&mut buffer, kind::CHUNK, |out| out.put_slice(b"of the next answer"));
    buffer.truncate(buffer.len() - 1);
    let mut found = Vec::new();
    while let Some(frame) = take(&mut buffer).unwrap() {
        let joined = join_chunks(frame, &mut buffer);
        found.push((joined.kind, joined.payload));
    }
    let joined = |parts: &[&[u8]]| (kind::CHUNK, Bytes::from(parts.concat()));
    let expected = [joined(&[b"abc"]), joined(&[&large, b"d"]), joined(&[b"ef"]), (kind::END, Bytes::new())];
    assert!(found == expected, "{:?}", found.iter().map(|(kind, bytes)| (*kind, bytes.len())).collect::<Vec<_>>());
    assert_eq!(buffer.len(), HEAD_BYTES + "of the next answer".len() - 1, "it is not whole");
}

#[test]
fn a_hello_of_another_kind_version_or_role_is_refused() {
    let hello = |number: u8, version: u8, role: u8| {
        let mut out = BytesMut::new();
        out.put_slice(&[version, role]);
        (1..=4).for_each(|field| out.put_u32(field));
        out.put_slice(b"token");
        Hello::read(Frame { kind: number, payload: out.freeze() })
    };
    let token = "token".to_owned();
    let read = Hello { role: Role::Slot, worker: 1, slot: 2, seq: 3, pid: 4, token };
    assert_eq!(hello(kind::HELLO, VERSION, 2), Ok(read));
    let refused = [(kind::READY, VERSION, 2), (kind::HELLO, VERSION + 1, 2), (kind::HELLO, VERSION, 10)];
    for (number, version, role) in refused {
        assert!(hello(number, version, role).is_err(), "{number} {version} {role}");
    }
}

#[test]
fn a_worker_of_another_user_names_no_file_that_the_server_opens() {
    let file = std::env::current_exe().unwrap();
    let answer = || {
        let mut payload = BytesMut::new();
        payload.put_slice(&[0, 0, 0, 1, 0, 200, flag::FILE, 0, 0, 0, 0, 0, 0]);
        payload.put_slice(file.as_os_str().as_encoded_bytes());
        answer::read(payload.freeze()).unwrap()
    };
    assert!(matches!(answer().response(true).map(|made| made.body), Ok(Body::File(..))));
    assert!(matches!(answer().response(false).map(|made| made.body), Err(Fault::BadAnswer(_))));
}

#[test]
fn an_answer_to_head_whose_length_is_unknown_has_no_body_at_all() {
    let payload = Bytes::from_static(&[0, 0, 0, 1, 0, 200, flag::UNASKED, 0, 0, 0, 0, 0, 0]);
    let answer = answer::read(payload).unwrap();
    assert!(!answer.is_open() && matches!(answer.response(true).map(|made| made.body), Ok(Body::Unasked)));
}
