//! Native functions for Zlib: streams that compress and decompress, held for objects of Ruby, and checksums. The
//! headers of gzip are written and read in Ruby (ruby/library/zlib/gzip.rb).

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use ruby_native::{Arg, Context, Life, Outcome, Raise, Tree, Value, arg, raise};

/// Bytes of a stream that compresses, as zlib's documentation says; they count towards the interpreter's memory limit.
const DEFLATE_BYTES: usize = 268 << 10;
/// Bytes of a stream that decompresses.
const INFLATE_BYTES: usize = 48 << 10;
/// Bytes between two checks of the request's deadline.
const CHUNK_BYTES: usize = 256 << 10;

/// The format around the compressed data, which zlib encodes in the number of window bits.
enum Frame {
    Zlib,
    Raw,
    Gzip,
}

fn window(bits: i64) -> Result<(Frame, u8), Raise> {
    let (frame, size) = match bits {
        -15..=-8 => (Frame::Raw, -bits),
        0 => (Frame::Zlib, 15),
        8..=15 => (Frame::Zlib, bits),
        24..=31 => (Frame::Gzip, bits - 16),
        _ => return Err(raise("Zlib::StreamError", "stream error")),
    };
    // A window of 256 bytes is one of 512 to zlib, too.
    Ok((frame, size.max(9) as u8))
}

/// `deflate_new(level, window_bits)`: a handle of a new stream that compresses.
pub fn deflate_new(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let level = match arg(args, 0).int()? {
        -1 => Compression::default(),
        level @ 0..=9 => Compression::new(level as u32),
        _ => return Err(raise("Zlib::StreamError", "stream error")),
    };
    let stream = match window(arg(args, 1).int()?)? {
        (Frame::Zlib, size) => Compress::new_with_window_bits(level, true, size),
        (Frame::Raw, size) => Compress::new_with_window_bits(level, false, size),
        (Frame::Gzip, size) => Compress::new_gzip(level, size),
    };
    Ok(Value::Handle(context.handles.hold(stream, Life::Object), DEFLATE_BYTES))
}

/// `inflate_new(window_bits)`: a handle of a new stream that decompresses.
pub fn inflate_new(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let stream = match window(arg(args, 0).int()?)? {
        (Frame::Zlib, size) => Decompress::new_with_window_bits(true, size),
        (Frame::Raw, size) => Decompress::new_with_window_bits(false, size),
        (Frame::Gzip, size) => Decompress::new_gzip(size),
    };
    Ok(Value::Handle(context.handles.hold(stream, Life::Object), INFLATE_BYTES))
}

fn too_large() -> Raise {
    raise("NoMemoryError", "what came out is larger than the interpreter's memory")
}

/// `deflate(handle, bytes, flush)`: compresses the bytes and returns the output so far. `flush` is one of zlib's
/// constants.
pub fn deflate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = arg(args, 0).handle()?;
    let flush = match arg(args, 2).int()? {
        0 => FlushCompress::None,
        1 => FlushCompress::Partial,
        2 => FlushCompress::Sync,
        3 => FlushCompress::Full,
        _ => FlushCompress::Finish,
    };
    let mut rest = arg(args, 1).bytes()?;
    let mut out = Vec::with_capacity(rest.len() / 4 + 64);
    loop {
        let (part, later) = rest.split_at(rest.len().min(CHUNK_BYTES));
        let last = later.is_empty();
        let stream = context.handles.get::<Compress>(number)?;
        let before = stream.total_in();
        let status = stream
            .compress_vec(part, &mut out, if last { flush } else { FlushCompress::None })
            .map_err(|_| raise("Zlib::StreamError", "stream error"))?;
        let taken = (stream.total_in() - before) as usize;
        rest = &rest[taken..];
        // Where the output has room left, zlib holds nothing back.
        let has_room = out.len() < out.capacity();
        if status == Status::StreamEnd || (rest.is_empty() && has_room && (flush as u8 != FlushCompress::Finish as u8))
        {
            return Ok(Value::Bytes(out));
        }
        if !has_room {
            out.reserve(CHUNK_BYTES.min(out.capacity().max(1024)));
        } else if taken == 0 {
            return Err(raise("Zlib::BufError", "buffer error"));
        }
        if !last {
            context.tick()?;
        }
    }
}

/// `inflate(handle, bytes)`: decompresses the bytes. Returns `[output, number of bytes taken, whether the stream has
/// ended]`.
pub fn inflate(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = arg(args, 0).handle()?;
    let bytes = arg(args, 1).bytes()?;
    let mut taken = 0;
    let mut ended = false;
    let mut out = Vec::with_capacity((bytes.len() * 2).clamp(512, CHUNK_BYTES));
    while !ended {
        let part = &bytes[taken..bytes.len().min(taken + CHUNK_BYTES)];
        let stream = context.handles.get::<Decompress>(number)?;
        let before = stream.total_in();
        let length = out.len();
        let status = stream.decompress_vec(part, &mut out, FlushDecompress::None).map_err(|error| fault(&error))?;
        let used = (stream.total_in() - before) as usize;
        taken += used;
        ended = status == Status::StreamEnd;
        if out.len() > context.memory_bytes {
            return Err(too_large());
        }
        if out.len() == out.capacity() {
            out.reserve(CHUNK_BYTES);
            context.tick()?;
        } else if taken == bytes.len() || (used == 0 && out.len() == length) {
            break;
        }
    }
    let mut tree = Vec::with_capacity(out.len() + 32);
    Tree::Array(vec![Tree::Bytes(out), Tree::Int(taken as i64), Tree::Bool(ended)]).encode(&mut tree);
    Ok(Value::Tree(tree))
}

fn fault(error: &flate2::DecompressError) -> Raise {
    if error.needs_dictionary().is_some() {
        return raise("Zlib::NeedDict", "need dictionary");
    }
    raise("Zlib::DataError", error.message().unwrap_or("invalid data").to_owned())
}

/// `zlib_dictionary(handle, bytes)`: sets the dictionary of a stream and returns its checksum.
pub fn dictionary(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = arg(args, 0).handle()?;
    let bytes = arg(args, 1).bytes()?;
    let wrong = || raise("Zlib::StreamError", "stream error");
    let sum = match context.handles.get::<Compress>(number) {
        Ok(stream) => stream.set_dictionary(bytes).map_err(|_| wrong())?,
        Err(_) => context.handles.get::<Decompress>(number)?.set_dictionary(bytes).map_err(|_| wrong())?,
    };
    Ok(Value::Int(i64::from(sum)))
}

/// `zlib_level(handle, level)`: sets the level of compression for the bytes that follow.
pub fn level(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let level = arg(args, 1).int()?;
    let level = if level == -1 { Compression::default() } else { Compression::new(level.clamp(0, 9) as u32) };
    let stream = context.handles.get::<Compress>(arg(args, 0).handle()?)?;
    stream.set_level(level).map_err(|_| raise("Zlib::BufError", "buffer error"))?;
    Ok(Value::Nil)
}

/// `handle_close(handle)`: drops the value of a handle of any kind.
pub fn close(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.handles.release(arg(args, 0).handle()?);
    Ok(Value::Nil)
}

/// `crc32(bytes, sum)`: continues the CRC-32 `sum` with these bytes.
pub fn crc32(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut hasher = crc32fast::Hasher::new_with_initial(arg(args, 1).int()? as u32);
    hasher.update(arg(args, 0).bytes()?);
    Ok(Value::Int(i64::from(hasher.finalize())))
}

/// `crc32_combine(one, two, length)`: the CRC-32 of two texts behind each other; `length` is that of the second.
pub fn crc32_combine(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (one, two) = (arg(args, 0).int()? as u32, arg(args, 1).int()? as u32);
    let length = u64::try_from(arg(args, 2).int()?).unwrap_or(0);
    let mut hasher = crc32fast::Hasher::new_with_initial_len(one, 0);
    hasher.combine(&crc32fast::Hasher::new_with_initial_len(two, length));
    Ok(Value::Int(i64::from(hasher.finalize())))
}

/// `adler32(bytes, sum)`: continues the Adler-32 `sum` with these bytes (RFC 1950, section 8.2).
pub fn adler32(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    const BASE: u32 = 65521;
    // Bytes that can be added before the sums must be reduced below the base again.
    const RUN: usize = 5552;
    let sum = arg(args, 1).int()? as u32;
    let (mut low, mut high) = ((sum & 0xffff) % BASE, (sum >> 16) % BASE);
    for run in arg(args, 0).bytes()?.chunks(RUN) {
        for byte in run {
            low += u32::from(*byte);
            high += low;
        }
        low %= BASE;
        high %= BASE;
    }
    Ok(Value::Int(i64::from(high << 16 | low)))
}
