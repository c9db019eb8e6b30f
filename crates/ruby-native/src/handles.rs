//! Rust values that belong to objects of one interpreter, such as compressors and temporary files. Ruby has their
//! numbers in objects of class FoolsGold::Handle; when the garbage collector frees such an object, the value is dropped
//! (c/native.c).

use std::any::Any;
use std::collections::HashMap;

use crate::value::{Raise, raise};

/// The lifetime of a held value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Lives as long as its object in Ruby, at most as long as the interpreter.
    Object,
    /// Lives at most until the end of the request in which it was made.
    Request,
}

struct Held {
    /// The value. It changes its thread only together with its interpreter, so that it need not be Send by itself.
    thing: Box<dyn Any>,
    life: Life,
}

/// All values held for one interpreter, by their numbers.
#[derive(Default)]
pub struct Handles {
    last: u64,
    held: HashMap<u64, Held>,
    /// Values that belong to no object in Ruby: at most one of a type.
    own: Vec<Box<dyn Any>>,
}

impl Handles {
    /// Holds a value and returns its number, which is never used again.
    pub fn hold<T: Any>(&mut self, thing: T, life: Life) -> u64 {
        self.last += 1;
        self.held.insert(self.last, Held { thing: Box::new(thing), life });
        self.last
    }

    /// Holds a value and returns its number; EMFILE where there are `most` of its type already. For values that may
    /// have a file descriptor.
    pub fn hold_one_of<T: Any>(&mut self, most: usize, thing: T) -> Result<u64, Raise> {
        if self.things::<T>().count() >= most {
            return Err(raise("Errno::EMFILE", format!("an interpreter has at most {most} of these")));
        }
        Ok(self.hold(thing, Life::Object))
    }

    /// All held values of a type.
    pub fn things<T: Any>(&self) -> impl Iterator<Item = &T> {
        self.held.values().filter_map(|held| held.thing.downcast_ref())
    }

    /// The value with a number; an IOError where it has been released, a TypeError where it is of another type.
    pub fn get<T: Any>(&mut self, number: u64) -> Result<&mut T, Raise> {
        let held = self.held.get_mut(&number).ok_or_else(|| raise("IOError", "closed stream"))?;
        held.thing.downcast_mut().ok_or_else(|| raise("TypeError", "a handle of another kind of thing"))
    }

    /// The number of held values of a type, and the sum of their `size`.
    pub fn sum<T: Any>(&self, size: impl Fn(&T) -> u64) -> (usize, u64) {
        self.things::<T>().fold((0, 0), |(count, sum), thing| (count + 1, sum + size(thing)))
    }

    /// The one value of this type that the interpreter itself has, such as its HTTP clients; `make` creates it on first
    /// use.
    pub fn own<T: Any>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let at = match self.own.iter().position(|own| own.is::<T>()) {
            Some(at) => at,
            None => {
                self.own.push(Box::new(make()));
                self.own.len() - 1
            }
        };
        #[expect(clippy::unwrap_used, reason = "what stands at this place is of this type")]
        self.own[at].downcast_mut().unwrap()
    }

    /// Drops the value with a number, if there is one.
    pub fn release(&mut self, number: u64) {
        self.held.remove(&number);
    }

    /// Drops all values, before the interpreter is replaced.
    pub fn clear(&mut self) {
        self.held.clear();
        self.own.clear();
    }

    /// Drops the values that live until the end of the request.
    pub fn end_request(&mut self) {
        if !self.held.is_empty() {
            self.held.retain(|_, held| held.life != Life::Request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_there_until_it_is_released_and_only_as_what_it_is() {
        let mut handles = Handles::default();
        let kept = handles.hold(7u8, Life::Object);
        let short = handles.hold(8u8, Life::Request);
        *handles.get::<u8>(kept).unwrap() += 1;
        assert_eq!(handles.sum::<u8>(|thing| u64::from(*thing)), (2, 16));
        assert_eq!(handles.get::<u16>(kept).unwrap_err().class, "TypeError");
        handles.end_request();
        assert_eq!(handles.get::<u8>(short).unwrap_err().class, "IOError");
        assert_eq!(handles.get::<u8>(kept), Ok(&mut 8));
        handles.release(kept);
        handles.release(kept);
        assert_eq!(handles.get::<u8>(kept).unwrap_err().class, "IOError");
    }
}
