//! The program of libFuzzer for fuzz_checks::request_head, which says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::request_head::check(bytes));
