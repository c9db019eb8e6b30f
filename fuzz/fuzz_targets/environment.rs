//! The program of libFuzzer for fuzz_checks::environment, which says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::environment::check(bytes));
