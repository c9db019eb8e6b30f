//! Digests, HMAC and PBKDF2. The state of a digest between two updates is a String in Ruby, so that nothing needs to be
//! held here, and a copy of a digest is a copy of its state.

use std::io::Read;

use digest::common::hazmat::{SerializableState, SerializedState};
use digest::{Digest, KeyInit, Mac};
use hmac::Hmac;

use ruby_native::folders::failed;
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Bytes between two checks of the request's deadline.
const CHUNK_BYTES: usize = 4 << 20;
/// Rounds of PBKDF2 between two checks of the request's deadline.
const ROUNDS: i64 = 20_000;
/// Most bytes of a key that PBKDF2 derives.
const KEY_BYTES_MAX: i64 = 1 << 20;

/// Runs an expression with `$hash` as the digest type of a name such as `SHA256`; an ArgumentError for an unknown name.
macro_rules! with_hash {
    (@type $type:ty, $hash:ident => $work:expr) => {{
        type $hash = $type;
        $work
    }};
    ($name:expr, $hash:ident => $work:expr) => {
        match $name {
            b"MD5" => with_hash!(@type md5::Md5, $hash => $work),
            b"SHA1" => with_hash!(@type sha1::Sha1, $hash => $work),
            b"SHA224" => with_hash!(@type sha2::Sha224, $hash => $work),
            b"SHA256" => with_hash!(@type sha2::Sha256, $hash => $work),
            b"SHA384" => with_hash!(@type sha2::Sha384, $hash => $work),
            b"SHA512" => with_hash!(@type sha2::Sha512, $hash => $work),
            other => Err(raise("ArgumentError", format!("no digest {}", String::from_utf8_lossy(other)))),
        }
    };
}

fn state_of<H: Default + SerializableState>(state: Arg<'_>) -> Result<H, Raise> {
    if state == Arg::Nil {
        return Ok(H::default());
    }
    let bytes = state.bytes()?;
    let refused = || raise("ArgumentError", "this is no state of that digest");
    let state = <&SerializedState<H>>::try_from(bytes).map_err(|_| refused())?;
    H::deserialize(state).map_err(|_| refused())
}

fn feed<H: digest::Update>(context: &mut Context<'_>, hash: &mut H, bytes: &[u8]) -> Result<(), Raise> {
    for chunk in bytes.chunks(CHUNK_BYTES) {
        hash.update(chunk);
        if chunk.len() == CHUNK_BYTES {
            context.tick()?;
        }
    }
    Ok(())
}

/// `digest_update(name, state or nil, bytes)`: the state after these bytes; nil is the state without any.
pub fn update(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 2).bytes()?;
    with_hash!(arg(args, 0).bytes()?, H => {
        let mut hash: H = state_of(arg(args, 1))?;
        feed(context, &mut hash, bytes)?;
        Ok(Value::Bytes(hash.serialize().to_vec()))
    })
}

/// `digest(name, state or nil, bytes)`: the digest as bytes.
pub fn digest(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 2).bytes()?;
    with_hash!(arg(args, 0).bytes()?, H => {
        let mut hash: H = state_of(arg(args, 1))?;
        feed(context, &mut hash, bytes)?;
        Ok(Value::Bytes(hash.finalize().to_vec()))
    })
}

/// `digest_hex(name, state or nil, bytes)`: the digest in hexadecimal digits.
pub fn hex(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    digest(context, args).map(as_hex)
}

fn as_hex(value: Value) -> Value {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let Value::Bytes(bytes) = value else { return value };
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    Value::Str(bytes.iter().flat_map(digits).collect())
}

/// `digest_file(name, state or nil, path)`: the state after the content of a file.
pub fn file(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let path = arg(args, 2).path()?;
    context.tick()?;
    let found = context.folders.readable(path)?;
    let (mut file, _) = files::open(&found).map_err(|error| failed(&error, path))?;
    let mut buffer = vec![0; 1 << 20];
    with_hash!(arg(args, 0).bytes()?, H => {
        let mut hash: H = state_of(arg(args, 1))?;
        loop {
            let count = file.read(&mut buffer).map_err(|error| failed(&error, path))?;
            if count == 0 {
                break Ok(Value::Bytes(hash.serialize().to_vec()));
            }
            hash.update(&buffer[..count]);
            context.tick()?;
        }
    })
}

/// `hmac(name, key, bytes)`: the message authentication code (RFC 2104) as bytes.
pub fn hmac(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let key = arg(args, 1).bytes()?;
    let bytes = arg(args, 2).bytes()?;
    with_hash!(arg(args, 0).bytes()?, H => {
        let mut mac = <Hmac<H>>::new_from_slice(key).map_err(|_| raise("ArgumentError", "a key of no use"))?;
        feed(context, &mut mac, bytes)?;
        Ok(Value::Bytes(mac.finalize().into_bytes().to_vec()))
    })
}

/// `hmac_hex(name, key, bytes)`: the message authentication code in hexadecimal digits.
pub fn hmac_hex(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    hmac(context, args).map(as_hex)
}

/// `pbkdf2(name, password, salt, rounds, length)`: a key of `length` bytes (RFC 8018, section 5.2). There are many
/// rounds by design, so the deadline is checked between them.
pub fn pbkdf2(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let password = arg(args, 1).bytes()?;
    let salt = arg(args, 2).bytes()?;
    let rounds = arg(args, 3).int()?;
    let length = arg(args, 4).int()?;
    if rounds < 1 || !(0..=KEY_BYTES_MAX).contains(&length) {
        return Err(raise("ArgumentError", "iterations must be 1 or more, and the length 0 to 1 MiB"));
    }
    with_hash!(arg(args, 0).bytes()?, H => {
        let mac = <Hmac<H>>::new_from_slice(password).map_err(|_| raise("ArgumentError", "a password of no use"))?;
        let mut out = Vec::with_capacity(length as usize);
        let mut block = 0u32;
        while out.len() < length as usize {
            block += 1;
            let mut last = mac.clone().chain_update(salt).chain_update(block.to_be_bytes()).finalize().into_bytes();
            let mut sum = last;
            for round in 1..rounds {
                if round % ROUNDS == 0 {
                    context.tick()?;
                }
                last = mac.clone().chain_update(last).finalize().into_bytes();
                sum.iter_mut().zip(&last).for_each(|(sum, byte)| *sum ^= byte);
            }
            out.extend_from_slice(&sum);
            context.tick()?;
        }
        out.truncate(length as usize);
        Ok(Value::Bytes(out))
    })
}

/// `secure_equal(left, right)`: whether two Strings are equal, in a time that does not depend on where they differ.
pub fn secure_equal(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (arg(args, 0).bytes()?, arg(args, 1).bytes()?);
    let differs = left.iter().zip(right).fold(0, |seen, (left, right)| std::hint::black_box(seen | (left ^ right)));
    Ok(Value::Bool(left.len() == right.len() && differs == 0))
}
