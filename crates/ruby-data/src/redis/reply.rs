//! Replies of Redis (RESP, version 2) as trees. A reply takes memory only for bytes that have arrived, not for the
//! lengths it announces.

use std::time::Instant;

use super::RedisConnection;
use super::error::{RedisError, too_much};
use ruby_native::Tree;

/// Nesting of arrays in a reply, such as that of a Lua script.
const DEPTH_MAX: usize = 32;
/// Bytes of a line: of a simple string, error, integer or length.
const LINE_BYTES_MAX: usize = 64 << 10;

impl RedisConnection {
    /// Sends `count` encoded commands and reads a reply to each, of `most` bytes together; error replies are Symbols.
    pub fn call(
        &mut self,
        commands: &[u8],
        count: usize,
        until: Instant,
        most: usize,
    ) -> Result<Vec<Tree>, RedisError> {
        self.until = until;
        self.left = most;
        self.write(commands)?;
        (0..count).map(|_| read(self, 0)).collect()
    }
}

/// Reads the next reply; an error reply is a Symbol.
fn read(from: &mut RedisConnection, depth: usize) -> Result<Tree, RedisError> {
    let line = line(from)?;
    let Some((kind, rest)) = line.split_first() else { return Err(wrong(&line)) };
    match kind {
        b'+' => Ok(Tree::Str(rest.to_vec())),
        b'-' => Ok(Tree::Sym(rest.to_vec())),
        b':' => number(rest).map(Tree::Int).ok_or_else(|| wrong(&line)),
        b'$' => match number(rest).ok_or_else(|| wrong(&line))? {
            -1 => Ok(Tree::Nil),
            length => text(from, usize::try_from(length).map_err(|_| wrong(&line))?).map(Tree::Str),
        },
        b'*' => match number(rest).ok_or_else(|| wrong(&line))? {
            -1 => Ok(Tree::Nil),
            count if depth < DEPTH_MAX => {
                // No capacity from the count: it could promise more than comes.
                let mut items = Vec::new();
                for _ in 0..usize::try_from(count).map_err(|_| wrong(&line))? {
                    // The memory of an item counts as well, or many small items would take more than allowed.
                    from.left = from.left.checked_sub(size_of::<Tree>()).ok_or_else(too_much)?;
                    items.push(read(from, depth + 1)?);
                }
                Ok(Tree::Array(items))
            }
            _ => Err(RedisError::Protocol("the answer nests too deep".into())),
        },
        _ => Err(wrong(&line)),
    }
}

fn wrong(line: &[u8]) -> RedisError {
    let shown: String = String::from_utf8_lossy(line).chars().take(40).collect();
    RedisError::Protocol(format!("Got {shown:?} as initial reply byte: is this Redis?"))
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn line(from: &mut RedisConnection) -> Result<Vec<u8>, RedisError> {
    let mut looked = 0;
    loop {
        let rest = &from.buffer[from.at..];
        if let Some(found) = rest[looked..].windows(2).position(|pair| pair == b"\r\n") {
            let end = looked + found;
            let line = rest[..end].to_vec();
            from.at += end + 2;
            return Ok(line);
        }
        looked = rest.len().saturating_sub(1);
        let had = rest.len();
        if had > LINE_BYTES_MAX {
            return Err(too_much());
        }
        from.fill(had + 1)?;
    }
}

fn text(from: &mut RedisConnection, length: usize) -> Result<Vec<u8>, RedisError> {
    let had = from.buffer.len() - from.at;
    if length.saturating_sub(had) > from.left {
        return Err(too_much());
    }
    if had < length + 2 {
        from.fill(length + 2)?;
    }
    let bytes = from.buffer[from.at..from.at + length].to_vec();
    if &from.buffer[from.at + length..from.at + length + 2] != b"\r\n" {
        return Err(RedisError::Protocol("a text of the answer has another length than was said".into()));
    }
    from.at += length + 2;
    Ok(bytes)
}
