//! `driver-lock`: a call waits for a lock of the driver that another thread holds.
//!
//! `analysis/recorded_waits.rs` finds it in recorded waits, [`inferred`] by timing. The fixes depend on the [`Situation`].

mod inferred;
mod situation;

pub(crate) use inferred::Holders;
pub(crate) use inferred::{contended, held, in_line};
pub(super) use situation::Situation;

use crate::analysis::grounds::Grounds;
use crate::analysis::parts::Fact;
use crate::facts::stretch::Stretch;
use crate::result::sentence::sentence;
use crate::rules::about::{About, Bound, Family, Nature, State, Statement};
use crate::rules::fixes::{EAGER_LOADING, GRAPH, OWN_STREAM, PINNED_KEPT, PINNED_REUSED, POOL_ALLOCATOR};
use crate::rules::forms;
use crate::rules::forms::forms;
use crate::{At, Effect, Evidence, Fix, Piece, Sentence};
use situation::{Contender, Purpose};
use trace::Ns;

/// In seed 000's program 16 threads waited 6.2 s for their first launches; with one launch into each stream before the
/// threads started, none waited (H200).
const WARM_STREAMS: Fix = Fix {
    id: "eager-loading",
    text: "launch once into each stream before the threads start work: only the first launch needs the lock exclusively",
    safety: "always safe: an empty kernel is enough",
    effect: Effect::Unknown,
    at: At::Waiter,
    forms: forms![
        PyTorch: "warm-streams.pytorch.py",
        CuPy: "warm-streams.cupy.py",
        Cuda: "warm-streams.cuda.cu",
    ],
};
const LAUNCH_GRAPH: Fix = Fix {
    id: "graph",
    text: "submit many launches as one CUDA graph: it acquires the lock once for all of them",
    safety: "safe if the work and its addresses repeat from one round to the next",
    effect: Effect::Change("graph"),
    at: At::Launches,
    forms: forms::GRAPH,
};
const MPS: Fix = Fix {
    id: "mps",
    text: "spread the threads over processes under MPS: each process has its own context and lock",
    safety: "safe if the threads share no GPU memory; each context takes memory of its own",
    effect: Effect::Change("process-per-thread,mps"),
    at: At::Waiter,
    forms: forms![
        PyTorch CuPy Python: "processes.py",
        Cuda: "processes.cuda.sh",
    ],
};
/// Seed 004: with ten GPUs in ten threads of one process each kernel takes 0.33 ms instead of 0.09 ms, in ten processes
/// 0.09 ms.
const PROCESS_PER_GPU: Fix = Fix {
    id: "process-per-gpu",
    text: "drive each GPU from its own process: the driver's locks are per process",
    safety: "safe if the threads share no GPU memory; each process has its own contexts and start-up",
    effect: Effect::Change("process-per-gpu"),
    at: At::Waiter,
    forms: forms![
        PyTorch: "process-per-gpu.pytorch.py",
        Cuda: "process-per-gpu.sh",
    ],
};

pub(super) static ABOUT: About = About {
    meaning: "a call waits for a lock of the driver that another thread holds",
    brief: "calls wait for the driver's lock",
    bound: Bound::Driver,
    family: Family::Lock,
    nature: Nature::Lost,
    evidence: &[Evidence::Lock, Evidence::Record, Evidence::Timing],
    fixes: &[
        OWN_STREAM,
        PINNED_REUSED,
        POOL_ALLOCATOR,
        PINNED_KEPT,
        PROCESS_PER_GPU,
        EAGER_LOADING,
        WARM_STREAMS,
        LAUNCH_GRAPH,
        GRAPH,
        MPS,
    ],
    state: State::Rule(state),
};

fn state(grounds: &Grounds<'_>) -> Statement {
    let (why, fixes): (_, &[Fix]) = remedy(Situation::of(grounds));
    Statement {
        because: grounds.recorded().or_else(|| grounds.in_line()).unwrap_or_else(|| by_timing(grounds)),
        why,
        fixes: fixes.to_vec(),
    }
}

/// The mechanism in a situation, and its fixes, the best first.
fn remedy(situation: Situation) -> (&'static str, &'static [Fix]) {
    const HELD_BY_COPY: &str = "a pageable copy holds a lock of the context until it is done";
    const ONE_LOCK: &str = "one lock of the context serves both calls; while one holds it the other waits";
    const ANY_LOCK: &str = "while one thread holds a lock of the driver, others wait for it";
    const NEVER_FREE: &str = "exclusive access waits until no thread holds the lock shared: long, if several threads submit all the time";
    match situation {
        Situation::PageableCopy(Contender::SameStream) => (
            "a pageable copy holds the context's lock for its stream until it is done",
            &[OWN_STREAM, PINNED_REUSED],
        ),
        Situation::PageableCopy(Contender::Allocation) => {
            (HELD_BY_COPY, &[POOL_ALLOCATOR, PINNED_KEPT, PINNED_REUSED])
        }
        Situation::PageableCopy(Contender::Other) => (HELD_BY_COPY, &[PINNED_REUSED]),
        Situation::OtherGpu => (
            "one lock of the driver serves all GPUs of the process; while one thread holds it the others wait",
            &[PROCESS_PER_GPU],
        ),
        Situation::Submission => (
            "each submission acquires a lock of the context for a moment, and the threads queue for it",
            &[LAUNCH_GRAPH, MPS],
        ),
        Situation::Shared(Purpose::FirstLaunch) => (
            "the first launch into a stream needs the lock exclusively, and waits until no thread holds it shared",
            &[WARM_STREAMS, MPS],
        ),
        Situation::Shared(Purpose::Allocation) => (NEVER_FREE, &[POOL_ALLOCATOR, PINNED_KEPT, GRAPH, MPS]),
        Situation::Shared(Purpose::Other) => (NEVER_FREE, &[GRAPH, MPS]),
        Situation::Setup => (ONE_LOCK, &[EAGER_LOADING]),
        Situation::Allocation => (ONE_LOCK, &[POOL_ALLOCATOR, PINNED_KEPT]),
        Situation::Other(Contender::SameStream) => (ONE_LOCK, &[OWN_STREAM]),
        Situation::Other(Contender::Allocation) => (ONE_LOCK, &[POOL_ALLOCATOR, PINNED_KEPT]),
        Situation::Other(Contender::Other) | Situation::NoHolder => (ONE_LOCK, &[]),
        Situation::Unseen => (ANY_LOCK, &[]),
    }
}

/// The evidence of an inferred wait: it coincides with the holder's calls.
fn by_timing(grounds: &Grounds<'_>) -> Sentence {
    let (facts, group) = (grounds.facts, grounds.group);
    if group.holders.is_empty() {
        return sentence![
            "the thread waited in a lock function of the operating system within the call; the trace does not show who \
             held the lock"
        ];
    }
    let mut ends: Vec<Ns> = group.holders.iter().map(|holder| facts.end(*holder)).collect();
    ends.sort_unstable();
    let apart = |stretch: &Stretch| from_nearest(&ends, stretch.end(facts.trace));
    let farthest = group.parts.iter().filter_map(|(_, stretch)| apart(stretch)).max().unwrap_or(0);
    // Rounded up, because the sentence states a maximum.
    let farthest = Piece::Time((farthest + 999) / 1000 * 1000);
    let lies =
        sentence!["each wait lies within the holder's calls and ends with one, at most ", farthest, " apart"];
    match group.facts.contains(&Fact::LockCall) {
        true => lies.then(sentence!["; the operating system's calls show the lock wait itself"]),
        false => lies,
    }
}

/// The distance of a time from the nearest of some sorted times, ns; `None` if there are none.
fn from_nearest(sorted: &[Ns], time: Ns) -> Option<Ns> {
    let (before, after) = sorted.split_at(sorted.partition_point(|other| *other < time));
    let near = before.last().into_iter().chain(after.first());
    near.map(|other| (other - time).abs()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_time_matches_a_full_scan() {
        for chosen in 0..1u32 << 7 {
            let times: Vec<Ns> = (0..7).filter(|time| chosen >> time & 1 == 1).map(|time| time * 3).collect();
            for time in -4..25 {
                let nearest = times.iter().map(|other| (other - time).abs()).min();
                assert_eq!(from_nearest(&times, time), nearest, "{time} among {times:?}");
            }
        }
    }
}
