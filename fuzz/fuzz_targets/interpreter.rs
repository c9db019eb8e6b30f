//! The program of libFuzzer for fuzz_checks::interpreter, which says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::interpreter::check(bytes));
