//! Regular expressions of Ruby's dialect: the first byte has the options, then comes the pattern, and behind a NUL the
//! text. Whatever compiles must find positions inside the text, on both ways the same, and nothing may panic.

use ruby_regexp::{How, Pattern, Stop};

/// Questions whether to go on before the answer is no.
const TICKS: u32 = 50;

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let Some((options, rest)) = bytes.split_first() else { return };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (source, text) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    let Ok(pattern) = Pattern::new(source, u32::from(options & 0x27)) else { return };
    let how = How { anchored: options & 8 != 0, bytes: std::str::from_utf8(text).is_err() };
    let mut left = TICKS;
    let mut tick = || {
        left = left.saturating_sub(1);
        if left == 0 { Err(Stop::Timeout) } else { Ok(()) }
    };
    let mut slots = vec![usize::MAX; (pattern.groups as usize + 1) * 2];
    let found = pattern.search(text, 0, how, &mut slots, &mut tick);
    if found == Ok(true) {
        assert!(slots[0] <= text.len() && slots[1] <= text.len());
    }
    if !pattern.is_linear() {
        return;
    }
    if let Ok(other) = pattern.search_on_machine(text, 0, how, &mut tick) {
        assert_eq!(other.is_some(), found == Ok(true));
        assert!(other.is_none_or(|other| other == slots));
    }
}
