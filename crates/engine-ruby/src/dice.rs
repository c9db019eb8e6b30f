//! Pseudorandom numbers for the random tests.

/// Pseudorandom numbers, the same for the same seed (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number from 0 to `sides - 1`.
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    /// Returns true once in `sides` calls, on average.
    pub fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }

    /// Returns one of these, if there are any.
    pub fn any_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())]) }
    }
}
