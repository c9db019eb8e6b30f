//! The bytes with which a match can begin, so that the machine skips all other positions.

use super::plain::byte_class;
use super::syntax::{Node, Parsed};

type Bytes = Box<[bool; 256]>;

/// The bytes with which a match can begin; None where a match may be empty or the bytes cannot be known.
pub fn bytes(parsed: &Parsed, bytes: bool) -> Option<Bytes> {
    let mut found = Box::new([false; 256]);
    // A called group may recurse, which `add` does not follow.
    if !parsed.calls.is_empty() || !add(&parsed.node, parsed, bytes, &mut found) {
        return None;
    }
    Some(found)
}

/// Adds the first bytes of `node`; false where it can match without taking a character, so that the node behind it
/// counts as well.
fn add(node: &Node, parsed: &Parsed, bytes: bool, found: &mut Bytes) -> bool {
    match node {
        Node::Char(c) if parsed.binary => found[*c as usize & 0xff] = true,
        Node::Char(c) => found[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true,
        Node::Set(set) if bytes => {
            for range in byte_class(set, parsed.binary).ranges() {
                (range.start()..=range.end()).for_each(|byte| found[usize::from(byte)] = true);
            }
        }
        Node::Set(set) => {
            for range in set.ranges() {
                let lead = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
                (lead(range.start())..=lead(range.end())).for_each(|byte| found[usize::from(byte)] = true);
            }
        }
        Node::Dot { .. } => found.fill(true),
        Node::Concat(nodes) => return nodes.iter().any(|node| add(node, parsed, bytes, found)),
        Node::Alt(nodes) => {
            let mut all = true;
            nodes.iter().for_each(|node| all &= add(node, parsed, bytes, found));
            return all;
        }
        Node::Group(_, node) | Node::Atomic(node) => return add(node, parsed, bytes, found),
        Node::Repeat { max: Some(0), .. } => return false,
        Node::Repeat { node, min, .. } => return add(node, parsed, bytes, found) && *min > 0,
        Node::Empty | Node::At(_) | Node::Keep | Node::Look { .. } => return false,
        // The text that these take is known only at run time.
        Node::Back { .. } | Node::Call(_) | Node::Cond { .. } => {
            found.fill(true);
            return false;
        }
    }
    true
}
