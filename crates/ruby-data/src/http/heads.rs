//! The heads of responses as they were received, for what ureq does not keep of them: the reason phrase, and the header
//! fields of a proxy's response that refuses a tunnel.

use std::cell::Cell;

use memchr::memmem;

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

/// Keeps the head of a response, and returns whether it is whole in this input.
pub fn keep(input: &[u8]) -> bool {
    // Another head follows an informational one, such as 100.
    let is_final = input.get("HTTP/1.1 ".len()) != Some(&b'1');
    let end = memmem::find(input, b"\r\n\r\n").filter(|_| is_final);
    if let Some(end) = end {
        HEAD.set(Some(input[..end].to_vec()));
    }
    end.is_some()
}
