//! What a WebSocket needs of the front: where frames end in what the server sends, so that a close frame can go between
//! two of them (RFC 6455 section 5.2). Payloads are not looked at, but for the head of a handshake that an application
//! writes by itself.

use http::header::{self, HeaderMap};

/// Of the head of an application's own handshake, more is not kept: then it is taken for something else.
const HEAD_BYTES: usize = 16 * 1024;
/// The opcode of a close frame.
const CLOSE: u8 = 8;

/// A close frame with status 1001, "going away" (RFC 6455 section 7.4.1), as a server sends it: unmasked.
pub(crate) const GOING_AWAY: [u8; 4] = [0x80 | CLOSE, 2, 0x03, 0xE9];

/// Follows what a server sends on a connection that has been upgraded, from its first byte.
#[derive(Debug)]
pub(crate) struct Tracker {
    state: State,
    /// The application has sent a close frame itself.
    is_closed: bool,
}

#[derive(Debug)]
enum State {
    /// In the head of a response that the application writes: what has come so far.
    Head(Vec<u8>),
    /// In the header of a frame: what has come of it so far.
    Header(Vec<u8>),
    /// In the payload of a frame: how many bytes are still to come.
    Payload(u64),
    /// Not a WebSocket.
    Other,
}

impl Tracker {
    /// Of a connection whose handshake the front has sent.
    pub(crate) fn after_handshake() -> Tracker {
        Tracker { state: State::Header(Vec::new()), is_closed: false }
    }

    /// Of a connection on which the application writes all by itself, its handshake included.
    pub(crate) fn from_head() -> Tracker {
        Tracker { state: State::Head(Vec::new()), is_closed: false }
    }

    /// Of a connection that speaks something else.
    pub(crate) fn other() -> Tracker {
        Tracker { state: State::Other, is_closed: false }
    }

    /// Takes note of bytes that go to the client.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match &mut self.state {
                State::Other => return,
                State::Head(head) => {
                    let before = head.len();
                    head.extend_from_slice(&bytes[..bytes.len().min(HEAD_BYTES.saturating_sub(before))]);
                    let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
                        if head.len() >= HEAD_BYTES {
                            self.state = State::Other;
                        }
                        return;
                    };
                    let is_handshake = is_handshake(&head[..end]);
                    self.state = if is_handshake { State::Header(Vec::new()) } else { State::Other };
                    &bytes[end - before..]
                }
                State::Header(header) => {
                    header.push(bytes[0]);
                    if let Some(length) = payload_length(header) {
                        self.is_closed |= header[0] & 0x0F == CLOSE;
                        self.state = if length == 0 { State::Header(Vec::new()) } else { State::Payload(length) };
                    }
                    &bytes[1..]
                }
                State::Payload(left) => {
                    let taken = (*left).min(bytes.len() as u64);
                    *left -= taken;
                    if *left == 0 {
                        self.state = State::Header(Vec::new());
                    }
                    &bytes[usize::try_from(taken).unwrap_or(bytes.len())..]
                }
            };
        }
    }

    /// Whether a frame may be sent now.
    pub(crate) fn is_between_frames(&self) -> bool {
        matches!(&self.state, State::Header(header) if header.is_empty()) && !self.is_closed
    }

    /// Whether this is a WebSocket in the middle of a frame: it may be between two in a moment.
    pub(crate) fn is_within_frame(&self) -> bool {
        matches!(&self.state, State::Payload(_)) || matches!(&self.state, State::Header(header) if !header.is_empty())
    }
}

/// Whether `Upgrade: websocket` is among the headers of a request, or of its answer.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// The length of the payload, when the header is complete. A server masks nothing (RFC 6455 section 5.1); a mask, where
/// there is one, counts as a part of the payload.
fn payload_length(header: &[u8]) -> Option<u64> {
    let (second, rest) = header.get(1..)?.split_first()?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let length = match (second & 0x7F, rest) {
        (126, [high, low]) => u64::from(u16::from_be_bytes([*high, *low])),
        (127, rest) => u64::from_be_bytes(rest.try_into().ok()?),
        (126, _) => return None,
        (short, _) => u64::from(short),
    };
    Some(length.saturating_add(mask))
}

/// Whether a response is the end of a WebSocket's handshake: status 101 with `Upgrade: websocket`.
fn is_handshake(head: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let is_upgrade = |header: &httparse::Header<'_>| {
        header.name.eq_ignore_ascii_case("upgrade") && header.value.eq_ignore_ascii_case(b"websocket")
    };
    response.parse(head).is_ok() && response.code == Some(101) && response.headers.iter().any(is_upgrade)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a close frame may go after each byte.
    fn gaps(tracker: &mut Tracker, bytes: &[u8]) -> Vec<bool> {
        let gap = |byte: &u8| {
            tracker.take(&[*byte]);
            tracker.is_between_frames()
        };
        bytes.iter().map(gap).collect()
    }

    #[test]
    fn frames_of_all_lengths_are_followed() {
        for (header, length) in [
            (vec![0x81, 0], 0),
            (vec![0x81, 5], 5),
            (vec![0x82, 126, 1, 0], 256),
            (vec![0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536),
        ] {
            let frame: Vec<u8> = header.into_iter().chain(std::iter::repeat_n(0x88, length)).collect();
            let mut tracker = Tracker::after_handshake();
            assert!(tracker.is_between_frames());
            let seen = gaps(&mut tracker, &frame);
            assert!(seen[..frame.len() - 1].iter().all(|gap| !gap) && seen[frame.len() - 1], "{length}");
            // In one piece, with the next.
            let mut tracker = Tracker::after_handshake();
            tracker.take(&[frame.as_slice(), &[0x81, 3, b'a']].concat());
            assert!(tracker.is_within_frame() && !tracker.is_between_frames());
            tracker.take(b"bc");
            assert!(tracker.is_between_frames());
        }
    }

    #[test]
    fn after_a_close_frame_of_the_application_none_is_sent() {
        let mut tracker = Tracker::after_handshake();
        tracker.take(&[0x88, 2, 3, 0xE8]);
        assert!(!tracker.is_between_frames() && !tracker.is_within_frame());
    }

    #[test]
    fn an_own_handshake_begins_a_websocket_and_another_answer_does_not() {
        let handshake = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: Upgrade\r\n\r\n";
        let mut tracker = Tracker::from_head();
        let seen = gaps(&mut tracker, handshake);
        assert!(seen[..handshake.len() - 1].iter().all(|gap| !gap) && seen[handshake.len() - 1]);
        for other in
            [&b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\x81\x00.."[..], b"plain bytes\r\n\r\n", &[b'x'; 20_000]]
        {
            let mut tracker = Tracker::from_head();
            tracker.take(other);
            assert!(!tracker.is_between_frames() && !tracker.is_within_frame());
        }
    }
}
