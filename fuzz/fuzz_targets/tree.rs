//! The program of libFuzzer for fuzz_checks::tree, which says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::tree::check(bytes));
