//! Random bytes and numbers from the operating system, for SecureRandom.

use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Most random bytes of one call.
const BYTES_MAX: i64 = 16 << 20;

fn fill(bytes: &mut [u8]) -> Result<(), Raise> {
    getrandom::fill(bytes).map_err(|error| raise("RuntimeError", format!("no random bytes to be had: {error}")))
}

/// `random_bytes(count)`: a String of random bytes.
pub fn bytes(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let count = arg(args, 0).int()?;
    if !(0..=BYTES_MAX).contains(&count) {
        return Err(raise("ArgumentError", format!("{count} bytes: must be from 0 to {BYTES_MAX}")));
    }
    let mut out = vec![0; count as usize];
    fill(&mut out)?;
    Ok(Value::Bytes(out))
}

/// `random_number(bound)`: a random Integer in 0...bound, or a Float in 0.0...1.0 where the bound is not positive.
pub fn number(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut word = [0; 8];
    fill(&mut word)?;
    let bound = arg(args, 0).int()?;
    if bound <= 0 {
        // A Float holds 53 bits.
        return Ok(Value::Float((u64::from_le_bytes(word) >> 11) as f64 / (1u64 << 53) as f64));
    }
    // Words beyond the last multiple of the bound would make small numbers more likely, so they are drawn again.
    let bound = bound as u64;
    let limit = u64::MAX - u64::MAX % bound;
    while u64::from_le_bytes(word) >= limit {
        fill(&mut word)?;
    }
    Ok(Value::Int((u64::from_le_bytes(word) % bound) as i64))
}

/// `uuid`: a random UUID (version 4).
pub fn uuid(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(Value::Str(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string().into_bytes()))
}
