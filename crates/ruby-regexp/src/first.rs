//! With which bytes a match can begin, so that the machine need not start where none can.

use super::plain::byte_class;
use super::syntax::{Node, Parsed};

type Bytes = Box<[bool; 256]>;

/// The bytes; none where a match may be empty or nothing can be said.
pub fn bytes(parsed: &Parsed, bytes: bool) -> Option<Bytes> {
    let mut found = Box::new([false; 256]);
    // Called groups may be anywhere.
    if !parsed.calls.is_empty() || !add(&parsed.node, parsed, bytes, &mut found) {
        return None;
    }
    Some(found)
}

/// Adds what `node` can begin with; false where it can take nothing, so that what follows counts as well.
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
        // What these take is known only when they run.
        Node::Back { .. } | Node::Call(_) | Node::Cond { .. } => {
            found.fill(true);
            return false;
        }
    }
    true
}
