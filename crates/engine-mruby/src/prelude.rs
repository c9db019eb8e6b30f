//! The Ruby side of the interpreter. Compiled by the first interpreter that opens; all others load what it compiled,
//! which is many times quicker and what makes `--fresh` bearable.

use std::ffi::CStr;
use std::sync::OnceLock;

/// The Ruby side, in the order in which it is loaded.
const SOURCES: [(&CStr, &str); 28] = [
    (c"foolsgold/errors.rb", include_str!("../ruby/errors.rb")),
    (c"foolsgold/logio.rb", include_str!("../ruby/logio.rb")),
    (c"foolsgold/core.rb", include_str!("../ruby/core.rb")),
    (c"foolsgold/regexp.rb", include_str!("../ruby/regexp.rb")),
    (c"foolsgold/substitute.rb", include_str!("../ruby/substitute.rb")),
    (c"foolsgold/strscan.rb", include_str!("../ruby/strscan.rb")),
    (c"foolsgold/missing.rb", include_str!("../ruby/missing.rb")),
    (c"foolsgold/kernel.rb", include_str!("../ruby/kernel.rb")),
    (c"foolsgold/process.rb", include_str!("../ruby/process.rb")),
    (c"foolsgold/mutex.rb", include_str!("../ruby/mutex.rb")),
    (c"foolsgold/require.rb", include_str!("../ruby/require.rb")),
    (c"foolsgold/file.rb", include_str!("../ruby/file.rb")),
    (c"foolsgold/positioned.rb", include_str!("../ruby/positioned.rb")),
    (c"foolsgold/reading.rb", include_str!("../ruby/reading.rb")),
    (c"foolsgold/input.rb", include_str!("../ruby/input.rb")),
    (c"foolsgold/stringio.rb", include_str!("../ruby/stringio.rb")),
    (c"foolsgold/json.rb", include_str!("../ruby/json.rb")),
    (c"foolsgold/securerandom.rb", include_str!("../ruby/securerandom.rb")),
    (c"foolsgold/time.rb", include_str!("../ruby/time.rb")),
    (c"foolsgold/escape.rb", include_str!("../ruby/escape.rb")),
    (c"foolsgold/uri.rb", include_str!("../ruby/uri.rb")),
    (c"foolsgold/context.rb", include_str!("../ruby/context.rb")),
    (c"foolsgold/store.rb", include_str!("../ruby/store.rb")),
    (c"foolsgold/stream.rb", include_str!("../ruby/stream.rb")),
    (c"foolsgold/environment.rb", include_str!("../ruby/environment.rb")),
    (c"foolsgold/urlmap.rb", include_str!("../ruby/urlmap.rb")),
    (c"foolsgold/builder.rb", include_str!("../ruby/builder.rb")),
    (c"foolsgold/start.rb", include_str!("../ruby/start.rb")),
];

/// Loaded before the native functions are there, which the others need.
pub const BEFORE_NATIVES: usize = 1;

/// One file of it, as bytecode of this very mruby, which knows the file's name and lines.
pub struct Compiled {
    /// The bytecode.
    pub code: Vec<u8>,
}

static COMPILED: OnceLock<Vec<Compiled>> = OnceLock::new();

/// All files, compiled by `compile` if nobody has done so before.
pub fn compiled<E>(compile: impl Fn(&CStr, &str) -> Result<Vec<u8>, E>) -> Result<&'static [Compiled], E> {
    if let Some(compiled) = COMPILED.get() {
        return Ok(compiled);
    }
    let one = |(name, source): &(&'static CStr, &str)| compile(name, source).map(|code| Compiled { code });
    let files: Vec<Compiled> = SOURCES.iter().map(one).collect::<Result<_, E>>()?;
    // Two interpreters may have compiled at the same time; one of the two results is as good as the other.
    Ok(COMPILED.get_or_init(|| files))
}
