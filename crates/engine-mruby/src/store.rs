//! The key-value store that all interpreters share. Values are encoded as trees (see `ruby_native::tree`) and copied in
//! and out, so that no object is ever in two interpreters. Sharded, so that two interpreters rarely contend for one
//! lock; all shards have their bytes of one limit.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use ruby_native::tree;

const SHARDS: usize = 16;
/// Most bytes of all entries together; a value that would pass it is refused.
pub const BYTES_MAX: usize = 256 << 20;
/// Bytes that an entry takes beside those of its key and its value: its place in the table, of which up to half are
/// free, and what the allocator adds. Keys are often a client's, such as those of a rate limit, and most are short.
const ENTRY_BYTES: usize = 128;

struct Entry {
    value: Vec<u8>,
    expires: Option<Instant>,
}

/// Bytes that an entry counts.
fn size(key: &[u8], value: &[u8]) -> usize {
    ENTRY_BYTES + key.len() + value.len()
}

#[derive(Default)]
struct Shard {
    entries: HashMap<Vec<u8>, Entry>,
    inserts: usize,
    /// No entry expires before this; None where none expires.
    first_expiry: Option<Instant>,
}

/// The bytes of all shards together, and their limit.
struct Room {
    held: AtomicUsize,
    max: usize,
}

impl Room {
    /// Takes room for `needed` bytes in the place of `freed` ones; false where there is not enough.
    fn exchange(&self, freed: usize, needed: usize) -> bool {
        let after = |held: usize| Some(held - freed + needed).filter(|after| *after <= self.max);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A key-value store with a limit on its bytes and an optional time to live for each key.
pub struct Store {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    room: Room,
}

/// The reason why the store refused a value.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The store has no room for it.
    Full,
    /// The value to be incremented is not an integer.
    NotAnInteger,
    /// The sum does not fit in 64 bits.
    Overflow,
}

impl Store {
    /// An empty store for `bytes_max` bytes of keys and values.
    pub fn new(bytes_max: usize) -> Store {
        let room = Room { held: AtomicUsize::new(0), max: bytes_max };
        Store { shards: Default::default(), hasher: RandomState::new(), room }
    }

    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Shard> {
        let index = (self.hasher.hash_one(key) % SHARDS as u64) as usize;
        self.shards[index].lock()
    }

    /// The value of a key, as an encoded tree; None where there is none, or it has expired.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut shard = self.shard(key);
        shard.drop_if_expired(key, Instant::now(), &self.room);
        shard.entries.get(key).map(|entry| entry.value.clone())
    }

    /// Sets the value of a key, which expires after `ttl` if there is one.
    pub fn set(&self, key: &[u8], value: Vec<u8>, ttl: Option<Duration>) -> Result<(), Refused> {
        let expires = ttl.map(|ttl| Instant::now() + ttl);
        let put = |value| self.shard(key).put(key, value, expires, &self.room);
        let Err(value) = put(value) else { return Ok(()) };
        self.sweep(Instant::now());
        put(value).map_err(|_| Refused::Full)
    }

    /// Removes a key and returns its value.
    pub fn delete(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut shard = self.shard(key);
        shard.drop_if_expired(key, Instant::now(), &self.room);
        shard.remove(key, &self.room)
    }

    /// Adds to an integer atomically and returns the sum; a missing key counts as 0. `ttl` applies only to a new key,
    /// so that the window of a rate limit ends on time.
    pub fn increment(&self, key: &[u8], by: i64, ttl: Option<Duration>) -> Result<i64, Refused> {
        match self.add(key, by, ttl) {
            Err(Refused::Full) => {
                self.sweep(Instant::now());
                self.add(key, by, ttl)
            }
            done => done,
        }
    }

    fn add(&self, key: &[u8], by: i64, ttl: Option<Duration>) -> Result<i64, Refused> {
        let now = Instant::now();
        let mut shard = self.shard(key);
        shard.drop_if_expired(key, now, &self.room);
        let (old, expires) = match shard.entries.get(key) {
            None => (0, ttl.map(|ttl| now + ttl)),
            Some(entry) => (tree::as_integer(&entry.value).ok_or(Refused::NotAnInteger)?, entry.expires),
        };
        let new = old.checked_add(by).ok_or(Refused::Overflow)?;
        shard.put(key, tree::integer(new), expires, &self.room).map_err(|_| Refused::Full)?;
        Ok(new)
    }

    /// Removes all keys of all interpreters.
    pub fn clear(&self) {
        for shard in &self.shards {
            let cleared = std::mem::take(&mut *shard.lock());
            self.room.give(cleared.entries.iter().map(|(key, entry)| size(key, &entry.value)).sum());
        }
    }

    /// Removes what has expired under any key.
    fn sweep(&self, now: Instant) {
        self.shards.iter().for_each(|shard| shard.lock().sweep(now, &self.room));
    }

    /// Number of keys that have not expired.
    pub fn len(&self) -> usize {
        let now = Instant::now();
        let count = |shard: &Mutex<Shard>| {
            let mut shard = shard.lock();
            shard.sweep(now, &self.room);
            shard.entries.len()
        };
        self.shards.iter().map(count).sum()
    }
}

impl Shard {
    fn drop_if_expired(&mut self, key: &[u8], now: Instant, room: &Room) {
        let expired = |entry: &Entry| entry.expires.is_some_and(|expires| expires <= now);
        if self.entries.get(key).is_some_and(expired) {
            self.remove(key, room);
        }
    }

    fn remove(&mut self, key: &[u8], room: &Room) -> Option<Vec<u8>> {
        let entry = self.entries.remove(key)?;
        room.give(size(key, &entry.value));
        Some(entry.value)
    }

    /// Sets the value of a key; returns the value where there is no room for it.
    fn put(&mut self, key: &[u8], value: Vec<u8>, expires: Option<Instant>, room: &Room) -> Result<(), Vec<u8>> {
        self.inserts += 1;
        // Expired values of keys that are never read again would stay for ever.
        if self.inserts.is_multiple_of(1024) {
            self.sweep(Instant::now(), room);
        }
        let needed = size(key, &value);
        let replaced = self.entries.get(key).map_or(0, |entry| size(key, &entry.value));
        if !room.exchange(replaced, needed) {
            return Err(value);
        }
        self.first_expiry = self.first_expiry.into_iter().chain(expires).min();
        self.entries.insert(key.to_vec(), Entry { value, expires });
        Ok(())
    }

    /// Removes what has expired. Looks at the entries only if one may have.
    fn sweep(&mut self, now: Instant, room: &Room) {
        if self.first_expiry.is_none_or(|first| first > now) {
            return;
        }
        let mut freed = 0;
        self.entries.retain(|key, entry| {
            let keep = entry.expires.is_none_or(|expires| expires > now);
            if !keep {
                freed += size(key, &entry.value);
            }
            keep
        });
        room.give(freed);
        self.first_expiry = self.entries.values().filter_map(|entry| entry.expires).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_can_be_read_replaced_and_deleted() {
        let store = Store::new(1 << 20);
        assert_eq!(store.get(b"k"), None);
        store.set(b"k", b"1".to_vec(), None).unwrap();
        store.set(b"k", b"22".to_vec(), None).unwrap();
        assert_eq!(store.get(b"k"), Some(b"22".to_vec()));
        assert_eq!(store.len(), 1);
        assert_eq!(store.delete(b"k"), Some(b"22".to_vec()));
        assert_eq!(store.delete(b"k"), None);
        assert_eq!(store.room.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_expired_value_is_gone() {
        let store = Store::new(1 << 20);
        store.set(b"k", b"1".to_vec(), Some(Duration::ZERO)).unwrap();
        assert_eq!(store.get(b"k"), None);
        assert_eq!(store.len(), 0);
    }

    #[test]
    fn increments_keep_the_first_expiry_and_refuse_other_values() {
        let store = Store::new(1 << 20);
        assert_eq!(store.increment(b"n", 2, Some(Duration::from_secs(60))), Ok(2));
        assert_eq!(store.increment(b"n", 3, None), Ok(5));
        assert!(store.shard(b"n").entries[b"n".as_slice()].expires.is_some());
        store.set(b"s", b"s\0\0\0\0".to_vec(), None).unwrap();
        assert_eq!(store.increment(b"s", 1, None), Err(Refused::NotAnInteger));
        store.set(b"m", tree::integer(i64::MAX), None).unwrap();
        assert_eq!(store.increment(b"m", 1, None), Err(Refused::Overflow));
    }

    #[test]
    fn a_full_store_refuses_and_keeps_what_it_has() {
        let store = Store::new(ENTRY_BYTES + 10);
        assert_eq!(store.set(b"k", vec![0; 100], None), Err(Refused::Full));
        store.set(b"k", vec![0; 9], None).unwrap();
        assert_eq!(store.set(b"k", vec![0; 10], None), Err(Refused::Full));
        assert_eq!(store.get(b"k"), Some(vec![0; 9]));
    }

    /// Room for nine entries with keys of one byte and values of ten, and one byte.
    const NINE: usize = 9 * (ENTRY_BYTES + 11) + 1;

    #[test]
    fn one_value_may_take_all_that_the_store_holds_and_many_may_share_it() {
        let store = Store::new(NINE);
        store.set(b"k", vec![0; NINE - ENTRY_BYTES - 1], None).unwrap();
        assert_eq!(store.increment(b"n", 1, None), Err(Refused::Full));
        store.clear();
        assert_eq!(store.room.held.load(Ordering::Relaxed), 0);
        (0..9).for_each(|key| store.set(&[key], vec![0; 10], None).unwrap());
        assert_eq!(store.set(b"k", vec![0; 1], None), Err(Refused::Full));
        assert_eq!(store.delete(&[0]), Some(vec![0; 10]));
        assert_eq!(store.increment(b"n", 1, None), Ok(1));
    }

    #[test]
    fn what_has_expired_under_other_keys_makes_room() {
        let store = Store::new(NINE);
        (0..9).for_each(|key| store.set(&[key], vec![0; 10], Some(Duration::ZERO)).unwrap());
        assert_eq!(store.increment(b"n", 1, None), Ok(1));
        let rest = NINE - size(b"n", &tree::integer(1)) - size(b"k", &[]);
        store.set(b"k", vec![0; rest], Some(Duration::ZERO)).unwrap();
        store.set(b"l", vec![0; rest], None).unwrap();
        assert_eq!(store.len(), 2);
    }
}
