//! The rates of copies between a device and the host, measured by workloads.

use crate::{Error, Options, Rates, Speeds, run};
use workload::{Memory, StreamKind, Workload};

/// Bytes of a copy: enough to make the bus the limit.
const BYTES: u64 = 64 << 20;

/// Number of copies.
const TIMES: u64 = 8;

/// Measures a device's copies of 64 MiB; takes a few seconds. `options` may name the executable.
///
/// # Errors
///
/// As for [`run`]; an interruption is an error, too.
pub fn rates(device: u32, options: &Options) -> Result<Rates, Error> {
    let speeds = |memory| {
        Ok(Speeds {
            to_device: speed(device, memory, &[true], options)?,
            to_host: speed(device, memory, &[false], options)?,
            both: speed(device, memory, &[true, false], options)?,
        })
    };
    Ok(Rates { pinned: speeds(Memory::Pinned)?, pageable: speeds(Memory::Pageable)? })
}

/// The sum of what threads reach, each of which copies one way: to the device, if so.
fn speed(device: u32, memory: Memory, ways: &[bool], options: &Options) -> Result<u64, Error> {
    let ran = run(&copies(device, memory, ways), options)?;
    if let Some(partial) = ran.partial {
        return Err(Error::System { what: "the measurement".to_owned(), reason: partial.to_string() });
    }
    let copied = u128::from(BYTES * TIMES) * 1_000_000_000;
    let speed = |elapsed: u64| (copied / u128::from(elapsed.max(1))) as u64;
    Ok(ran.outcome.threads.iter().map(|thread| speed(thread.elapsed_ns)).sum())
}

fn copies(device: u32, memory: Memory, ways: &[bool]) -> Workload {
    let mut workload = Workload::new("rates");
    let process = workload.process("rates");
    let context = process.primary(device);
    for (to_device, name) in ways.iter().zip(["first", "second"]) {
        let stream = process.stream(name, context, StreamKind::NonBlocking);
        let host = process.buffer(format!("{name} host"), context, memory, BYTES);
        let on_device = process.buffer(format!("{name} device"), context, Memory::Device, BYTES);
        let (from, to) = if *to_device { (host, on_device) } else { (on_device, host) };
        let thread = process.thread(name, context);
        thread.before().allocate(host).allocate(on_device).copy(from, to, BYTES, stream).synchronize(stream);
        thread.body().repeat(TIMES, |steps| {
            steps.copy(from, to, BYTES, stream).synchronize(stream);
        });
        thread.after().free(on_device).free(host);
    }
    workload
}
