//! Declarations of the C functions around mruby, with their types and constants: the Rust twin of c/fg.h, which
//! documents them. A crate that links this one must define the functions fg_host_*, fg_pattern_* and fg_text_*.

#![expect(unsafe_code, reason = "declarations of C functions")]
#![allow(missing_docs, reason = "c/fg.h documents each type and function")]

use std::ffi::{c_char, c_int, c_void};

/// The state of an interpreter in C, of which Rust knows only the address.
#[repr(C)]
pub struct FgVm {
    _opaque: [u8; 0],
}

/// Values of `FgValue::tag`; they say which of the other fields count.
pub mod tag {
    pub const NIL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const STR: u8 = 5;
    pub const SYM: u8 = 6;
    pub const TREE: u8 = 7;
    pub const ERROR: u8 = 8;
    pub const BYTES: u8 = 9;
    pub const HANDLE: u8 = 10;
}

/// A value that crosses the border.
#[repr(C)]
pub struct FgValue {
    pub tag: u8,
    pub integer: i64,
    pub number: f64,
    pub bytes: *const c_char,
    pub length: usize,
    pub klass: *const c_char,
    pub klass_length: usize,
}

/// A pair of a Rack environment.
#[repr(C)]
pub struct FgPair {
    pub key: u32,
    pub name: *const c_char,
    pub name_length: usize,
    pub bytes: *const c_char,
    pub length: usize,
    pub steady: bool,
    pub same: u32,
}

/// A request for fg_vm_call: its environment, and which of its pairs has its id.
#[repr(C)]
pub struct FgRequest {
    pub pairs: *const FgPair,
    pub count: usize,
    pub shape: u32,
    pub id_pair: u32,
}

/// Value of `FgRequest::shape` for keys without a shape.
pub const NO_SHAPE: u32 = u32::MAX;

/// Value of `FgPair::key` for a key that is not in the interpreter's table, and is given by name.
pub const NO_KEY: u32 = u32::MAX;

/// A row of the table of native functions for fg_vm_define.
#[repr(C)]
pub struct FgNative {
    pub owner: *const c_char,
    pub name: *const c_char,
    pub method: bool,
    pub receiver: bool,
    pub json: bool,
}

/// The arguments of fg_pattern_search. `timeout` is in nanoseconds, 0 for none.
#[repr(C)]
pub struct FgSearch {
    pub text: *const c_char,
    pub length: usize,
    pub start: usize,
    pub anchored: bool,
    pub kind: u8,
    pub timeout: u64,
}

/// Kinds of a text: unknown, UTF-8, or bytes.
pub const TEXT_UNKNOWN: u8 = 0;
pub const TEXT_UTF8: u8 = 1;
pub const TEXT_BYTES: u8 = 2;
/// Results of fg_pattern_search.
pub const NOT_FOUND: c_int = 0;
pub const FOUND: c_int = 1;
pub const TIMEOUT: c_int = 2;
pub const OVERTIME: c_int = 3;
pub const STACK: c_int = 4;
pub const SEARCH_EXPIRED: c_int = 5;

/// Results of fg_host_chunk.
pub const SENT: c_int = 0;
pub const GONE: c_int = 1;
pub const LATE: c_int = 2;
/// Flags of fg_host_body.
pub const FRAMED: c_int = 1;
pub const HEAD: c_int = 2;
pub const NO_CONTENT: c_int = 4;
/// Results of fg_host_tick.
pub const GO_ON: c_int = 0;
pub const STOP: c_int = 1;
pub const EXPIRED: c_int = 2;
/// Results of the functions fg_vm_* that run Ruby code.
pub const DONE: c_int = 0;
pub const RAISED: c_int = 1;
pub const NO_MEMORY: c_int = 2;
pub const STOPPED: c_int = 3;

// SAFETY: c/fg.h declares these functions with the same types, and build.rs compiles and links the files that define
// them.
unsafe extern "C" {
    pub fn fg_vm_open(host: *mut c_void, limit: usize) -> *mut FgVm;
    pub fn fg_vm_close(vm: *mut FgVm);
    pub fn fg_vm_deadline_timer(vm: *mut FgVm) -> *mut c_void;
    pub fn fg_deadline_timer_set(address: *mut c_void);
    pub fn fg_vm_reset(vm: *mut FgVm);
    pub fn fg_vm_define(vm: *mut FgVm, natives: *const FgNative, count: usize);
    pub fn fg_vm_compile(vm: *mut FgVm, source: *const c_char, length: usize, name: *const c_char) -> c_int;
    pub fn fg_vm_run(vm: *mut FgVm, code: *const c_char, length: usize) -> c_int;
    pub fn fg_vm_start(vm: *mut FgVm, rackup: *const c_char, length: usize) -> c_int;
    pub fn fg_vm_key(vm: *mut FgVm, name: *const c_char, length: usize) -> u32;
    pub fn fg_vm_used(vm: *const FgVm) -> usize;
    pub fn fg_vm_hit_limit(vm: *const FgVm) -> c_int;
    pub fn fg_vm_shape(vm: *mut FgVm, keys: *const u32, count: usize) -> u32;
    pub fn fg_vm_call(vm: *mut FgVm, request: *const FgRequest) -> c_int;
    pub fn fg_seed(seed: u64);
    pub fn fg_version() -> *const c_char;
    pub fn fg_can_stop() -> c_int;
    pub fn fg_can_rescue() -> c_int;
}
