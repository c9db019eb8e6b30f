//! What an application says as status and headers, line by line: name, colon, value, up to a NUL. Whatever passes
//! must be fit to be sent: no control character, no header of the connection's own, no status out of range.

use engine::ResponseHead;

const HOP_BY_HOP: [&str; 5] = ["transfer-encoding", "trailer", "te", "keep-alive", "status"];

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let Some((status, rest)) = bytes.split_first_chunk::<2>() else { return };
    let status = i64::from(i16::from_le_bytes(*status));
    let mut head = ResponseHead::default();
    assert_eq!(head.set_status(status).is_ok(), (100..=999).contains(&status));
    for field in rest.split(|byte| *byte == 0xff) {
        let (name, value) = field.split_at(field.iter().position(|byte| *byte == b':').unwrap_or(field.len()));
        let before = head.headers.len();
        let added = head.add(name, value.get(1..).unwrap_or_default());
        assert!(added.is_ok() || name.is_empty() || !field.iter().all(u8::is_ascii_alphanumeric), "{added:?}");
        assert!(head.headers.len() - before <= value.split(|byte| *byte == b'\n').count());
    }
    for (name, value) in &head.headers {
        let is_fit = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
        assert!(value.as_bytes().iter().all(is_fit), "{value:?}");
        assert!(!HOP_BY_HOP.contains(&name.as_str()) && !name.as_str().starts_with("rack."), "{name}");
    }
}
