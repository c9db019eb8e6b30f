//! The program of libFuzzer for fuzz_checks::worker_frames, which says what is checked.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::worker_frames::check(bytes));
