//! Calls that allocate and free memory, and those that happen once in a process.

use super::facts::{ALIKE, Facts, each, reaches};
use crate::judgement::{Reading, Sight};
use crate::model::Row;
use explain::{Cause, Class};
use trace::Ns;

/// The shortest call that can have made a context or loaded code, ns: a context takes 50 ms and more, a module a millisecond.
const MAKES_NS: Ns = 1_000_000;

/// The shortest single allocation of the device's memory that is a first call, ns: others take microseconds to a millisecond.
const ALONE_NS: Ns = 10_000_000;

/// Number of calls that make or end something, from which it is made again and again.
const OFTEN: u64 = 100;

/// The readings of calls that allocate, free and pin memory. `free_ns` of the GPU's time is that of no other wait.
pub(super) fn readings(facts: &Facts<'_>, free_ns: Ns) -> Vec<Reading> {
    let mut readings = Vec::new();
    let is_memory = |row: &&&Row| !ends(&row.name) && !row.name.contains("Unload");
    let rows = facts.calls(|class| matches!(class, Class::Allocate | Class::Release));
    let rows: Vec<&Row> = rows.iter().filter(is_memory).copied().collect();
    let mut rest: Vec<&Row> = Vec::new();
    for row in rows {
        if is_release(row) && row.total_ns >= MAKES_NS && reaches(free_ns, ALIKE, row.total_ns) {
            let waits = facts.of(Sight::FreesWait, [row]);
            readings.push(waits.because(Cause::ImplicitDeviceSync, &["pool-allocator"]));
        } else if let Some(first) = first_memory(facts, row) {
            readings.push(first);
        } else {
            rest.push(row);
        }
    }
    let (pinned, device): (Vec<&Row>, Vec<&Row>) = rest.into_iter().partition(|row| pins(&row.name));
    if !pinned.is_empty() {
        let pinned = facts.of(Sight::Memory, pinned);
        readings.push(pinned.because(Cause::Allocation, &["pinned-kept", "parallel-pinning"]));
    }
    if !device.is_empty() {
        readings.push(facts.of(Sight::Memory, device).because(Cause::Allocation, &["pool-allocator"]));
    }
    readings
}

/// The readings of calls that make, load and end what lasts for the process.
pub(super) fn once(facts: &Facts<'_>) -> Vec<Reading> {
    let rows = facts.calls(|class| matches!(class, Class::Load | Class::Create | Class::Release));
    let (ending, rows): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| ends(&row.name));
    // A function or an address that is looked up again and again costs its usual time.
    let is_lookup =
        |row: &Row| row.count >= OFTEN && row.name.contains("Get") && first_call(facts, row).is_none();
    let making: Vec<&Row> = rows.into_iter().filter(|row| !is_release(row) && !is_lookup(row)).collect();
    let (often, making): (Vec<&Row>, Vec<&Row>) =
        making.into_iter().partition(|row| row.count >= OFTEN && first_call(facts, row).is_none());
    let mut readings = Vec::new();
    if !often.is_empty() {
        readings.push(facts.of(Sight::SetUp, often).because(Cause::ObjectChurn, &["kept-object"]));
    }
    if !making.is_empty() {
        readings.push(facts.of(Sight::SetUp, making).because(Cause::FirstUse, &["eager-loading"]));
    }
    if !ending.is_empty() {
        readings.push(facts.of(Sight::TearDown, ending).because(Cause::StartUp, &[]));
    }
    readings
}

/// A call that took most of the time of all of its name, and many times that of the others.
pub(super) fn first_call(facts: &Facts<'_>, row: &Row) -> Option<Reading> {
    let longest = row.max_ns?;
    let others = each(row.count.saturating_sub(1), row.total_ns - longest);
    let is_first =
        row.count > 1 && longest >= MAKES_NS && reaches(longest, 0.6, row.total_ns) && longest / 10 >= others;
    let reading = || Reading { time_ns: longest, ..facts.of(Sight::FirstCall, [row]) };
    is_first.then(reading)
}

fn first_memory(facts: &Facts<'_>, row: &Row) -> Option<Reading> {
    let is_alone = row.count == 1 && row.total_ns >= ALONE_NS && !pins(&row.name);
    let alone = || is_alone.then(|| facts.of(Sight::FirstCall, [row]));
    let first = first_call(facts, row).or_else(alone)?;
    Some(first.because(Cause::FirstUse, &["eager-loading"]))
}

/// Whether a call pins or unpins memory of the host.
fn pins(call: &str) -> bool {
    let parts = ["HostAlloc", "MallocHost", "AllocHost", "FreeHost", "HostRegister", "HostUnregister"];
    parts.iter().any(|part| call.contains(part))
}

/// Whether a call frees memory of the device.
fn is_release(row: &Row) -> bool {
    explain::classify(&row.name) == Class::Release && !pins(&row.name)
}

/// Whether a call ends a context or unloads code: at the end of the process.
fn ends(call: &str) -> bool {
    ["DeviceReset", "CtxDestroy", "CtxDetach", "PrimaryCtxRelease", "PrimaryCtxReset", "Unload"]
        .iter()
        .any(|part| call.contains(part))
}
