//! The part of the embedded Ruby that is written in Ruby. The first interpreter compiles it and all others load that
//! bytecode, which is many times faster and makes `--fresh` affordable. Our libraries are compiled when they are first
//! required; the files of Ruby's own library are compiled by build.rs.

use std::ffi::CStr;
use std::sync::OnceLock;

/// The text as a C string. It ends in NUL.
const fn name(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// A table of names and sources, from groups of files. A group has what all its names begin with and end with, its
/// folder below `ruby/`, and a list of words. For each word the name is beginning, word and end, and the source is the
/// word's file in the folder (`.rb` is added). Rows behind a `+` stand in the table as they are.
macro_rules! files {
    ($($before:literal $behind:literal $folder:literal [$($word:literal)*])* $(+ $($row:expr),*)?) => {
        &[
            $($((
                name(concat!($before, $word, $behind, "\0")),
                include_str!(concat!("../ruby/", $folder, $word, ".rb")),
            ),)*)*
            $($($row,)*)?
        ]
    };
}

/// Files that every interpreter loads, in this order: name and source.
const SOURCES: &[(&CStr, &str)] = files! {
    "foolsgold/" ".rb" "" [
        "core/errors" "io/logio" "core/core" "core/enumerable" "core/sizes" "core/enumerator" "core/fiber"
        "core/convert" "core/numeric" "core/range" "core/search" "core/text" "core/steps" "core/language"
        "regexp/regexp" "regexp/substitute" "regexp/strscan" "core/missing" "core/kernel" "core/process" "core/mutex"
        "load/require" "load/loading" "io/folders" "io/file" "io/ioconstants" "io/positioned" "io/reading" "io/input"
        "io/stringio" "core/securerandom" "core/random" "rack/context" "rack/store" "io/stream" "rack/environment"
        "rack/urlmap" "rack/builder" "core/callers" "core/reflect" "core/names" "core/values" "rack/start"
    ]
};

/// Libraries that are loaded by `require`, or when one of their constants is first used: name and source.
const LIBRARIES: &[(&CStr, &str)] = files! {
    "" "" "library/" [
        "bundler" "fileutils" "json" "uri" "time" "date" "etc" "erb" "cgi" "pathname.so" "bigdecimal" "bigdecimal/util"
        "psych.so" "digest" "openssl" "zlib" "tempfile" "prime" "ipaddr" "logger" "monitor" "rbconfig" "net/http"
        "redis" "sqlite3" "timeout"
    ]
    "foolsgold/" "" "library/core/" [
        "encoding" "dir" "lazy" "files" "objectspace" "queue" "rubygems" "stat" "thread" "struct" "data" "time" "late"
        "rational" "complex" "did_you_mean" "marshal"
    ]
    "foolsgold/" "" "library/" [
        "gems" "uri/rfc3986_parser" "uri/rfc2396_parser" "uri/generic" "uri/schemes" "date/forms" "datetime"
        "cgi/cookie" "openssl/cipher" "zlib/inflate" "zlib/gzip" "zlib/gunzip"
    ]
    + (c"rack/builder", "Rack::Builder = FoolsGold::Builder\n"), (c"rack/urlmap", "Rack::URLMap = FoolsGold::URLMap\n")
};

/// Bytecode of the files of Ruby's own library, by the name for `require`. Written by build.rs.
const RUBY: &[(&CStr, &[u8])] = include!(concat!(env!("OUT_DIR"), "/cruby.rs"));

/// Number of files in [`SOURCES`] that are loaded before the native functions are defined; all others may call those.
pub const BEFORE_NATIVES: usize = 1;

/// The files of [`SOURCES`] compiled to bytecode for the linked mruby, with file name and lines.
static COMPILED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();

static LIBRARIES_COMPILED: [OnceLock<Vec<u8>>; LIBRARIES.len()] = [const { OnceLock::new() }; LIBRARIES.len()];

/// The bytecode of all files that every interpreter loads. `compile` is called only if no interpreter has done so
/// before.
pub fn compiled<E>(compile: impl Fn(&CStr, &str) -> Result<Vec<u8>, E>) -> Result<&'static [Vec<u8>], E> {
    if let Some(compiled) = COMPILED.get() {
        return Ok(compiled);
    }
    let files: Vec<Vec<u8>> = SOURCES.iter().map(|(name, source)| compile(name, source)).collect::<Result<_, E>>()?;
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
