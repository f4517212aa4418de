//! Allocating and freeing memory: of the device, in a block that is there and with new blocks, of its pool, and of the host; and
//! page-locking memory in place.

use super::behind::{Call, settle};
use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::{Line, Sample, per_unit};
use workload::{Memory, Workload};

/// Bytes of a block of device memory (`cuMemGetAllocationGranularity` of all GPUs so far).
const BLOCK: u64 = 2 << 20;

/// Bytes of a page of host memory.
const PAGE: u64 = 4096;

/// Bytes of a buffer that shares a block with another one.
const SMALL: u64 = 256 << 10;

/// Blocks of an allocation.
const BLOCKS: [u64; 5] = [1, 4, 16, 64, 128];

/// Pages of host memory.
const PAGES: [u64; 5] = [16, 128, 512, 2_048, 16_384];

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(allocations(), &[of_device, of_host])?;
    if runs.facts.pools {
        runs.read(pool(), &[of_pool])?;
    }
    Ok(())
}

fn allocations() -> (Workload, Vec<Label>) {
    workload("allocations", |process, context| {
        let buffer = |process: &mut workload::Process, name: &str, memory, bytes| {
            process.buffer(format!("{name} {bytes}"), context, memory, bytes)
        };
        let keeper = process.buffer("keeper", context, Memory::Device, SMALL);
        let small = process.buffer("small", context, Memory::Device, SMALL);
        let blocks = BLOCKS.map(|count| (count, buffer(process, "blocks", Memory::Device, count * BLOCK)));
        let pinned = PAGES.map(|count| (count, buffer(process, "pinned", Memory::Pinned, count * PAGE)));
        let pageable =
            PAGES.map(|count| (count, buffer(process, "pageable", Memory::Pageable, count * PAGE)));
        let thread = process.thread("caller", context);
        thread.before().allocate(keeper).allocate(small).free(small);
        for (_, buffer) in pageable {
            thread.before().allocate(buffer);
            thread.after().free(buffer);
        }
        thread.after().free(keeper);
        script(thread, |script| {
            script.rounds("small", 0, 200, |steps| {
                steps.allocate(small).free(small);
            });
            for (count, buffer) in blocks {
                script.rounds("blocks", count, 15, |steps| {
                    steps.allocate(buffer).free(buffer);
                });
            }
            for (count, buffer) in pinned {
                script.rounds("host", count, 9, |steps| {
                    steps.allocate(buffer).free(buffer);
                });
            }
            for (count, buffer) in pageable {
                script.rounds("register", count, 9, |steps| {
                    steps.register(buffer).unregister(buffer);
                });
            }
        })
    })
}

fn pool() -> (Workload, Vec<Label>) {
    workload("pool", |process, context| {
        let s = process.stream("s", context, STREAM);
        let [first, small] =
            ["first", "small"].map(|name| process.buffer(name, context, Memory::Pool, SMALL));
        let thread = process.thread("caller", context);
        thread.before().allocate_on(first, s).free_on(first, s);
        script(thread, |script| {
            script.rounds("pool", 0, 200, |steps| {
                steps.allocate_on(small, s).free_on(small, s);
            });
        })
    })
}

/// Calls for device memory.
const OF_DEVICE: [Call; 2] = [
    ("allocate", "blocks", "cuMemAlloc", |model| &mut model.calls.allocate),
    ("free", "blocks", "cuMemFree", |model| &mut model.calls.free),
];

/// Calls for host memory.
const OF_HOST: [Call; 4] = [
    ("host_allocate", "host", "cuMemHostAlloc", |model| &mut model.calls.host_allocate),
    ("host_free", "host", "cuMemFreeHost", |model| &mut model.calls.host_free),
    ("register", "register", "cuMemHostRegister", |model| &mut model.calls.register),
    ("unregister", "register", "cuMemHostUnregister", |model| &mut model.calls.unregister),
];

/// Allocating and freeing within a block, and what new blocks add.
fn of_device(sections: &Sections<'_>, draft: &mut Draft) {
    let Some(small) = sections.get("small") else { return };
    let mut any = Vec::new();
    for (field, section, name, rule) in OF_DEVICE {
        let Some(whole) = small.sample(name) else { continue };
        settle(draft, field, rule, whole);
        let Some(line) = Line::of(&sections.samples(section, |part| part.took(name))) else { continue };
        rule(&mut draft.model).unit_ns = per_unit(line.per_unit);
        draft.note(&format!("calls.{field}.unit_ns"), "measured: buffers of 1 to 128 blocks of 2 MiB");
        any.push(line.at_zero.round() as i64 - whole.median);
    }
    if let Some(any) = Sample::of(any) {
        let origin = "measured: buffers with blocks of their own, beside those in a block that is there";
        set!(draft, calls.blocks_ns = any.median.max(0), origin);
    }
}

/// Page-locked memory, and memory that is page-locked in place.
fn of_host(sections: &Sections<'_>, draft: &mut Draft) {
    for (field, section, name, rule) in OF_HOST {
        let samples = sections.samples(section, |part| part.took(name));
        let (Some(line), Some((_, sample))) = (Line::of(&samples), samples.first()) else { continue };
        settle(draft, field, rule, Sample { median: line.at_zero.max(0.0).round() as i64, ..*sample });
        rule(&mut draft.model).unit_ns = per_unit(line.per_unit);
        draft.note(&format!("calls.{field}.unit_ns"), "measured: 16 to 16,384 pages");
    }
}

fn of_pool(sections: &Sections<'_>, draft: &mut Draft) {
    let Some(section) = sections.get("pool") else { return };
    let names = ["cuMemAllocAsync", "cuMemFreeAsync"];
    if let Some(sample) = Sample::of(names.iter().flat_map(|name| section.took(name))) {
        draft.divide("pool", |model| &mut model.calls.pool, sample);
    }
}
