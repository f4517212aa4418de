//! The kernels of the lab's experiments, in the sizes in which they use them: adding, incrementing, matrix products and norms.
//!
//! All but norms and increments are short: several of them are queued behind a kernel that runs until the last one is launched, so that
//! the device alone decides how long they take.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Sections};
use crate::statistics::{Line, mb_s};
use workload::{BufferId, Kernel, Memory, Workload};

/// Kernels behind the one that holds their stream.
const CHAIN: [u64; 3] = [1, 9, 33];

/// Rounds and integers of an addition, and its blocks and threads (`architectures`).
const ADD: (u32, u32) = (3_072, 5_632);
const ADDED: (u32, u32) = (5, 64);

/// Integers of an addition of one round.
const QUADS: u32 = 1 << 20;

/// Rows, inner and columns of a product, and its blocks (`multi-gpu`).
const PRODUCT: (u32, u32, u32) = (320, 320, 640);
const TILES: u32 = 200;

/// Floats and rounds of an increment (`overlap`).
const FLOATS: u32 = 4 << 20;
const ROUNDS: [u32; 3] = [8, 16, 32];

/// Floats of a short norm (`hidden-sync`).
const SHORT: u32 = 1_024;

/// Most floats of a norm (`hidden-sync`), and the part of the device's memory that they may take.
const NORM: u64 = 1 << 28;
const PART: u64 = 8;

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    let floats = NORM.min(runs.facts.memory_bytes / PART / 4).max(1 << 20) as u32;
    let (workload, labels) = kernels(runs, floats);
    let ran = runs.run(&workload)?;
    let sections = Sections::of(&ran.trace, 0, &labels);
    adds(&sections, runs.draft);
    products(&sections, runs.draft);
    increments(&sections, runs.draft);
    norms(&sections, floats, runs.draft);
    Ok(())
}

fn kernels(runs: &Runs<'_>, floats: u32) -> (Workload, Vec<Label>) {
    let hold = Kernel::Delay { cycles: runs.cycles(3 * CHAIN[CHAIN.len() - 1] as i64 * runs.launch_ns()) };
    workload("the lab's kernels", |process, context| {
        let s = process.stream("s", context, STREAM);
        let mut buffer =
            |name: &str, count: u32| process.buffer(name, context, Memory::Device, 4 * u64::from(count));
        let [from, to] = ["from", "to"].map(|name| buffer(name, QUADS.max(FLOATS)));
        let (vector, partial) = (buffer("vector", floats), buffer("partial", BLOCKS));
        let thread = process.thread("caller", context);
        for buffer in [from, to, vector, partial] {
            thread.before().allocate(buffer).fill_on(buffer, 0, s);
            thread.after().free(buffer);
        }
        let norm = |length| Kernel::NormPartial { from: vector, partial, length };
        let chains = [
            ("add", add(from, to, ADD), ADDED),
            ("quads", add(from, to, (1, QUADS)), ADDED),
            product(from, to),
            ("reduction", norm(SHORT), (SHORT / BLOCK, BLOCK)),
        ];
        for (_, kernel, (grid, block)) in &chains {
            thread.before().launch(kernel.clone(), *grid, *block, s).synchronize(s);
        }
        thread.before().launch(hold.clone(), 1, 32, s).synchronize(s);
        script(thread, |script| {
            for (what, kernel, (grid, block)) in chains {
                for links in CHAIN {
                    script.part(what, links, |steps| {
                        steps.repeat(9, |steps| {
                            steps.launch(hold.clone(), 1, 32, s).repeat(links, |steps| {
                                steps.launch(kernel.clone(), grid, block, s);
                            });
                            steps.synchronize(s);
                        });
                    });
                }
            }
            for rounds in ROUNDS {
                let kernel = Kernel::Increment { buffer: from, offset: 0.into(), length: FLOATS, rounds };
                script.rounds("increment", rounds.into(), 7, |steps| {
                    steps.launch(kernel.clone(), FLOATS / BLOCK, BLOCK, s).synchronize(s);
                });
            }
            for length in lengths(floats) {
                let kernel = norm(length);
                script.rounds("norm", 4 * u64::from(length), 9, |steps| {
                    steps.launch(kernel.clone(), BLOCKS, BLOCK, s).synchronize(s);
                });
            }
        })
    })
}

/// Blocks of a norm, and threads of a block.
const BLOCKS: u32 = 1_024;
const BLOCK: u32 = 256;

/// The lengths of norms: all larger than the device's cache, where its memory allows that.
fn lengths(most: u32) -> [u32; 3] {
    [most / 4, most / 2, most]
}

fn add(from: BufferId, to: BufferId, (rounds, length): (u32, u32)) -> Kernel {
    Kernel::AddConstant { from, to, value: 1.into(), length, rounds }
}

fn product(from: BufferId, to: BufferId) -> (&'static str, Kernel, (u32, u32)) {
    let (rows, inner, columns) = PRODUCT;
    ("product", Kernel::MatrixProduct { a: from, b: from, c: to, rows, inner, columns }, (TILES, 1_024))
}

/// Time of each kernel of such chains besides the gap before it and what is part of every kernel, ns.
fn own(what: &str, sections: &Sections<'_>, draft: &Draft) -> Option<f64> {
    let samples = sections.samples(what, |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    let every = draft.model.device.gap_ns + draft.model.kernels.base_ns;
    let own = Line::of(&samples)?.per_unit - every as f64;
    (own > 0.0).then_some(own)
}

/// Time of a thread's four elements, and then of a round.
fn adds(sections: &Sections<'_>, draft: &mut Draft) {
    let cycles = |draft: &Draft, ns: f64| ns * draft.model.device.clock_mhz as f64 / 1000.0;
    let quads_of = |length: u32| f64::from((length / 4).div_ceil(ADDED.0 * ADDED.1));
    if let Some(ns) = own("quads", sections, draft) {
        let quad = (cycles(draft, ns) - draft.model.kernels.add_round_cycles).max(0.0) / quads_of(QUADS);
        set!(
            draft,
            kernels.add_quad_cycles = rounded(quad),
            format!("measured: {QUADS} integers in {ns:.0} ns, less the gap and kernels.base_ns")
        );
    }
    let Some(ns) = own("add", sections, draft) else { return };
    let (rounds, length) = ADD;
    let round =
        (cycles(draft, ns) - draft.model.kernels.add_quad_cycles * quads_of(length)) / f64::from(rounds);
    set!(
        draft,
        kernels.add_round_cycles = rounded(round.max(0.0)),
        format!("measured: {rounds} rounds in {ns:.0} ns, less the gap and kernels.base_ns")
    );
}

fn products(sections: &Sections<'_>, draft: &mut Draft) {
    let (rows, inner, columns) = PRODUCT;
    if let Some(ns) = own("product", sections, draft) {
        let flops = 2.0 * f64::from(rows) * f64::from(inner) * f64::from(columns);
        let origin = format!(
            "measured: {rows} × {inner} by {inner} × {columns} in {ns:.0} ns, less the gap and kernels.base_ns"
        );
        set!(draft, kernels.product_flops_per_ns = rounded(flops / ns), origin);
    }
}

fn increments(sections: &Sections<'_>, draft: &mut Draft) {
    let samples = sections.samples("increment", |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    if let Some(line) = Line::of(&samples).filter(|line| line.per_unit > 0.0) {
        let of_one = rounded(line.per_unit * 1000.0 / f64::from(FLOATS));
        set!(
            draft,
            kernels.increment_round_ps = of_one,
            format!("measured: {FLOATS} floats, 8 to 32 rounds")
        );
    }
}

fn norms(sections: &Sections<'_>, floats: u32, draft: &mut Draft) {
    let samples = sections.samples("norm", |part| part.spans("cuLaunchKernel", "cuStreamSynchronize"));
    if let Some(rate) = Line::of(&samples).and_then(|line| mb_s(line.per_unit)) {
        set!(
            draft,
            kernels.memory_mb_s = rate,
            format!("measured: norms of {} to {floats} floats", floats / 4)
        );
    }
    if let Some(ns) = own("reduction", sections, draft) {
        let memory_ns = 4_000.0 * f64::from(SHORT) / draft.model.kernels.memory_mb_s as f64;
        let origin = format!(
            "measured: a norm of {SHORT} floats in {ns:.0} ns, less the gap, kernels.base_ns and its memory"
        );
        set!(draft, kernels.reduction_ns = (ns - memory_ns).max(0.0).round() as i64, origin);
    }
}

/// To three digits behind the point.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
