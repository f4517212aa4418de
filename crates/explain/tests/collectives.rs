//! Accounts of made-up ranks whose collectives wait for each other: all sums hold, whatever was recorded of them.

use explain::{Accounts, Cause, Options, explain_each};
use proptest::prelude::*;
use trace::*;

/// Times of a rank before a collective, ns, and the records of them.
#[derive(Clone, Debug)]
struct Round {
    /// Its thread outside calls.
    computes: Ns,
    kernel: Ns,
    /// A kernel of another stream: how long after the collective's launch, and its length.
    side: Option<(Ns, Ns)>,
    /// Whether another thread launches that.
    by_other: bool,
    /// How much later than the others its collective ends.
    skew: Ns,
    missing: bool,
    waits: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let side = prop::option::of((0..3_000_000i64, 1..1_000_000i64));
    let rarely = || (0..20u8).prop_map(|die| die == 0);
    (0..2_000_000i64, 1..2_000_000i64, side, any::<bool>(), 0..30_000i64, rarely(), any::<bool>()).prop_map(
        |(computes, kernel, side, by_other, skew, missing, waits)| Round {
            computes,
            kernel,
            side,
            by_other,
            skew,
            missing,
            waits,
        },
    )
}

struct Rank {
    threads: [ThreadId; 2],
    streams: [StreamId; 3],
    now: Ns,
    free: Ns,
}

struct Building {
    trace: Trace,
    correlation: i64,
}

impl Building {
    fn rank(&mut self, number: i64) -> Rank {
        let trace = &mut self.trace;
        let process = trace.processes.push(Process { pid: number + 1, ..Process::default() });
        let thread = |tid| Thread { process, tid, ..Thread::default() };
        let threads = [1, 2].map(|tid| trace.threads.push(thread(10 * number + tid)));
        let device = trace.devices.push(Device { ordinal: number, ..Device::default() });
        let context = trace.contexts.push(Context { process, device, number: 1 });
        let streams = [7, 20, 13].map(|number| trace.streams.push(Stream { context, number }));
        Rank { threads, streams, now: 0, free: 0 }
    }

    /// A launch of 5 µs; returns when it returned.
    fn launch(&mut self, thread: ThreadId, at: Ns, op: Option<(&str, StreamId, Ns, Ns)>) -> Ns {
        self.correlation += 1;
        let (correlation, api, end) = (self.correlation, Api::Runtime, at + 5_000);
        let name = self.trace.strings.intern("cudaLaunchKernel");
        self.trace.calls.push(Call { start: at, end, thread, api, name, correlation, ..Call::default() });
        if let Some((name, stream, start, end)) = op {
            let (kind, name) = (OpKind::Kernel, self.trace.strings.intern(name));
            self.trace.ops.push(Op { start, end, kind, name, stream, correlation, ..Op::default() });
        }
        end
    }
}

const NCCL: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

fn trace_of(ranks: usize, rounds: &[Vec<Round>], marked: bool) -> Trace {
    let mut building = Building { trace: Trace::default(), correlation: 0 };
    let mut all: Vec<Rank> = (0..ranks as i64).map(|number| building.rank(number)).collect();
    for rounds in rounds {
        let mut starts = Vec::new();
        for (rank, round) in all.iter_mut().zip(rounds) {
            let from = rank.now;
            rank.now += round.computes;
            if marked && from < rank.now {
                let (kind, thread) = (RangeKind::Operator, rank.threads[0]);
                let name = building.trace.strings.intern("augment");
                let range = Range { start: from, end: rank.now, thread, kind, name, ..Range::default() };
                building.trace.ranges.push(range);
            }
            let start = rank.free.max(rank.now + 8_000);
            rank.free = start + round.kernel;
            let op = ("gemm", rank.streams[0], start, rank.free);
            rank.now = building.launch(rank.threads[0], rank.now, Some(op));
            starts.push(rank.free.max(rank.now + 8_000));
        }
        let end = starts.iter().max().copied().unwrap_or_default() + 100_000;
        for ((rank, round), start) in all.iter_mut().zip(rounds).zip(starts) {
            let end = end + round.skew;
            let op = (NCCL, rank.streams[1], start, end);
            rank.now = building.launch(rank.threads[0], rank.now, (!round.missing).then_some(op));
            if let Some((after, length)) = round.side {
                let (thread, start) = (rank.threads[usize::from(round.by_other)], rank.now + after + 8_000);
                let op = ("side", rank.streams[2], start, start + length);
                let returned = building.launch(thread, rank.now + after, Some(op));
                rank.now = if round.by_other { rank.now } else { returned };
            }
            rank.free = end;
            rank.now = if round.waits { rank.now.max(end) } else { rank.now };
        }
    }
    building.trace.join();
    building.trace
}

fn add_up(accounts: &Accounts) {
    let mut waited = 0;
    for gpu in &accounts.gpus {
        let idle: Ns = gpu.idle.iter().map(|part| part.ns).sum();
        assert_eq!(gpu.busy_ns + idle, gpu.span_ns, "GPU {}", gpu.device);
        assert!((0..=gpu.busy_ns).contains(&gpu.exposed_communication_ns));
        let held: Ns = gpu.held_back.iter().map(|held| held.part.ns).sum();
        assert!(held <= gpu.busy_ns, "GPU {}: {held}", gpu.device);
        let wait = gpu.collective_wait_ns.unwrap_or_default();
        assert!((0..=idle).contains(&wait));
        waited += wait;
    }
    let idle: Ns = accounts.gpus.iter().flat_map(|gpu| &gpu.idle).map(|part| part.ns).sum();
    assert_eq!(accounts.idle.parts.iter().map(|part| part.end - part.start).sum::<Ns>(), idle);
    for pair in accounts.idle.parts.windows(2).filter(|pair| pair[0].device == pair[1].device) {
        assert!(pair[0].end <= pair[1].start);
    }
    let ranks = accounts.ranks.iter().flat_map(|ranks| &ranks.ranks);
    let mut cost = 0;
    for rank in ranks {
        assert_eq!(rank.causes.iter().map(|part| part.ns).sum::<Ns>(), rank.cost_ns);
        assert!(rank.late <= rank.collectives);
        cost += rank.cost_ns;
    }
    assert_eq!(cost, waited);
    for thread in &accounts.threads {
        assert_eq!(thread.parts.iter().map(|part| part.ns).sum::<Ns>(), thread.span_ns);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn accounts_of_ranks_add_up(
        ranks in 2..5usize,
        rounds in prop::collection::vec(prop::collection::vec(round(), 4), 1..12),
        marked in any::<bool>(),
        from in prop::option::of(0..10_000_000i64),
    ) {
        let trace = trace_of(ranks, &rounds, marked);
        let selection = Selection { from, ..Selection::default() };
        let options = Options { selection, ..Options::default() };
        add_up(&explain_each(&trace, &options).0.accounts);
    }
}

#[test]
fn the_chain_goes_from_the_rank_that_waits_to_the_late_one() {
    let round = |computes| Round {
        computes,
        kernel: 500_000,
        side: None,
        by_other: false,
        skew: 0,
        missing: false,
        waits: true,
    };
    let rounds = vec![vec![round(0), round(3_000_000)]; 5];
    let trace = trace_of(2, &rounds, true);
    let accounts = explain_each(&trace, &Options::default()).0.accounts;
    add_up(&accounts);
    let first = trace.devices.ids().next();
    let waits = accounts.idle.parts.iter().filter(|part| Some(part.device) == first);
    let longest = waits.max_by_key(|part| part.end - part.start).expect("it waits");
    let reason = &accounts.idle.reasons[longest.reason as usize];
    assert_eq!((reason.cause, reason.threads.len()), (Cause::HostCode, 2));
    let processes = reason.threads.iter().map(|thread| trace.process_of_thread(*thread).index());
    assert_eq!(processes.collect::<Vec<_>>(), [0, 1]);
    let ranks = accounts.ranks.expect("all kernels are there");
    let late: Vec<_> = ranks.ranks.iter().map(|rank| (rank.late, rank.late_ns)).collect();
    assert_eq!((ranks.collectives, late), (5, vec![(0, 0), (5, 3_000_000)]));
}
