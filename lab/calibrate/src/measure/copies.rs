//! Copies by size, direction and memory: what each costs besides its bytes, and what its bytes cost.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Section, Sections};
use crate::statistics::{Line, Sample, mb_s};
use workload::{BufferId, Memory, Number, Steps, StreamId, Thread, Workload};

/// Bytes of copies of page-locked memory.
const PINNED: [u64; 5] = [4 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20];

/// Bytes of copies of pageable memory, all larger than what the driver stages at once.
const PAGEABLE: [u64; 3] = [512 << 10, 4 << 20, 32 << 20];

/// Bytes of pageable memory. Each copy is of other bytes than those before it, so that none is in the caches of the processor that copies
/// for the driver: a program's memory rarely is (H200: 15.9 GB/s out of caches, 8.1 in passes over 64 MiB in either direction).
const PAGEABLE_BYTES: u64 = (FIRST + ROUNDS.0) * PAGEABLE[PAGEABLE.len() - 1];

/// The first bytes that copies of a size take, in that size: those of smaller sizes end before.
const FIRST: u64 = 4;

/// How often a copy of more than 1 MiB runs, and a smaller one.
const ROUNDS: (u64, u64) = (9, 24);

/// Bytes of a copy that the driver stages at once.
const STAGED: u64 = 4 << 10;

/// Bytes of copies within a device and between two.
const WITHIN: [u64; 3] = [1 << 20, 16 << 20, 128 << 20];

/// A direction: its sections of page-locked, pageable and untouched memory, and its call.
struct Way {
    to_device: bool,
    pinned: &'static str,
    pageable: &'static str,
    fresh: &'static str,
    call: &'static str,
}

const WAYS: [Way; 2] = [
    Way {
        to_device: true,
        pinned: "pinned in",
        pageable: "pageable in",
        fresh: "fresh in",
        call: "cuMemcpyHtoDAsync",
    },
    Way {
        to_device: false,
        pinned: "pinned out",
        pageable: "pageable out",
        fresh: "fresh out",
        call: "cuMemcpyDtoHAsync",
    },
];

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(with_host(), &[costs, pinned, pageable])?;
    let (workload, labels) = within();
    let ran = runs.run(&workload)?;
    let line = line_of(&Sections::of(&ran.trace, 0, &labels), "cuMemcpyDtoDAsync");
    if let Some((line, rate)) = line.and_then(|line| Some((line, mb_s(line.per_unit)?))) {
        set!(runs.draft, copies.within_mb_s = rate, "measured: copies of 1 to 128 MiB");
        let latency = (line.at_zero.round() as i64 - way_ns(runs.draft)).max(0);
        set!(runs.draft, copies.latency_ns = latency, "measured: copies within the device, at 0 bytes");
    }
    if runs.facts.count > 1 {
        let (workload, labels) = between();
        let ran = runs.run(&workload)?;
        let sections = Sections::of(&ran.trace, 0, &labels);
        let calls = ["cuMemcpyAsync", "cuMemcpyPeerAsync"];
        let rate = calls.iter().find_map(|call| mb_s(line_of(&sections, call)?.per_unit));
        if let Some(rate) = rate {
            set!(runs.draft, copies.between_mb_s = rate, "measured: copies of 1 to 128 MiB");
        }
    }
    Ok(())
}

/// Time of a copy and the wait for it besides the copy itself: the call up to its effect, the way there and back, the return, ns.
fn way_ns(draft: &Draft) -> i64 {
    let (model, calls) = (&draft.model, &draft.model.calls);
    calls.copy.before_ns
        + calls.copy.held_ns
        + model.device.latency_ns
        + model.device.notice_ns
        + calls.synchronize.after_ns
}

/// How often a copy of that size runs.
fn times(bytes: u64) -> u64 {
    if bytes > 1 << 20 { ROUNDS.0 } else { ROUNDS.1 }
}

/// Which memory copies of the host take.
enum CopyCost {
    /// The same bytes each time.
    Again(BufferId),
    /// Each time the bytes behind those of the copy before.
    Next(BufferId),
    /// A buffer that is new each time.
    New(BufferId),
}

fn with_host() -> (Workload, Vec<Label>) {
    workload("copies", |process, context| {
        let most = PINNED[PINNED.len() - 1];
        let s = process.stream("s", context, STREAM);
        let mut buffer = |memory, bytes| process.buffer(format!("{memory:?}"), context, memory, bytes);
        let device = buffer(Memory::Device, PAGEABLE_BYTES);
        let (pinned, pageable) = (buffer(Memory::Pinned, most), buffer(Memory::Pageable, PAGEABLE_BYTES));
        let fresh = buffer(Memory::Fresh, most);
        let thread = process.thread("caller", context);
        thread.before().allocate(device).allocate(pinned).allocate(pageable);
        for host in [pinned, pageable] {
            // The first copies of a process take longer.
            thread.before().repeat(5, |steps| {
                steps.copy(host, device, STAGED, s).copy(device, host, STAGED, s).synchronize(s);
            });
            thread.after().free(host);
        }
        thread.after().free(device);
        script(thread, |script| {
            for way in &WAYS {
                let ends = |host: BufferId| if way.to_device { (host, device) } else { (device, host) };
                let mut copies = |what, bytes, takes: CopyCost| {
                    let copy = |steps: &mut Steps<'_>, host, offset: Number| {
                        let (from, to) = ends(host);
                        steps.copy_part(from, to, offset, bytes, s).synchronize(s);
                    };
                    script.part(what, bytes, |steps| match takes {
                        CopyCost::Again(host) => {
                            steps.repeat(times(bytes), |steps| copy(steps, host, 0.into()));
                        }
                        CopyCost::Next(host) => {
                            let offset = Number::index(FIRST * bytes, bytes);
                            steps.repeat(times(bytes), |steps| copy(steps, host, offset));
                        }
                        CopyCost::New(host) => {
                            steps.repeat(5, |steps| {
                                steps.allocate(host);
                                copy(steps, host, 0.into());
                                steps.free(host);
                            });
                        }
                    });
                };
                PINNED.iter().for_each(|bytes| copies(way.pinned, *bytes, CopyCost::Again(pinned)));
                PAGEABLE.iter().for_each(|bytes| copies(way.pageable, *bytes, CopyCost::Next(pageable)));
                PAGEABLE.iter().for_each(|bytes| copies(way.fresh, *bytes, CopyCost::New(fresh)));
                if way.to_device {
                    copies("staged", STAGED, CopyCost::Again(pageable));
                }
            }
        })
    })
}

/// Copies of the caller's body from one buffer of a device to another.
fn device_copies(thread: &mut Thread, from: BufferId, to: BufferId, stream: StreamId) -> Vec<Label> {
    script(thread, |script| {
        let most = WITHIN[WITHIN.len() - 1];
        script.part("warm-up", most, |steps| {
            steps.copy(from, to, most, stream).synchronize(stream);
        });
        for bytes in WITHIN {
            script.rounds("copies", bytes, 15, |steps| {
                steps.copy(from, to, bytes, stream).synchronize(stream);
            });
        }
    })
}

fn within() -> (Workload, Vec<Label>) {
    workload("copies within a device", |process, context| {
        let most = WITHIN[WITHIN.len() - 1];
        let s = process.stream("s", context, STREAM);
        let [from, to] = ["from", "to"].map(|name| process.buffer(name, context, Memory::Device, most));
        let thread = process.thread("caller", context);
        thread.before().allocate(from).allocate(to);
        thread.after().free(from).free(to);
        device_copies(thread, from, to, s)
    })
}

/// From the first device to the second. A thread of its own device allocates each buffer.
fn between() -> (Workload, Vec<Label>) {
    let mut workload = Workload::new("copies between devices");
    let [allocated, copied] = ["allocated", "copied"].map(|name| workload.barrier(name, 2));
    let process = workload.process("calibrate");
    let (here, there) = (process.primary(0), process.primary(1));
    let most = WITHIN[WITHIN.len() - 1];
    let s = process.stream("s", here, STREAM);
    let from = process.buffer("from", here, Memory::Device, most);
    let to = process.buffer("to", there, Memory::Device, most);
    let thread = process.thread("caller", here);
    thread.before().allocate(from).meet(allocated);
    thread.after().meet(copied).free(from);
    let labels = device_copies(thread, from, to, s);
    let owner = process.thread("owner", there);
    owner.before().allocate(to).meet(allocated);
    owner.after().meet(copied).free(to);
    (workload, labels)
}

/// The line through copies of several sizes, bytes and ns.
fn line_of(sections: &Sections<'_>, call: &str) -> Option<Line> {
    Line::of(&sections.samples("copies", |part| part.spans(call, "cuStreamSynchronize")))
}

/// The calls themselves: of page-locked memory, and of pageable memory that is staged at once.
fn costs(sections: &Sections<'_>, draft: &mut Draft) {
    let all =
        WAYS.iter().flat_map(|way| sections.sized(way.pinned).flat_map(|(_, part)| part.took(way.call)));
    if let Some(sample) = Sample::of(all) {
        draft.divide("copy", |model| &mut model.calls.copy, sample);
    }
    if let Some(sample) = sections.get("staged").and_then(|part| part.sample(WAYS[0].call)) {
        draft.divide("pageable_copy", |model| &mut model.calls.pageable_copy, sample);
    }
}

/// Rates of page-locked memory, and the time of a copy besides its bytes and the way to the device and back.
fn pinned(sections: &Sections<'_>, draft: &mut Draft) {
    let way_ns = way_ns(draft);
    for way in &WAYS {
        let samples = sections.samples(way.pinned, |part| part.spans(way.call, "cuStreamSynchronize"));
        let Some(line) = Line::of(&samples) else { continue };
        let latency = (line.at_zero.round() as i64 - way_ns).max(0);
        let origin = format!("measured: {} to the device and back", listed(&samples));
        if let Some(rate) = mb_s(line.per_unit) {
            match way.to_device {
                true => set!(draft, copies.to_device.pinned_mb_s = rate, origin.clone()),
                false => set!(draft, copies.to_host.pinned_mb_s = rate, origin.clone()),
            }
        }
        let origin = "measured: what a copy takes besides its bytes, less launch latency and notice";
        match way.to_device {
            true => set!(draft, copies.to_device.latency_ns = Some(latency), origin),
            false => set!(draft, copies.to_host.latency_ns = Some(latency), origin),
        }
    }
}

/// Rates of pageable memory, in use and never touched.
fn pageable(sections: &Sections<'_>, draft: &mut Draft) {
    for way in &WAYS {
        let rate = |what: &str| {
            // These calls wait, on some drivers only for most of the copy.
            let samples =
                sections.samples(what, |part: &Section<'_>| part.spans(way.call, "cuStreamSynchronize"));
            let rate = Line::of(&samples).and_then(|line| mb_s(line.per_unit))?;
            Some((rate, format!("measured: {}", listed(&samples))))
        };
        let (in_use, untouched) = (rate(way.pageable), rate(way.fresh));
        if let Some((rate, origin)) = in_use {
            match way.to_device {
                true => set!(draft, copies.to_device.pageable_mb_s = rate, origin),
                false => set!(draft, copies.to_host.pageable_mb_s = rate, origin),
            }
        }
        if let Some((rate, origin)) = untouched {
            match way.to_device {
                true => set!(draft, copies.to_device.fresh_mb_s = rate, origin),
                false => set!(draft, copies.to_host.fresh_mb_s = rate, origin),
            }
        }
    }
}

/// `4 KiB in 12.3 µs, …, 32 MiB in 610 µs`: the smallest and the largest.
fn listed(samples: &[(u64, Sample)]) -> String {
    let one = |(bytes, sample): &(u64, Sample)| {
        format!(
            "{} KiB in {:.1} µs ± {:.1}",
            bytes >> 10,
            sample.median as f64 / 1e3,
            sample.spread as f64 / 1e3
        )
    };
    let ends = [samples.first(), samples.last()];
    ends.into_iter().flatten().map(one).collect::<Vec<_>>().join(" to ")
}
