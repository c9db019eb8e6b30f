//! The part of the embedded Ruby that is written in Ruby. The first interpreter compiles it and all others load that
//! bytecode, which is many times faster and makes `--fresh` affordable. Our libraries are compiled when they are first
//! required; the files of Ruby's own library are compiled by build.rs.

use std::ffi::CStr;
use std::sync::OnceLock;

/// Files that every interpreter loads, in this order: name and source.
const SOURCES: &[(&CStr, &str)] = &[
    (c"foolsgold/core/errors.rb", include_str!("../ruby/core/errors.rb")),
    (c"foolsgold/io/logio.rb", include_str!("../ruby/io/logio.rb")),
    (c"foolsgold/core/core.rb", include_str!("../ruby/core/core.rb")),
    (c"foolsgold/core/enumerable.rb", include_str!("../ruby/core/enumerable.rb")),
    (c"foolsgold/core/sizes.rb", include_str!("../ruby/core/sizes.rb")),
    (c"foolsgold/core/enumerator.rb", include_str!("../ruby/core/enumerator.rb")),
    (c"foolsgold/core/fiber.rb", include_str!("../ruby/core/fiber.rb")),
    (c"foolsgold/core/convert.rb", include_str!("../ruby/core/convert.rb")),
    (c"foolsgold/core/numeric.rb", include_str!("../ruby/core/numeric.rb")),
    (c"foolsgold/core/range.rb", include_str!("../ruby/core/range.rb")),
    (c"foolsgold/core/search.rb", include_str!("../ruby/core/search.rb")),
    (c"foolsgold/core/text.rb", include_str!("../ruby/core/text.rb")),
    (c"foolsgold/core/steps.rb", include_str!("../ruby/core/steps.rb")),
    (c"foolsgold/core/language.rb", include_str!("../ruby/core/language.rb")),
    (c"foolsgold/regexp/regexp.rb", include_str!("../ruby/regexp/regexp.rb")),
    (c"foolsgold/regexp/substitute.rb", include_str!("../ruby/regexp/substitute.rb")),
    (c"foolsgold/regexp/strscan.rb", include_str!("../ruby/regexp/strscan.rb")),
    (c"foolsgold/core/missing.rb", include_str!("../ruby/core/missing.rb")),
    (c"foolsgold/core/kernel.rb", include_str!("../ruby/core/kernel.rb")),
    (c"foolsgold/core/process.rb", include_str!("../ruby/core/process.rb")),
    (c"foolsgold/core/mutex.rb", include_str!("../ruby/core/mutex.rb")),
    (c"foolsgold/load/require.rb", include_str!("../ruby/load/require.rb")),
    (c"foolsgold/load/loading.rb", include_str!("../ruby/load/loading.rb")),
    (c"foolsgold/io/folders.rb", include_str!("../ruby/io/folders.rb")),
    (c"foolsgold/io/file.rb", include_str!("../ruby/io/file.rb")),
    (c"foolsgold/io/ioconstants.rb", include_str!("../ruby/io/ioconstants.rb")),
    (c"foolsgold/io/positioned.rb", include_str!("../ruby/io/positioned.rb")),
    (c"foolsgold/io/reading.rb", include_str!("../ruby/io/reading.rb")),
    (c"foolsgold/io/input.rb", include_str!("../ruby/io/input.rb")),
    (c"foolsgold/io/stringio.rb", include_str!("../ruby/io/stringio.rb")),
    (c"foolsgold/core/securerandom.rb", include_str!("../ruby/core/securerandom.rb")),
    (c"foolsgold/core/random.rb", include_str!("../ruby/core/random.rb")),
    (c"foolsgold/rack/context.rb", include_str!("../ruby/rack/context.rb")),
    (c"foolsgold/rack/store.rb", include_str!("../ruby/rack/store.rb")),
    (c"foolsgold/io/stream.rb", include_str!("../ruby/io/stream.rb")),
    (c"foolsgold/rack/environment.rb", include_str!("../ruby/rack/environment.rb")),
    (c"foolsgold/rack/urlmap.rb", include_str!("../ruby/rack/urlmap.rb")),
    (c"foolsgold/rack/builder.rb", include_str!("../ruby/rack/builder.rb")),
    (c"foolsgold/core/callers.rb", include_str!("../ruby/core/callers.rb")),
    (c"foolsgold/core/reflect.rb", include_str!("../ruby/core/reflect.rb")),
    (c"foolsgold/core/names.rb", include_str!("../ruby/core/names.rb")),
    (c"foolsgold/core/values.rb", include_str!("../ruby/core/values.rb")),
    (c"foolsgold/rack/start.rb", include_str!("../ruby/rack/start.rb")),
];

/// Libraries that are loaded by `require`, or when one of their constants is first used: name and source.
const LIBRARIES: &[(&CStr, &str)] = &[
    (c"bundler", include_str!("../ruby/library/bundler.rb")),
    (c"fileutils", include_str!("../ruby/library/fileutils.rb")),
    (c"foolsgold/encoding", include_str!("../ruby/library/core/encoding.rb")),
    (c"foolsgold/dir", include_str!("../ruby/library/core/dir.rb")),
    (c"foolsgold/lazy", include_str!("../ruby/library/core/lazy.rb")),
    (c"foolsgold/files", include_str!("../ruby/library/core/files.rb")),
    (c"foolsgold/gems", include_str!("../ruby/library/gems.rb")),
    (c"foolsgold/objectspace", include_str!("../ruby/library/core/objectspace.rb")),
    (c"foolsgold/queue", include_str!("../ruby/library/core/queue.rb")),
    (c"foolsgold/rubygems", include_str!("../ruby/library/core/rubygems.rb")),
    (c"foolsgold/stat", include_str!("../ruby/library/core/stat.rb")),
    (c"foolsgold/thread", include_str!("../ruby/library/core/thread.rb")),
    (c"foolsgold/struct", include_str!("../ruby/library/core/struct.rb")),
    (c"foolsgold/data", include_str!("../ruby/library/core/data.rb")),
    (c"json", include_str!("../ruby/library/json.rb")),
    (c"uri", include_str!("../ruby/library/uri.rb")),
    (c"foolsgold/uri/rfc3986_parser", include_str!("../ruby/library/uri/rfc3986_parser.rb")),
    (c"foolsgold/uri/rfc2396_parser", include_str!("../ruby/library/uri/rfc2396_parser.rb")),
    (c"foolsgold/uri/generic", include_str!("../ruby/library/uri/generic.rb")),
    (c"foolsgold/uri/schemes", include_str!("../ruby/library/uri/schemes.rb")),
    (c"foolsgold/time", include_str!("../ruby/library/core/time.rb")),
    (c"time", include_str!("../ruby/library/time.rb")),
    (c"date", include_str!("../ruby/library/date.rb")),
    (c"foolsgold/date/forms", include_str!("../ruby/library/date/forms.rb")),
    (c"foolsgold/datetime", include_str!("../ruby/library/datetime.rb")),
    (c"etc", include_str!("../ruby/library/etc.rb")),
    (c"erb", include_str!("../ruby/library/erb.rb")),
    (c"cgi", include_str!("../ruby/library/cgi.rb")),
    (c"foolsgold/cgi/cookie", include_str!("../ruby/library/cgi/cookie.rb")),
    (c"pathname.so", include_str!("../ruby/library/pathname.so.rb")),
    (c"bigdecimal", include_str!("../ruby/library/bigdecimal.rb")),
    (c"bigdecimal/util", include_str!("../ruby/library/bigdecimal/util.rb")),
    (c"foolsgold/late", include_str!("../ruby/library/core/late.rb")),
    (c"foolsgold/rational", include_str!("../ruby/library/core/rational.rb")),
    (c"foolsgold/complex", include_str!("../ruby/library/core/complex.rb")),
    (c"psych.so", include_str!("../ruby/library/psych.so.rb")),
    (c"foolsgold/did_you_mean", include_str!("../ruby/library/core/did_you_mean.rb")),
    (c"foolsgold/marshal", include_str!("../ruby/library/core/marshal.rb")),
    (c"digest", include_str!("../ruby/library/digest.rb")),
    (c"openssl", include_str!("../ruby/library/openssl.rb")),
    (c"foolsgold/openssl/cipher", include_str!("../ruby/library/openssl/cipher.rb")),
    (c"zlib", include_str!("../ruby/library/zlib.rb")),
    (c"foolsgold/zlib/inflate", include_str!("../ruby/library/zlib/inflate.rb")),
    (c"foolsgold/zlib/gzip", include_str!("../ruby/library/zlib/gzip.rb")),
    (c"foolsgold/zlib/gunzip", include_str!("../ruby/library/zlib/gunzip.rb")),
    (c"tempfile", include_str!("../ruby/library/tempfile.rb")),
    (c"prime", include_str!("../ruby/library/prime.rb")),
    (c"ipaddr", include_str!("../ruby/library/ipaddr.rb")),
    (c"logger", include_str!("../ruby/library/logger.rb")),
    (c"monitor", include_str!("../ruby/library/monitor.rb")),
    (c"rbconfig", include_str!("../ruby/library/rbconfig.rb")),
    (c"net/http", include_str!("../ruby/library/net/http.rb")),
    (c"redis", include_str!("../ruby/library/redis.rb")),
    (c"sqlite3", include_str!("../ruby/library/sqlite3.rb")),
    (c"timeout", include_str!("../ruby/library/timeout.rb")),
    (c"rack/builder", "Rack::Builder = FoolsGold::Builder\n"),
    (c"rack/urlmap", "Rack::URLMap = FoolsGold::URLMap\n"),
];

/// Bytecode of the files of Ruby's own library, by the name for `require`. Written by build.rs.
const RUBY: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/cruby.rs"));

/// Number of files in [`SOURCES`] that are loaded before the native functions are defined; all others may call those.
pub const BEFORE_NATIVES: usize = 1;

/// A file of [`SOURCES`] compiled to bytecode for the linked mruby, with file name and lines.
pub struct Compiled {
    /// The bytecode.
    pub code: Vec<u8>,
}

static COMPILED: OnceLock<Vec<Compiled>> = OnceLock::new();

static LIBRARIES_COMPILED: [OnceLock<Vec<u8>>; LIBRARIES.len()] = [const { OnceLock::new() }; LIBRARIES.len()];

/// The bytecode of all files that every interpreter loads. `compile` is called only if no interpreter has done so
/// before.
pub fn compiled<E>(compile: impl Fn(&CStr, &str) -> Result<Vec<u8>, E>) -> Result<&'static [Compiled], E> {
    if let Some(compiled) = COMPILED.get() {
        return Ok(compiled);
    }
    let one = |(name, source): &(&'static CStr, &str)| compile(name, source).map(|code| Compiled { code });
    let files: Vec<Compiled> = SOURCES.iter().map(one).collect::<Result<_, E>>()?;
    // Two interpreters may have compiled at the same time; the results are equal.
    Ok(COMPILED.get_or_init(|| files))
}

/// A library as source or bytecode.
#[derive(Debug, Clone, Copy)]
pub enum Library {
    /// The source of a library that no interpreter has compiled yet.
    Source(&'static str),
    /// The bytecode of a library.
    Compiled(&'static [u8]),
}

fn place(name: &[u8]) -> Option<usize> {
    LIBRARIES.iter().position(|(known, _)| known.to_bytes() == name)
}

/// Whether a file of Ruby's own library has this name, without its suffix.
pub fn is_ruby(name: &[u8]) -> bool {
    RUBY.iter().any(|(known, _)| known.to_bytes() == name)
}

/// The library that `require` finds under a name; None where there is none.
pub fn library(name: &[u8]) -> Option<Library> {
    let Some(at) = place(name) else {
        let (_, code) = RUBY.iter().find(|(known, _)| known.to_bytes() == name)?;
        return Some(Library::Compiled(code));
    };
    let compiled = LIBRARIES_COMPILED.get(at).and_then(OnceLock::get);
    Some(compiled.map_or(Library::Source(LIBRARIES[at].1), |code| Library::Compiled(code)))
}

/// Keeps the bytecode of a library for all interpreters.
pub fn keep_library(name: &[u8], code: &[u8]) {
    if let Some(kept) = place(name).and_then(|at| LIBRARIES_COMPILED.get(at)) {
        kept.get_or_init(|| code.to_vec());
    }
}
