//! The bytes in which values cross the border to C: whatever is accepted must be written again as the very same
//! bytes, so that nothing has two meanings, and nothing may panic.

#![no_main]

use ruby_native::Tree;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tree) = Tree::decode(bytes) else { return };
    let mut again = Vec::with_capacity(bytes.len());
    tree.encode(&mut again);
    assert_eq!(bytes, again, "{tree:?}");
});
