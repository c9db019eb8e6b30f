//! The bytes in which values cross the border to C: whatever is accepted must be written again as the very same
//! bytes, so that nothing has two meanings, and nothing may panic.

use ruby_native::Tree;

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let Ok(tree) = Tree::decode(bytes) else { return };
    let mut again = Vec::with_capacity(bytes.len());
    tree.encode(&mut again);
    assert_eq!(bytes, again, "{tree:?}");
}
