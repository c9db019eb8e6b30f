//! A cache of compiled patterns, shared by all interpreters. With `--fresh` each request needs all patterns of the
//! application anew, and compiling one takes longer than using it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Pattern;

/// Patterns kept. When there are more, those are dropped that were not used since the last time.
const KEPT: usize = 1000;
/// Bytes of the patterns kept.
const BYTES_MAX: usize = 64 << 20;

#[derive(Default)]
struct Cache {
    patterns: HashMap<(Vec<u8>, u32), (Arc<Pattern>, bool)>,
    bytes: usize,
}

/// The pattern for a source and options, from the cache or compiled now; the error of [`Pattern::new`].
pub fn pattern(source: &[u8], options: u32) -> Result<Arc<Pattern>, String> {
    static CACHE: OnceLock<Mutex<Cache>> = OnceLock::new();
    let cache = || CACHE.get_or_init(Mutex::default).lock();
    let key = (source.to_vec(), options);
    if let Some((pattern, used)) = cache().patterns.get_mut(&key) {
        *used = true;
        return Ok(pattern.clone());
    }
    let pattern = Arc::new(Pattern::new(source, options)?);
    cache().keep(key, pattern.clone());
    Ok(pattern)
}

impl Cache {
    fn keep(&mut self, key: (Vec<u8>, u32), pattern: Arc<Pattern>) {
        let bytes = pattern.bytes;
        if self.patterns.len() >= KEPT || self.bytes + bytes > BYTES_MAX {
            self.patterns.retain(|_, (_, used)| std::mem::take(used));
            // Where nearly all were in use, every second one is dropped, in the random order of the map.
            if self.patterns.len() >= KEPT / 2 {
                let mut keep = false;
                self.patterns.retain(|_, _| {
                    keep = !keep;
                    keep
                });
            }
            self.bytes = self.patterns.values().map(|(pattern, _)| pattern.bytes).sum();
        }
        if self.bytes + bytes > BYTES_MAX {
            return;
        }
        self.bytes += bytes;
        self.patterns.insert(key, (pattern, false));
    }
}
