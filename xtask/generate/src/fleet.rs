//! Makes up the traces of a distributed program's ranks: `.holdup` files, in which one rank is late for a known reason.
//!
//! Every rank launches kernels and then reduces gradients with all others, in each step. A trace is a function of the options
//! and its rank's number, so that any part of the ranks can be made at any time, anywhere.

mod made;
mod planted;

use crate::random::Random;
use made::{KERNELS, LAUNCH, Made};
use planted::Culprit;
pub(crate) use planted::Plant;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use trace::*;

/// Options of the ranks to make up.
pub(crate) struct Options {
    /// Ranks of the program.
    pub(crate) ranks: i64,
    /// Ranks whose traces are written.
    pub(crate) some: std::ops::Range<i64>,
    /// About how many events a trace has: calls and operations.
    pub(crate) events: usize,
    /// Seed of everything in them.
    pub(crate) seed: u64,
    /// Why the late rank is late.
    pub(crate) plant: Plant,
    /// The late rank.
    pub(crate) late: i64,
    /// How late it is in each step, ns.
    pub(crate) late_ns: Ns,
    /// The rank whose clock jumps by 5 ms in the middle; none if it is no rank.
    pub(crate) jumps: i64,
}

/// Events of a step besides: a range, the collective with its launch, a synchronization.
const OTHERS: usize = 4;

/// Time of a collective from the start of the last rank, ns.
const REDUCES: Ns = 250_000;

/// Time in which all ranks load data, and the most by which ranks differ there, ns.
const LOADS: (Ns, Ns) = (300_000, 40_000);

/// Writes the traces into a folder, and returns what is in them as one JSON object.
pub(crate) fn generate(folder: &Path, options: &Options) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let steps = (options.events / (2 * KERNELS + OTHERS)).max(4);
    for rank in options.some.clone() {
        let trace = rank_trace(options, rank, steps);
        let path = folder.join(format!("rank{rank}.holdup"));
        let mut file = BufWriter::new(File::create(path)?);
        trace::write(&trace, &mut file).map_err(io::Error::other)?;
        file.into_inner()?.sync_all().ok();
    }
    let Options { ranks, late, late_ns, jumps, .. } = options;
    let (cause, place) = (options.plant.cause(), options.plant.place());
    Ok(format!(
        "{{\"ranks\": {ranks}, \"written\": {}, \"steps\": {steps}, \"events\": {}, \"late\": {late}, \"late_ns\": {late_ns}, \
         \"cause\": \"{cause}\", \"place\": \"{place}\", \"jumps\": {jumps}}}\n",
        options.some.end - options.some.start,
        steps * (2 * KERNELS + OTHERS),
    ))
}

/// A rank's clock: by how much it is ahead, ns.
fn ahead(options: &Options, rank: i64) -> Ns {
    Random::new(options.seed ^ 0x5eed ^ (rank as u64) << 20).within(-3_000_000, 3_000_000)
}

/// The trace of a rank.
fn rank_trace(options: &Options, rank: i64, steps: usize) -> Trace {
    let mut made = Made::new(rank, options.ranks, ahead(options, rank));
    let mut random = Random::new(options.seed.wrapping_mul(31).wrapping_add(rank as u64));
    let is_late = rank == options.late && options.plant != Plant::None;
    // All ranks end a step together: when the late one has begun, or the slowest of the others.
    let (mut now, slowest) = (1_000_000, LOADS.0 + LOADS.1);
    for step in 0..steps {
        if rank == options.jumps && step == steps / 2 {
            made.clock += 5_000_000;
        }
        let begun = now;
        let loads = LOADS.0 + random.within(0, LOADS.1);
        made.loads(now, loads);
        now += loads;
        if is_late {
            Culprit { made: &mut made }.add(options.plant, now, options.late_ns);
            now += options.late_ns;
        }
        let issued = made.kernels(now);
        let waited = if options.plant == Plant::None { 0 } else { options.late_ns.max(0) };
        let end = begun + slowest + waited + LAUNCH.0 * KERNELS as Ns + LAUNCH.2 + REDUCES;
        made.reduces(issued, end + random.within(0, 8_000));
        now = end + 60_000;
        made.step(step, begun, now - 2_000);
    }
    made.done(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(plant: Plant, jumps: i64) -> Options {
        let (ranks, seed, late, late_ns) = (4, 7, 2, 3_000_000);
        Options { ranks, some: 0..4, events: 5_000, seed, plant, late, late_ns, jumps }
    }

    /// When a rank's collectives begin and end, ns.
    fn reduced(options: &Options, rank: i64) -> Vec<(Ns, Ns)> {
        let trace = rank_trace(options, rank, 10);
        let ops = trace.ops.ids().map(|op| trace.ops.row(op));
        ops.filter(|op| trace.text(op.name).starts_with("nccl")).map(|op| (op.start, op.end)).collect()
    }

    #[test]
    fn a_trace_is_a_function_of_its_options_and_can_be_read() {
        for plant in [Plant::HostCode, Plant::Gil, Plant::Pageable, Plant::Allocation] {
            let write = || {
                let mut file = io::Cursor::new(Vec::new());
                trace::write(&rank_trace(&options(plant, -1), 2, 10), &mut file).expect("written");
                file.into_inner()
            };
            assert!(write() == write());
            let read = trace::read(write()).expect("a trace that keeps the rules");
            assert_eq!((read.meta.rank, read.meta.world_size), (Some(2), Some(4)));
        }
    }

    #[test]
    fn collectives_end_together_and_one_rank_is_late() {
        for plant in [Plant::None, Plant::Blocked, Plant::Slow] {
            let made = options(plant, -1);
            let [first, late] = [0, 2].map(|rank| reduced(&made, rank));
            let clocks = late[0].1 - first[0].1;
            for (one, other) in first.iter().zip(&late) {
                assert!((other.1 - one.1 - clocks).abs() <= 16_000);
                let waited = (other.0 - one.0 - clocks) - if plant == Plant::None { 0 } else { made.late_ns };
                assert!(waited.abs() <= LOADS.1 + 16_000, "{waited}");
            }
        }
    }

    #[test]
    fn a_clock_jumps_in_the_middle() {
        let [steady, jumping] = [-1, 0].map(|jumps| reduced(&options(Plant::None, jumps), 0));
        let apart: Vec<Ns> = jumping.iter().zip(&steady).map(|(one, other)| one.1 - other.1).collect();
        assert_eq!(apart, [[0; 5], [5_000_000; 5]].concat());
    }
}
