//! Any memory as that of another process's Python interpreter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pystack::{Remote, Trail};

/// Words of the made-up memory.
const WORDS: usize = 512;

fuzz_target!(|input: (u8, Vec<(u8, u16, u64)>)| {
    let (release, words) = input;
    let mut memory = vec![0usize; WORDS];
    let base = memory.as_ptr().addr();
    for (word, (kind, at, value)) in memory.iter_mut().zip(words) {
        *word = match kind % 4 {
            0 => value as usize,
            1 => usize::from(at),
            // Most lead into this memory.
            _ => base + 8 * (usize::from(at) % WORDS),
        };
    }
    let versions = [0x030b_07f0, 0x030c_01f0, 0x030d_00f0, 0x030e_00f0];
    memory[0] = u64::from_ne_bytes(*b"xdebugpy") as usize;
    memory[1] = versions[usize::from(release) % versions.len()];
    let symbol = |name: &str| match name {
        "_PyRuntime" => Some(base),
        "Py_Version" => (release % 5 < 4).then_some(base + 8),
        "PyType_Type" => Some(memory[(release % 16) as usize + 2]),
        "PyCode_Type" => Some(base + 8 * 100),
        "PyUnicode_Type" => Some(base + 8 * 110),
        "PyBytes_Type" => Some(base + 8 * 120),
        _ => Some(base + 8 * 130),
    };
    let Ok(remote) = Remote::find(std::process::id() as i32, &symbol) else { return };
    let (mut threads, mut places, mut identities) = (Vec::new(), Vec::new(), Vec::new());
    let mut trail = Trail::new();
    remote.threads(&mut threads);
    for thread in threads.iter().take(8) {
        remote.stack(thread, &mut trail, 100, &mut places);
        assert!(places.len() <= 100);
        remote.identities(&places, &mut identities);
        places.iter().for_each(|place| _ = remote.resolve(*place, &mut |_| {}));
    }
});
