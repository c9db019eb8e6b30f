//! The mirror of c/fg.h: types and functions of the border to C, and nothing else.

use std::ffi::{c_char, c_int, c_void};

/// An interpreter, seen only by address.
#[repr(C)]
pub struct FgVm {
    _opaque: [u8; 0],
}

/// Tags of [`FgValue`].
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

/// A value on its way over the border.
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

/// One pair of an environment.
#[repr(C)]
pub struct FgPair {
    pub key: u32,
    pub name: *const c_char,
    pub name_length: usize,
    pub bytes: *const c_char,
    pub length: usize,
    pub steady: bool,
}

/// One request.
#[repr(C)]
pub struct FgRequest {
    pub pairs: *const FgPair,
    pub count: usize,
    pub shape: u32,
    pub id: *const c_char,
    pub id_length: usize,
    pub has_input: bool,
}

/// Pairs of which there is no shape.
pub const NO_SHAPE: u32 = u32::MAX;

/// A pair whose key is not in the interpreter's table.
pub const NO_KEY: u32 = u32::MAX;

/// A native function as C wants it described.
#[repr(C)]
pub struct FgNative {
    pub owner: *const c_char,
    pub name: *const c_char,
    pub method: bool,
    pub receiver: bool,
    pub json: bool,
}

/// One search; see c/fg.h.
#[repr(C)]
pub struct FgSearch {
    pub text: *const c_char,
    pub length: usize,
    pub start: usize,
    pub anchored: bool,
    pub kind: u8,
    pub timeout: u64,
}

/// What is known of a text.
pub const TEXT_UNKNOWN: u8 = 0;
pub const TEXT_UTF8: u8 = 1;
pub const TEXT_BYTES: u8 = 2;
/// How a search ended.
pub const NOT_FOUND: c_int = 0;
pub const FOUND: c_int = 1;
pub const TIMEOUT: c_int = 2;
pub const OVERTIME: c_int = 3;
pub const STACK: c_int = 4;
pub const SEARCH_EXPIRED: c_int = 5;

/// Answers to a chunk.
pub const SENT: c_int = 0;
pub const GONE: c_int = 1;
pub const LATE: c_int = 2;
/// What is known of a body.
pub const FRAMED: c_int = 1;
pub const HEAD: c_int = 2;
pub const NO_CONTENT: c_int = 4;
/// Answers to a tick.
pub const GO_ON: c_int = 0;
pub const STOP: c_int = 1;
pub const EXPIRED: c_int = 2;
/// How a call or a load ended.
pub const DONE: c_int = 0;
pub const RAISED: c_int = 1;
pub const NO_MEMORY: c_int = 2;
pub const STOPPED: c_int = 3;

// SAFETY: these are the very functions that c/fg.h declares, with the same types.
unsafe extern "C" {
    pub fn fg_vm_open(host: *mut c_void, limit: usize) -> *mut FgVm;
    pub fn fg_vm_close(vm: *mut FgVm);
    pub fn fg_vm_alarm(vm: *mut FgVm) -> *mut c_void;
    pub fn fg_alarm_set(address: *mut c_void);
    pub fn fg_vm_calm(vm: *mut FgVm);
    pub fn fg_vm_define(vm: *mut FgVm, natives: *const FgNative, count: usize);
    pub fn fg_vm_load(vm: *mut FgVm, source: *const c_char, length: usize, name: *const c_char) -> c_int;
    pub fn fg_vm_compile(vm: *mut FgVm, source: *const c_char, length: usize, name: *const c_char) -> c_int;
    pub fn fg_vm_run(vm: *mut FgVm, code: *const c_char, length: usize) -> c_int;
    pub fn fg_vm_start(vm: *mut FgVm, rackup: *const c_char, length: usize) -> c_int;
    pub fn fg_vm_key(vm: *mut FgVm, name: *const c_char, length: usize) -> u32;
    pub fn fg_vm_used(vm: *const FgVm) -> usize;
    pub fn fg_vm_hit_limit(vm: *const FgVm) -> bool;
    pub fn fg_vm_shape(vm: *mut FgVm, keys: *const u32, count: usize) -> u32;
    pub fn fg_vm_call(vm: *mut FgVm, request: *const FgRequest) -> c_int;
    pub fn fg_seed(seed: u64);
    pub fn fg_version() -> *const c_char;
    pub fn fg_can_stop() -> c_int;
    pub fn fg_can_rescue() -> c_int;
}
