#![no_main]

#[path = "../subjects.rs"]
mod subjects;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| subjects::checkpoint(bytes));
