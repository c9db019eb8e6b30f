//! The functions of regular expressions that C calls: patterns by their address, searches, and counting characters.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::host::{bytes, with};
use mruby_sys::{self as sys, FgSearch, FgValue, tag};
use ruby_regexp::{self as regexp, How, Pattern, Stop, text};

/// The pattern at an address that [`fg_pattern_new`] returned.
fn at<'a>(pattern: *const Pattern) -> &'a Pattern {
    // SAFETY: C holds the address from fg_pattern_new to fg_pattern_free, and the Arc keeps what is there that long.
    unsafe { &*pattern }
}

fn point(text: &[u8], length: *mut usize) -> *const c_char {
    // SAFETY: C passes the address of a variable of its own.
    unsafe { *length = text.len() };
    text.as_ptr().cast()
}

// SAFETY: declared in c/fg.h with these types, defined only here. regexp.c gives back each address it gets to
// `fg_pattern_free`, once; NULL stands for a source that is refused.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_new(
    host: *mut c_void,
    source: *const c_char,
    length: usize,
    options: u32,
    error: *mut FgValue,
) -> *const Pattern {
    with(host, std::ptr::null(), |host| match regexp::cache::pattern(bytes(source, length), options) {
        Ok(pattern) => Arc::into_raw(pattern),
        Err(message) => {
            // SAFETY: C passes the address of a variable of its own.
            let error = unsafe { &mut *error };
            error.tag = tag::ERROR;
            host.give_text(&message, error);
            std::ptr::null()
        }
    })
}

// SAFETY: declared in c/fg.h with this type, defined only here. `regexp_free` in regexp.c is the finalizer of the one
// object that holds the address, or `make` calls it for an object that never got it.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_free(pattern: *const Pattern) {
    // SAFETY: the address came from Arc::into_raw, and C gives it back once.
    drop(unsafe { Arc::from_raw(pattern) });
}

// SAFETY: declared in c/fg.h with these types, defined only here. regexp.c asks before `fg_pattern_free`, in `make` as
// in the finalizer, so that `at` finds a live pattern.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_bytes(pattern: *const Pattern) -> usize {
    at(pattern).bytes
}

// SAFETY: declared in c/fg.h with these types, defined only here. finder.c passes the pattern of a Regexp that it
// holds.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_groups(pattern: *const Pattern) -> u32 {
    at(pattern).groups
}

// SAFETY: declared in c/fg.h with these types, defined only here. regexp.c passes the pattern of `self` or of a Regexp
// in the interpreter's list of remembered ones, which keeps it alive.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_options(pattern: *const Pattern) -> u32 {
    at(pattern).options
}

// SAFETY: declared in c/fg.h with these types, defined only here. Regexp#__linear? passes the pattern of `self`.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_is_linear(pattern: *const Pattern) -> bool {
    at(pattern).is_linear()
}

// SAFETY: declared in c/fg.h with these types, defined only here. The bytes belong to the pattern, which nothing
// changes, and regexp.c copies or compares them while it holds the Regexp.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_source(pattern: *const Pattern, length: *mut usize) -> *const c_char {
    point(&at(pattern).source, length)
}

// SAFETY: declared in c/fg.h with these types, defined only here. An index behind the last name gives NULL, and the
// bytes of a name are copied by regexp.c while it holds the Regexp.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_name(pattern: *const Pattern, index: usize, length: *mut usize) -> *const c_char {
    at(pattern).names.get(index).map_or(std::ptr::null(), |(name, _)| point(name.as_bytes(), length))
}

// SAFETY: declared in c/fg.h with these types, defined only here. The name's bytes are only compared, and belong to a
// String that the caller in C holds; an index behind the last group gives 0.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_group(pattern: *const Pattern, name: *const c_char, length: usize, index: usize) -> u32 {
    let wanted = bytes(name, length);
    let named = at(pattern).names.iter().find(|(name, _)| name.as_bytes() == wanted);
    named.and_then(|(_, groups)| groups.get(index)).copied().unwrap_or(0)
}

// SAFETY: declared in c/fg.h with these types, defined only here. fg_find holds the text's String and the Regexp, and
// no Ruby code runs in the search that could change either.
#[unsafe(no_mangle)]
extern "C" fn fg_pattern_search(
    host: *mut c_void,
    pattern: *const Pattern,
    search: *const FgSearch,
    slots: *mut usize,
    count: usize,
) -> c_int {
    // SAFETY: C passes a search and room for `count` slots, both of its own.
    let (search, slots) = unsafe { (&*search, std::slice::from_raw_parts_mut(slots, count)) };
    let text = bytes(search.text, search.length);
    with(host, sys::STACK, |host| {
        let until = (search.timeout > 0).then(|| Instant::now() + Duration::from_nanos(search.timeout));
        let mut late = sys::OVERTIME;
        let mut tick = || {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Stop::Timeout);
            }
            match host.tick() {
                sys::GO_ON => return Ok(()),
                sys::EXPIRED => late = sys::SEARCH_EXPIRED,
                _ => late = sys::OVERTIME,
            }
            Err(Stop::Late)
        };
        let how = How { anchored: search.anchored, bytes: kind(search.kind, text) == sys::TEXT_BYTES };
        match at(pattern).search(text, search.start, how, slots, &mut tick) {
            Ok(true) => sys::FOUND,
            Ok(false) => sys::NOT_FOUND,
            Err(Stop::Timeout) => sys::TIMEOUT,
            Err(Stop::Late) => late,
            Err(Stop::Stack) => sys::STACK,
        }
    })
}

fn kind(known: u8, text: &[u8]) -> u8 {
    if known != sys::TEXT_UNKNOWN {
        known
    } else if std::str::from_utf8(text).is_ok() {
        sys::TEXT_UTF8
    } else {
        sys::TEXT_BYTES
    }
}

// SAFETY: declared in c/fg.h with these types, defined only here. finder.c passes the start and length of a String.
#[unsafe(no_mangle)]
extern "C" fn fg_text_kind(text: *const c_char, length: usize) -> u8 {
    kind(sys::TEXT_UNKNOWN, bytes(text, length))
}

// SAFETY: declared in c/fg.h with these types, defined only here. bytes.c passes a `length` that lies within its
// String.
#[unsafe(no_mangle)]
extern "C" fn fg_text_count(text: *const c_char, length: usize) -> usize {
    text::count(bytes(text, length))
}

// SAFETY: declared in c/fg.h with these types, defined only here. bytes.c passes the rest of its String behind a byte
// of it.
#[unsafe(no_mangle)]
extern "C" fn fg_text_offset(text: *const c_char, length: usize, characters: usize) -> usize {
    text::offset(bytes(text, length), characters).unwrap_or(regexp::UNSET)
}

// SAFETY: declared in c/fg.h with these types, defined only here. fg_find_last passes an `at` within its String, and
// only the bytes before it are read.
#[unsafe(no_mangle)]
extern "C" fn fg_text_before(text: *const c_char, at: usize) -> usize {
    text::before(bytes(text, at), at)
}
