//! The heads of responses as they were received, for what ureq does not keep of them: the reason phrase, and the header
//! fields of a proxy's response that refuses a tunnel.

use std::cell::Cell;

use memchr::memmem;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

thread_local! {
    /// Head of the last response in this thread; None while a request has no response yet.
    static HEAD: Cell<Option<Vec<u8>>> = const { Cell::new(None) };
}

/// Takes the head of the last response; None where it was not seen whole.
pub fn last_head() -> Option<Vec<u8>> {
    HEAD.take()
}

/// The reason phrase in a head.
pub fn reason(head: &[u8]) -> Option<&[u8]> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    line.strip_prefix(b"HTTP/1.")?.get("1 200 ".len()..)
}

/// Forgets the head of the last response, before a request is sent.
pub fn forget() {
    HEAD.set(None);
}

/// Keeps the head of a response, and returns whether it is whole in this input. Informational ones, such as 103, may
/// come before it.
pub fn keep(input: &[u8]) -> bool {
    let mut rest = input;
    while let Some(end) = memmem::find(rest, END) {
        if is_final(&rest[..end]) {
            HEAD.set(Some(rest[..end].to_vec()));
            return true;
        }
        rest = &rest[end + END.len()..];
    }
    false
}

/// Whether no other head follows this one. After a switch of protocols (101) none does.
fn is_final(head: &[u8]) -> bool {
    let status = head.get("HTTP/1.1 ".len()..).unwrap_or_default();
    !status.starts_with(b"1") || status.starts_with(b"101")
}
