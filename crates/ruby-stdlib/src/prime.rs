//! Native functions for the library prime: the primes of a range, and a primality test.

use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Most numbers of a range: some tens of microseconds without an interruption.
const STRETCH_MAX: i64 = 1 << 17;
/// Largest end of a range: the primes up to its square root are computed for each range.
const FAR_MAX: i64 = 1 << 40;
/// Bases with which the Miller-Rabin test is correct for all numbers of 64 bits.
const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// `primes(from, to)`: the primes from `from` on, below `to`.
pub fn primes(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (from, to) = (arg(args, 0).int()?, arg(args, 1).int()?);
    if from < 0 || to < from || to - from > STRETCH_MAX {
        return Err(raise("ArgumentError", format!("from {from} to {to}: at most {STRETCH_MAX} numbers, from 0")));
    }
    if to > FAR_MAX {
        return Err(raise("RangeError", format!("primes are counted up to {FAR_MAX}")));
    }
    let found = stretch(from as u64, to as u64)?;
    Ok(Value::Tree(Tree::Array(found.into_iter().map(|prime| Tree::Int(prime as i64)).collect()).encoded()))
}

/// The sieve of Eratosthenes on a range.
fn stretch(from: u64, to: u64) -> Result<Vec<u64>, Raise> {
    let length = usize::try_from(to - from).map_err(|error| raise("RangeError", error.to_string()))?;
    let mut crossed = vec![false; length];
    for prime in small(to.isqrt()) {
        let mut multiple = (prime * prime).max(from.div_ceil(prime) * prime);
        while multiple < to {
            crossed[(multiple - from) as usize] = true;
            multiple += prime;
        }
    }
    let numbers = (from..to).zip(crossed);
    Ok(numbers.filter(|(number, crossed)| *number > 1 && !crossed).map(|(number, _)| number).collect())
}

/// All primes up to `most`, which is at most 2^20.
fn small(most: u64) -> Vec<u64> {
    let mut crossed = vec![false; most as usize + 1];
    let mut found = Vec::new();
    for number in 2..=most {
        if crossed[number as usize] {
            continue;
        }
        found.push(number);
        let multiples = (number * number..=most).step_by(number as usize);
        multiples.for_each(|multiple| crossed[multiple as usize] = true);
    }
    found
}

/// `prime?(number)`: whether a number of at most 63 bits is prime.
pub fn is_prime(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = arg(args, 0).int()?;
    Ok(Value::Bool(u64::try_from(number).is_ok_and(tested)))
}

/// The Miller-Rabin primality test.
fn tested(number: u64) -> bool {
    if number < 2 {
        return false;
    }
    if let Some(base) = BASES.iter().find(|base| number.is_multiple_of(**base)) {
        return number == *base;
    }
    let twos = (number - 1).trailing_zeros();
    let odd = (number - 1) >> twos;
    BASES.iter().all(|base| {
        let mut power = raised(*base, odd, number);
        let mut left = twos;
        while power != 1 && power != number - 1 && left > 1 {
            power = times(power, power, number);
            left -= 1;
        }
        power == number - 1 || (power == 1 && left == twos)
    })
}

fn times(left: u64, right: u64, modulus: u64) -> u64 {
    // The rest is smaller than the modulus, so that it fits.
    (u128::from(left) * u128::from(right) % u128::from(modulus)) as u64
}

fn raised(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut power, mut square) = (1, base % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = times(power, square, modulus);
        }
        square = times(square, square, modulus);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_and_the_test_agree() {
        for from in [0, 1, 2, 90, 65_536, 1_000_000, (1 << 32) - 200, (1 << 40) - 400] {
            let found = stretch(from, from + 300).unwrap();
            let expected: Vec<u64> = (from..from + 300).filter(|number| tested(*number)).collect();
            assert_eq!(found, expected, "from {from}");
        }
        assert_eq!(stretch(0, 30).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }

    #[test]
    fn numbers_that_look_like_primes_are_told() {
        // Strong pseudoprimes to several bases, and the largest primes below two powers of two.
        for number in
            [2_047, 1_373_653, 25_326_001, 3_215_031_751, 3_825_123_056_546_413_051, 9_223_372_036_854_775_805]
        {
            assert!(!tested(number), "{number}");
        }
        for number in [4_294_967_291, 9_223_372_036_854_775_783] {
            assert!(tested(number), "{number}");
        }
    }
}
