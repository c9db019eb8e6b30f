//! The part of the embedded Ruby that is written in Ruby. The first interpreter compiles it and all others load that
//! bytecode, which is many times faster and makes `--fresh` affordable. Our libraries are compiled when they are first
//! required; the files of Ruby's own library are compiled by build.rs.

use std::ffi::CStr;
use std::sync::OnceLock;

/// Files that every interpreter loads, in this order: name and source.
const SOURCES: &[(&CStr, &str)] = &[
    (c"foolsgold/errors.rb", include_str!("../ruby/errors.rb")),
    (c"foolsgold/logio.rb", include_str!("../ruby/logio.rb")),
    (c"foolsgold/core.rb", include_str!("../ruby/core.rb")),
    (c"foolsgold/enumerable.rb", include_str!("../ruby/enumerable.rb")),
    (c"foolsgold/ordering.rb", include_str!("../ruby/ordering.rb")),
    (c"foolsgold/slices.rb", include_str!("../ruby/slices.rb")),
    (c"foolsgold/sizes.rb", include_str!("../ruby/sizes.rb")),
    (c"foolsgold/enumerator.rb", include_str!("../ruby/enumerator.rb")),
    (c"foolsgold/convert.rb", include_str!("../ruby/convert.rb")),
    (c"foolsgold/numeric.rb", include_str!("../ruby/numeric.rb")),
    (c"foolsgold/range.rb", include_str!("../ruby/range.rb")),
    (c"foolsgold/search.rb", include_str!("../ruby/search.rb")),
    (c"foolsgold/text.rb", include_str!("../ruby/text.rb")),
    (c"foolsgold/steps.rb", include_str!("../ruby/steps.rb")),
    (c"foolsgold/language.rb", include_str!("../ruby/language.rb")),
    (c"foolsgold/regexp.rb", include_str!("../ruby/regexp.rb")),
    (c"foolsgold/substitute.rb", include_str!("../ruby/substitute.rb")),
    (c"foolsgold/strscan.rb", include_str!("../ruby/strscan.rb")),
    (c"foolsgold/missing.rb", include_str!("../ruby/missing.rb")),
    (c"foolsgold/kernel.rb", include_str!("../ruby/kernel.rb")),
    (c"foolsgold/process.rb", include_str!("../ruby/process.rb")),
    (c"foolsgold/mutex.rb", include_str!("../ruby/mutex.rb")),
    (c"foolsgold/require.rb", include_str!("../ruby/require.rb")),
    (c"foolsgold/loading.rb", include_str!("../ruby/loading.rb")),
    (c"foolsgold/folders.rb", include_str!("../ruby/folders.rb")),
    (c"foolsgold/file.rb", include_str!("../ruby/file.rb")),
    (c"foolsgold/ioconstants.rb", include_str!("../ruby/ioconstants.rb")),
    (c"foolsgold/positioned.rb", include_str!("../ruby/positioned.rb")),
    (c"foolsgold/reading.rb", include_str!("../ruby/reading.rb")),
    (c"foolsgold/input.rb", include_str!("../ruby/input.rb")),
    (c"foolsgold/stringio.rb", include_str!("../ruby/stringio.rb")),
    (c"foolsgold/securerandom.rb", include_str!("../ruby/securerandom.rb")),
    (c"foolsgold/random.rb", include_str!("../ruby/random.rb")),
    (c"foolsgold/context.rb", include_str!("../ruby/context.rb")),
    (c"foolsgold/store.rb", include_str!("../ruby/store.rb")),
    (c"foolsgold/stream.rb", include_str!("../ruby/stream.rb")),
    (c"foolsgold/environment.rb", include_str!("../ruby/environment.rb")),
    (c"foolsgold/urlmap.rb", include_str!("../ruby/urlmap.rb")),
    (c"foolsgold/builder.rb", include_str!("../ruby/builder.rb")),
    (c"foolsgold/callers.rb", include_str!("../ruby/callers.rb")),
    (c"foolsgold/reflect.rb", include_str!("../ruby/reflect.rb")),
    (c"foolsgold/names.rb", include_str!("../ruby/names.rb")),
    (c"foolsgold/values.rb", include_str!("../ruby/values.rb")),
    (c"foolsgold/start.rb", include_str!("../ruby/start.rb")),
];

/// Libraries that are loaded by `require`, or when one of their constants is first used: name and source.
const LIBRARIES: &[(&CStr, &str)] = &[
    (c"bundler", include_str!("../ruby/library/bundler.rb")),
    (c"fileutils", include_str!("../ruby/library/fileutils.rb")),
    (c"foolsgold/encoding", include_str!("../ruby/library/encoding.rb")),
    (c"foolsgold/dir", include_str!("../ruby/library/dir.rb")),
    (c"foolsgold/lazy", include_str!("../ruby/library/lazy.rb")),
    (c"foolsgold/lazy_parts", include_str!("../ruby/library/lazy_parts.rb")),
    (c"foolsgold/files", include_str!("../ruby/library/files.rb")),
    (c"foolsgold/gem_entry", include_str!("../ruby/library/gem_entry.rb")),
    (c"foolsgold/gems", include_str!("../ruby/library/gems.rb")),
    (c"foolsgold/json_state", include_str!("../ruby/library/json_state.rb")),
    (c"foolsgold/objectspace", include_str!("../ruby/library/objectspace.rb")),
    (c"foolsgold/queue", include_str!("../ruby/library/queue.rb")),
    (c"foolsgold/rubygems", include_str!("../ruby/library/rubygems.rb")),
    (c"foolsgold/sqlite3_parts", include_str!("../ruby/library/sqlite3_parts.rb")),
    (c"foolsgold/sqlite3_rows", include_str!("../ruby/library/sqlite3_rows.rb")),
    (c"foolsgold/sqlite3_state", include_str!("../ruby/library/sqlite3_state.rb")),
    (c"foolsgold/sqlite3_statement", include_str!("../ruby/library/sqlite3_statement.rb")),
    (c"foolsgold/stat", include_str!("../ruby/library/stat.rb")),
    (c"foolsgold/thread", include_str!("../ruby/library/thread.rb")),
    (c"foolsgold/struct", include_str!("../ruby/library/struct.rb")),
    (c"foolsgold/data", include_str!("../ruby/library/data.rb")),
    (c"json", include_str!("../ruby/library/json.rb")),
    (c"uri", include_str!("../ruby/library/uri.rb")),
    (c"foolsgold/uri_parser", include_str!("../ruby/library/uri_parser.rb")),
    (c"foolsgold/uri_generic", include_str!("../ruby/library/uri_generic.rb")),
    (c"foolsgold/uri_merge", include_str!("../ruby/library/uri_merge.rb")),
    (c"foolsgold/uri_kinds", include_str!("../ruby/library/uri_kinds.rb")),
    (c"foolsgold/time", include_str!("../ruby/library/time.rb")),
    (c"foolsgold/time_text", include_str!("../ruby/library/time_text.rb")),
    (c"foolsgold/time_new", include_str!("../ruby/library/time_new.rb")),
    (c"time", include_str!("../ruby/library/time_parse.rb")),
    (c"date", include_str!("../ruby/library/date.rb")),
    (c"foolsgold/date_text", include_str!("../ruby/library/date_text.rb")),
    (c"foolsgold/datetime", include_str!("../ruby/library/datetime.rb")),
    (c"erb", include_str!("../ruby/library/erb.rb")),
    (c"cgi", include_str!("../ruby/library/cgi.rb")),
    (c"foolsgold/cgi_cookie", include_str!("../ruby/library/cgi_cookie.rb")),
    (c"pathname.so", include_str!("../ruby/library/pathname_native.rb")),
    (c"bigdecimal", include_str!("../ruby/library/bigdecimal.rb")),
    (c"foolsgold/bigdecimal_text", include_str!("../ruby/library/bigdecimal_text.rb")),
    (c"bigdecimal/util", include_str!("../ruby/library/bigdecimal_util.rb")),
    (c"foolsgold/late", include_str!("../ruby/library/late.rb")),
    (c"foolsgold/rational", include_str!("../ruby/library/rational.rb")),
    (c"foolsgold/complex", include_str!("../ruby/library/complex.rb")),
    (c"psych.so", include_str!("../ruby/library/psych_native.rb")),
    (c"foolsgold/did_you_mean", include_str!("../ruby/library/did_you_mean.rb")),
    (c"foolsgold/marshal", include_str!("../ruby/library/marshal.rb")),
    (c"foolsgold/marshal_objects", include_str!("../ruby/library/marshal_objects.rb")),
    (c"foolsgold/marshal_float", include_str!("../ruby/library/marshal_float.rb")),
    (c"foolsgold/marshal_load", include_str!("../ruby/library/marshal_load.rb")),
    (c"foolsgold/marshal_read", include_str!("../ruby/library/marshal_read.rb")),
    (c"digest", include_str!("../ruby/library/digest.rb")),
    (c"openssl", include_str!("../ruby/library/openssl.rb")),
    (c"foolsgold/cipher", include_str!("../ruby/library/cipher.rb")),
    (c"zlib", include_str!("../ruby/library/zlib.rb")),
    (c"foolsgold/inflate", include_str!("../ruby/library/inflate.rb")),
    (c"foolsgold/gzip", include_str!("../ruby/library/gzip.rb")),
    (c"foolsgold/gunzip", include_str!("../ruby/library/gunzip.rb")),
    (c"tempfile", include_str!("../ruby/library/tempfile.rb")),
    (c"prime", include_str!("../ruby/library/prime.rb")),
    (c"ipaddr", include_str!("../ruby/library/ipaddr.rb")),
    (c"logger", include_str!("../ruby/library/logger.rb")),
    (c"monitor", include_str!("../ruby/library/monitor.rb")),
    (c"rbconfig", include_str!("../ruby/library/rbconfig.rb")),
    (c"net/http", include_str!("../ruby/library/net_http.rb")),
    (c"foolsgold/net_errors", include_str!("../ruby/library/net_errors.rb")),
    (c"foolsgold/net_header", include_str!("../ruby/library/net_header.rb")),
    (c"foolsgold/net_request", include_str!("../ruby/library/net_request.rb")),
    (c"foolsgold/net_response", include_str!("../ruby/library/net_response.rb")),
    (c"redis", include_str!("../ruby/library/redis.rb")),
    (c"foolsgold/redis_collections", include_str!("../ruby/library/redis_collections.rb")),
    (c"foolsgold/redis_commands", include_str!("../ruby/library/redis_commands.rb")),
    (c"foolsgold/redis_errors", include_str!("../ruby/library/redis_errors.rb")),
    (c"foolsgold/redis_pipeline", include_str!("../ruby/library/redis_pipeline.rb")),
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
