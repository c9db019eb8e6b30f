//! SQL functions on texts (instr, replace, trim) in linear time. SQLite's own take the product of two lengths and
//! cannot be interrupted.

use std::collections::HashSet;
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::slice;

use libsqlite3_sys as ffi;
use memchr::memmem;

type Function = unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

/// Flags of `trim`: the ends that it takes characters from.
const LEFT: usize = 1;
const RIGHT: usize = 2;

/// Defines the functions of this file in a connection, in place of SQLite's own.
pub fn define(db: *mut ffi::sqlite3) {
    let rows: [(&CStr, c_int, Function, usize); 8] = [
        (c"instr", 2, instr, 0),
        (c"replace", 3, replace, 0),
        (c"trim", 1, trim, LEFT | RIGHT),
        (c"trim", 2, trim, LEFT | RIGHT),
        (c"ltrim", 1, trim, LEFT),
        (c"ltrim", 2, trim, LEFT),
        (c"rtrim", 1, trim, RIGHT),
        (c"rtrim", 2, trim, RIGHT),
    ];
    let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
    for (name, arguments, function, data) in rows {
        let data = ptr::without_provenance_mut::<c_void>(data);
        // SAFETY: the connection is open; the functions live for ever and keep nothing.
        unsafe {
            let name = name.as_ptr();
            let function = Some(function);
            ffi::sqlite3_create_function_v2(db, name, arguments, flags, data, function, None, None, None);
        }
    }
}

/// The bytes of an argument, converted to text unless `blob`; None for NULL.
// SAFETY: to be called with the arguments that SQLite passes, while it waits for the function.
unsafe fn argument<'a>(arguments: *mut *mut ffi::sqlite3_value, at: usize, blob: bool) -> Option<&'a [u8]> {
    // SAFETY: SQLite passes as many values as the function was defined with; they live until it returns.
    unsafe {
        let value = *arguments.add(at);
        if ffi::sqlite3_value_type(value) == ffi::SQLITE_NULL {
            return None;
        }
        let start = if blob { ffi::sqlite3_value_blob(value).cast() } else { ffi::sqlite3_value_text(value) };
        let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
        Some(NonNull::new(start.cast_mut()).map_or(&[], |start| slice::from_raw_parts(start.as_ptr(), length)))
    }
}

/// Runs `work` and sets its result as that of the SQL function. A panic must not unwind into C: it becomes "too big".
// SAFETY: to be called with the context that SQLite passes, while it waits for the function.
unsafe fn answer(context: *mut ffi::sqlite3_context, work: impl FnOnce() -> Answer) {
    let answer = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Answer::TooBig);
    // SAFETY: SQLite passes the context of this very call, and copies what it is given.
    unsafe {
        match answer {
            Answer::Null => ffi::sqlite3_result_null(context),
            Answer::Int(number) => ffi::sqlite3_result_int64(context, number),
            Answer::TooBig => ffi::sqlite3_result_error_toobig(context),
            Answer::Text(text) => {
                let start = text.as_ptr().cast();
                let length = text.len() as u64;
                let copied = ffi::SQLITE_TRANSIENT();
                ffi::sqlite3_result_text64(context, start, length, copied, ffi::SQLITE_UTF8 as u8);
            }
        }
    }
}

enum Answer {
    Null,
    Int(i64),
    Text(Vec<u8>),
    TooBig,
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn instr(context: *mut ffi::sqlite3_context, _: c_int, arguments: *mut *mut ffi::sqlite3_value) {
    // SAFETY: both arguments are there, and SQLite's.
    unsafe {
        let kind = |at| ffi::sqlite3_value_type(*arguments.add(at));
        let blobs = kind(0) == ffi::SQLITE_BLOB && kind(1) == ffi::SQLITE_BLOB;
        let both = (argument(arguments, 0, blobs), argument(arguments, 1, blobs));
        answer(context, || match both {
            (Some(text), Some(part)) => match memmem::find(text, part) {
                None => Answer::Int(0),
                Some(at) if blobs => Answer::Int(at as i64 + 1),
                Some(at) => Answer::Int(text[..at].iter().filter(|byte| **byte & 0xc0 != 0x80).count() as i64 + 1),
            },
            _ => Answer::Null,
        });
    }
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn replace(context: *mut ffi::sqlite3_context, _: c_int, arguments: *mut *mut ffi::sqlite3_value) {
    // SAFETY: all three arguments are there, and SQLite's.
    unsafe {
        let db = ffi::sqlite3_context_db_handle(context);
        let most = usize::try_from(ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_LENGTH, -1)).unwrap_or(0);
        let all = (argument(arguments, 0, false), argument(arguments, 1, false), argument(arguments, 2, false));
        answer(context, || match all {
            (Some(text), Some([]), Some(_)) => Answer::Text(text.to_vec()),
            (Some(text), Some(part), Some(with)) => {
                let mut out = Vec::new();
                let mut rest = 0;
                for at in memmem::find_iter(text, part) {
                    out.extend_from_slice(&text[rest..at]);
                    out.extend_from_slice(with);
                    rest = at + part.len();
                    if out.len() > most {
                        return Answer::TooBig;
                    }
                }
                out.extend_from_slice(&text[rest..]);
                Answer::Text(out)
            }
            _ => Answer::Null,
        });
    }
}

// SAFETY: only SQLite calls it, as its documentation says.
unsafe extern "C" fn trim(context: *mut ffi::sqlite3_context, count: c_int, arguments: *mut *mut ffi::sqlite3_value) {
    // SAFETY: the arguments are there, and SQLite's.
    unsafe {
        let ends = ffi::sqlite3_user_data(context).addr();
        let given = if count == 2 { argument(arguments, 1, false) } else { Some(b" ".as_slice()) };
        let both = (argument(arguments, 0, false), given);
        answer(context, || match both {
            (Some(text), Some(letters)) => Answer::Text(trimmed(text, letters, ends).to_vec()),
            _ => Answer::Null,
        });
    }
}

fn trimmed<'a>(text: &'a [u8], letters: &[u8], ends: usize) -> &'a [u8] {
    let letters: HashSet<&[u8]> = characters(letters).collect();
    let mut text = text;
    if ends & LEFT != 0 {
        let cut = characters(text).take_while(|letter| letters.contains(letter)).map(<[u8]>::len).sum();
        text = &text[cut..];
    }
    if ends & RIGHT != 0 {
        while let Some(begin) = text.iter().rposition(|byte| byte & 0xc0 != 0x80) {
            if !letters.contains(&text[begin..]) {
                break;
            }
            text = &text[..begin];
        }
    }
    text
}

/// The characters of a text: a byte that begins one, with those that follow it.
fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_first()?;
        let length = 1 + after.iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
        let (letter, more) = rest.split_at(length);
        rest = more;
        Some(letter)
    })
}
