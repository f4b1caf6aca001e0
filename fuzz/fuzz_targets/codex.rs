#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| chat_fuzz::run::run("codex", input));
