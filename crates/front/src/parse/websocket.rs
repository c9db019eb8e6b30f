//! WebSocket frames that the server sends (RFC 6455 section 5.2): finds where they end, so that a close frame can be
//! sent between two of them. Payloads are not examined, except for the head of a handshake that an application writes
//! itself.

use http::header::{self, HeaderMap};

/// Longest head of an application's own handshake; a longer one counts as another protocol.
const HEAD_BYTES: usize = 16 * 1024;
/// The opcode of a close frame.
const CLOSE: u8 = 8;

/// A close frame with status 1001, "going away" (RFC 6455 section 7.4.1), unmasked as from a server.
pub(crate) const GOING_AWAY: [u8; 4] = [0x80 | CLOSE, 2, 0x03, 0xE9];

/// Follows what the server sends on an upgraded connection, from the first byte.
#[derive(Debug)]
pub(crate) struct Tracker {
    position: Position,
    /// Whether the application has sent a close frame itself.
    is_closed: bool,
}

#[derive(Debug)]
enum Position {
    /// In the head of a response that the application writes; its bytes so far.
    Head(Vec<u8>),
    /// In the header of a frame; its bytes so far.
    Header(Vec<u8>),
    /// In the payload of a frame; number of bytes to come.
    Payload(u64),
    /// The connection is no WebSocket.
    Other,
}

impl Tracker {
    /// A tracker for a connection whose handshake the front has sent.
    pub(crate) fn after_handshake() -> Tracker {
        Tracker { position: Position::Header(Vec::new()), is_closed: false }
    }

    /// A tracker for a connection on which the application writes the handshake itself.
    pub(crate) fn from_head() -> Tracker {
        Tracker { position: Position::Head(Vec::new()), is_closed: false }
    }

    /// A tracker for a connection with another protocol.
    pub(crate) fn other() -> Tracker {
        Tracker { position: Position::Other, is_closed: false }
    }

    /// Follows bytes that are sent to the client.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = &bytes[self.step(bytes)..];
        }
    }

    /// Follows the first of these bytes, to the end of a frame if there is one, behind which the front may send a frame
    /// of its own. Returns their number.
    pub(crate) fn take_to_gap(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            taken += self.step(&bytes[taken..]);
            if self.is_between_frames() {
                break;
            }
        }
        taken
    }

    /// Follows the first of these bytes, at least one, which belong together. Returns their number.
    fn step(&mut self, bytes: &[u8]) -> usize {
        match &mut self.position {
            Position::Other => bytes.len(),
            Position::Head(head) => {
                let before = head.len();
                head.extend_from_slice(&bytes[..bytes.len().min(HEAD_BYTES.saturating_sub(before))]);
                let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
                    if head.len() >= HEAD_BYTES {
                        self.position = Position::Other;
                    }
                    return bytes.len();
                };
                let is_handshake = is_handshake(&head[..end]);
                self.position = if is_handshake { Position::Header(Vec::new()) } else { Position::Other };
                end - before
            }
            Position::Header(header) => {
                header.push(bytes[0]);
                if let Some(length) = payload_length(header) {
                    self.is_closed |= header[0] & 0x0F == CLOSE;
                    self.position = if length == 0 { Position::Header(Vec::new()) } else { Position::Payload(length) };
                }
                1
            }
            Position::Payload(left) => {
                let taken = (*left).min(bytes.len() as u64);
                *left -= taken;
                if *left == 0 {
                    self.position = Position::Header(Vec::new());
                }
                usize::try_from(taken).unwrap_or(bytes.len())
            }
        }
    }

    /// Whether the front may send a frame now: between two frames, and before a close frame.
    pub(crate) fn is_between_frames(&self) -> bool {
        matches!(&self.position, Position::Header(header) if header.is_empty()) && !self.is_closed
    }

    /// Whether this is a WebSocket within a frame, after which a close frame can be sent.
    pub(crate) fn is_within_frame(&self) -> bool {
        matches!(&self.position, Position::Payload(_))
            || matches!(&self.position, Position::Header(header) if !header.is_empty())
    }
}

/// Whether the headers of a request, or of its response, have `Upgrade: websocket`.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Length of the payload, if the header is complete. Servers must not mask (RFC 6455 section 5.1); a mask, if there is
/// one, counts as part of the payload.
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

/// Whether a response completes a WebSocket handshake: status 101 with `Upgrade: websocket`.
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

    /// Whether a close frame may be sent after each of the bytes.
    fn gaps(tracker: &mut Tracker, bytes: &[u8]) -> Vec<bool> {
        let gap = |byte: &u8| {
            tracker.take(&[*byte]);
            tracker.is_between_frames()
        };
        bytes.iter().map(gap).collect()
    }

    #[test]
    fn a_websocket_is_asked_for_by_its_name_in_any_case_and_by_nothing_else() {
        let asks = |value: &'static str| {
            is_asked_for(&HeaderMap::from_iter([(header::UPGRADE, http::HeaderValue::from_static(value))]))
        };
        assert!(asks("websocket") && asks("WebSocket"));
        assert!(!asks("h2c") && !asks("websockets") && !is_asked_for(&HeaderMap::new()));
    }

    #[test]
    fn frames_of_all_lengths_are_followed() {
        for (header, length) in [
            (vec![0x81, 0], 0),
            (vec![0x81, 5], 5),
            (vec![0x82, 126, 1, 0], 256),
            (vec![0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536),
            // A server must not mask (RFC 6455 section 5.1), but some applications do: four bytes more.
            (vec![0x81, 0x80, 1, 2, 3, 4], 0),
            (vec![0x81, 0x85, 1, 2, 3, 4], 5),
            (vec![0x82, 0x80 | 126, 1, 0, 1, 2, 3, 4], 256),
        ] {
            let frame: Vec<u8> = header.into_iter().chain(std::iter::repeat_n(0x88, length)).collect();
            let mut tracker = Tracker::after_handshake();
            assert!(tracker.is_between_frames());
            let seen = gaps(&mut tracker, &frame);
            assert!(seen[..frame.len() - 1].iter().all(|gap| !gap) && seen[frame.len() - 1], "{length}");
            // In one piece, with the beginning of the next frame.
            let mut tracker = Tracker::after_handshake();
            tracker.take(&[frame.as_slice(), &[0x81, 3, b'a']].concat());
            assert!(tracker.is_within_frame() && !tracker.is_between_frames());
            tracker.take(b"bc");
            assert!(tracker.is_between_frames());
            tracker.take(&[0x81]);
            assert!(tracker.is_within_frame() && !tracker.is_between_frames(), "in a header");
        }
    }

    #[test]
    fn the_first_gap_is_found_within_bytes_that_go_on_with_the_next_frame() {
        for (bytes, taken) in [
            (&b"\x81\x02ab\x81\x01c"[..], 4),
            (b"\x81\x00\x81\x01c", 2),
            (b"\x81\x02ab", 4),
            (b"\x81\x02a", 3),
            // Behind a close frame there is none.
            (b"\x88\x00\x81\x01c", 5),
        ] {
            let mut tracker = Tracker::after_handshake();
            assert_eq!(tracker.take_to_gap(bytes), taken, "{}", bytes.escape_ascii());
        }
        let mut tracker = Tracker::other();
        assert_eq!((tracker.take_to_gap(b"\x81\x00\x81"), tracker.take_to_gap(b"")), (3, 0));
    }

    #[test]
    fn after_a_close_frame_of_the_application_none_is_sent() {
        let mut tracker = Tracker::after_handshake();
        for _ in 0..2 {
            tracker.take(&[0x88, 2, 3, 0xE8]);
            assert!(!tracker.is_between_frames() && !tracker.is_within_frame());
        }
    }

    #[test]
    fn an_own_handshake_begins_a_websocket_and_another_answer_does_not() {
        let handshake = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: Upgrade\r\n\r\n";
        let mut tracker = Tracker::from_head();
        let seen = gaps(&mut tracker, handshake);
        assert!(seen[..handshake.len() - 1].iter().all(|gap| !gap) && seen[handshake.len() - 1]);
        let cookie = "x".repeat(15_000);
        let long = format!("HTTP/1.1 101 Switching\r\nset-cookie: {cookie}\r\nupgrade: websocket\r\n\r\n");
        let mut tracker = Tracker::from_head();
        long.as_bytes().chunks(1000).for_each(|piece| tracker.take(piece));
        assert!(tracker.is_between_frames());
        for other in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\x81\x00.."[..],
            b"HTTP/1.1 426 Upgrade Required\r\nupgrade: websocket\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: Upgrade\r\n\r\n",
            b"HTTP/1.1 101 Switching Protocols\r\nx-upgrade: websocket\r\n\r\n",
            b"plain bytes\r\n\r\n",
            &[b'x'; 20_000],
        ] {
            let mut tracker = Tracker::from_head();
            tracker.take(other);
            assert!(!tracker.is_between_frames() && !tracker.is_within_frame());
        }
    }
}
