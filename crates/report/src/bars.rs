//! The accounts of GPUs and threads as bars in words: for outputs that draw them.

use crate::escape::visible;
use crate::groups::{groups, united};
use crate::layout::elide;
use crate::place;
use crate::units;
use explain::{
    AccountPart, Accounts, Cause, Confidence, GpuAccount, HeldBack, StreamAccount, ThreadAccount, WaitPart,
};
use trace::Ns;

/// Longest name of threads and longest place, columns: longer ones are cut in the middle, because each part repeats them.
const NAME: usize = 80;
const PLACE: usize = 160;

/// The account of a GPU, of a thread, of several threads of one name, or of a stream.
#[derive(Clone, Debug)]
pub struct Bar {
    /// `GPU 0`, `thread 8117`, `4 threads worker`
    pub of: String,
    /// Time that it adds up to: `997 ms`; `4.10 s in all` for several threads.
    pub span: String,
    /// Whether it is that of a GPU.
    pub is_gpu: bool,
    /// Number of CUDA calls of its threads.
    pub calls: u64,
    /// The parts; together they are the bar.
    pub parts: Vec<BarPart>,
    /// For a GPU, the parts of its busy time in which it was held back.
    pub held: Vec<BarPart>,
    /// For several threads, the bar of each.
    pub each: Vec<Bar>,
}

/// A part of a bar.
#[derive(Clone, Debug)]
pub struct BarPart {
    /// The cause; `None` for a GPU's busy time, and for idle time whose causes are not known.
    pub cause: Option<Cause>,
    /// `host-code`, `busy`, `idle`
    pub name: &'static str,
    /// Its part of the bar, 0 to 1.
    pub share: f64,
    /// Its time, ns.
    pub ns: Ns,
    /// `36 %`
    pub percent: String,
    /// `361 ms`
    pub time: String,
    /// Where most of it was: `train.py:42 step`, or calls; empty if unknown.
    pub place: String,
    /// Whether it is busy time in which the GPU was held back.
    pub is_held: bool,
    /// The finding that has most of it.
    pub finding: Option<String>,
}

/// A bar for each GPU, then one for each thread or for several threads of one name, those that call CUDA first.
pub fn bars(accounts: &Accounts) -> Vec<Bar> {
    let mut gpus: Vec<&GpuAccount> = accounts.gpus.iter().collect();
    gpus.sort_by_key(|gpu| gpu.device);
    let mut bars: Vec<Bar> = gpus.into_iter().map(|gpu| of_gpu(gpu, accounts)).collect();
    bars.extend(groups(&accounts.threads).into_iter().map(|(name, threads)| of_threads(&name, &threads)));
    bars
}

fn of_gpu(gpu: &GpuAccount, accounts: &Accounts) -> Bar {
    let mut parts = Vec::new();
    let mut add = |part: BarPart, ns: Ns| parts.extend((ns > 0).then_some(part));
    add(part(None, "busy", gpu.busy_ns, gpu.span_ns, String::new()), gpu.busy_ns);
    if accounts.refused.is_some() {
        let idle = gpu.span_ns - gpu.busy_ns;
        add(part(None, "idle", idle, gpu.span_ns, String::new()), idle);
    } else {
        gpu.idle.iter().for_each(|idle| add(of_part(idle, gpu.span_ns), idle.ns));
    }
    Bar {
        of: format!("GPU {}", gpu.device),
        span: units::duration(gpu.span_ns),
        is_gpu: true,
        calls: 0,
        parts,
        held: gpu.held_back.iter().map(|held| of_held(held, gpu.span_ns)).collect(),
        each: Vec::new(),
    }
}

fn of_threads(name: &str, threads: &[&ThreadAccount]) -> Bar {
    let span: Ns = threads.iter().map(|thread| thread.span_ns).sum();
    let name = cut(name, NAME);
    let (of, total) = match threads {
        [only] if name.is_empty() || name == only.tid.to_string() => {
            (format!("thread {}", only.tid), units::duration(span))
        }
        [only] => (format!("{name} ({})", only.tid), units::duration(span)),
        several => {
            let name = if name.is_empty() { "without a name" } else { &name };
            (format!("{} threads {name}", several.len()), format!("{} in all", units::duration(span)))
        }
    };
    let each = match threads {
        [] | [_] => Vec::new(),
        several => several.iter().map(|thread| of_threads(&thread.name, &[thread])).collect(),
    };
    Bar {
        of,
        span: total,
        is_gpu: false,
        held: Vec::new(),
        calls: threads.iter().map(|thread| thread.calls).sum(),
        parts: united(threads).iter().map(|part| of_part(part, span)).collect(),
        each,
    }
}

/// The waits of each stream with operations: the time from ready to start, by cause.
pub fn streams(accounts: &Accounts) -> Vec<Bar> {
    let several = accounts.streams.iter().any(|stream| stream.pid != accounts.streams[0].pid);
    let of = |stream: &StreamAccount| {
        let process = if several { format!(" of {}", stream.pid) } else { String::new() };
        let wait = |wait: &WaitPart| BarPart {
            finding: wait.finding.clone(),
            ..part(Some(wait.cause), wait.cause.id(), wait.ns, stream.waiting_ns, String::new())
        };
        Bar {
            of: format!("GPU {} stream {}{process}", stream.device, stream.stream),
            span: units::duration(stream.waiting_ns),
            is_gpu: false,
            calls: 0,
            held: Vec::new(),
            parts: stream.waiting.iter().filter(|part| part.ns > 0).map(wait).collect(),
            each: Vec::new(),
        }
    };
    accounts.streams.iter().map(of).collect()
}

/// Where most of a part's time passed: `train.py:42 step`, or calls; empty if unknown.
pub fn place(part: &AccountPart) -> String {
    cut(&place::of_part(part), PLACE)
}

/// Stream that waited most, and the stream for which it waited: `stream 14 behind stream 13, possible`.
pub(crate) fn behind(held: &HeldBack) -> String {
    let pair = held.streams.first().map(|pair| match pair.behind {
        Some(behind) => format!("stream {} behind stream {behind}", pair.stream),
        None => format!("stream {}", pair.stream),
    });
    let doubt = (held.part.confidence == Confidence::Possible).then(|| "possible".to_owned());
    pair.into_iter().chain(doubt).collect::<Vec<_>>().join(", ")
}

fn of_part(own: &AccountPart, span: Ns) -> BarPart {
    let finding = own.finding.clone();
    BarPart { finding, ..part(Some(own.cause), own.cause.id(), own.ns, span, place(own)) }
}

fn of_held(held: &HeldBack, span: Ns) -> BarPart {
    let own = &held.part;
    let bar = part(Some(own.cause), own.cause.id(), own.ns, span, behind(held));
    BarPart { is_held: true, finding: own.finding.clone(), ..bar }
}

/// A text with its names escaped, in at most so many columns. It is cut first: a name may be a megabyte.
fn cut(text: &str, columns: usize) -> String {
    elide(&visible(&elide(text, columns)), columns)
}

fn part(cause: Option<Cause>, name: &'static str, ns: Ns, span: Ns, place: String) -> BarPart {
    let share = ns as f64 / span.max(1) as f64;
    let (percent, time) = (units::percent(share), units::duration(ns));
    BarPart { cause, name, share, ns, percent, time, place, is_held: false, finding: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::{Busy, Refusal};

    fn own(cause: Cause, ns: Ns) -> AccountPart {
        AccountPart {
            cause,
            ns,
            places: Vec::new(),
            calls: vec![String::from("cudaLaunchKernel\u{1b}")],
            finding: Some(String::from("H2")),
            spent: Vec::new(),
        }
    }

    fn thread(tid: i64, name: &str, parts: Vec<AccountPart>) -> ThreadAccount {
        let span_ns = parts.iter().map(|part| part.ns).sum();
        ThreadAccount { pid: 1, tid, name: name.to_owned(), span_ns, calls: 1, launches: 0, parts }
    }

    fn accounts() -> Accounts {
        let idle = vec![own(Cause::HostCode, 50), own(Cause::LaunchLatency, 10)];
        let gpu = GpuAccount {
            device: 3,
            name: String::from("H200"),
            span_ns: 100,
            busy_ns: 40,
            busy: Busy { kernels_ns: 40, ..Busy::default() },
            main_copies: None,
            small_kernels: None,
            busy_over_time: Vec::new(),
            exposed_communication_ns: 0,
            main_communication: None,
            collective_wait_ns: Some(0),
            idle,
            held_back: Vec::new(),
        };
        let threads = vec![
            thread(7, "", vec![own(Cause::OwnWork, 10)]),
            thread(8, "worker", vec![own(Cause::Gil, 30), own(Cause::OwnWork, 10)]),
            thread(9, "worker", vec![own(Cause::OwnWork, 60)]),
        ];
        Accounts { gpus: vec![gpu], threads, ..Accounts::default() }
    }

    fn shares(bar: &Bar) -> Vec<(&'static str, &str, &str)> {
        bar.parts.iter().map(|part| (part.name, &*part.percent, &*part.time)).collect()
    }

    #[test]
    fn each_gpu_and_each_name_of_threads_has_a_bar_whose_parts_add_up() {
        let bars = bars(&accounts());
        let names: Vec<_> = bars.iter().map(|bar| (&*bar.of, &*bar.span)).collect();
        assert_eq!(
            names,
            [("GPU 3", "100 ns"), ("thread 7", "10 ns"), ("2 threads worker", "100 ns in all")]
        );
        let gpu =
            [("busy", "40 %", "40 ns"), ("host-code", "50 %", "50 ns"), ("launch-latency", "10 %", "10 ns")];
        assert_eq!(shares(&bars[0]), gpu);
        assert_eq!(shares(&bars[2]), [("own-work", "70 %", "70 ns"), ("gil", "30 %", "30 ns")]);
        let each: Vec<_> = bars[2].each.iter().map(|bar| &*bar.of).collect();
        assert_eq!(each, ["worker (8)", "worker (9)"]);
        assert_eq!(bars[0].parts[1].place, "cudaLaunchKernel\\u{1b}");
    }

    #[test]
    fn a_megabyte_of_name_is_cut() {
        let name = "x\u{202e}".repeat(1 << 19);
        let threads = vec![thread(7, &name, vec![own(Cause::OwnWork, 10)])];
        let bars = bars(&Accounts { threads, ..Accounts::default() });
        assert!(bars[0].of.len() < 200 && bars[0].of.ends_with(" (7)"), "{}", bars[0].of);
    }

    #[test]
    fn idle_time_without_causes_is_one_part() {
        let bars = bars(&Accounts { refused: Some(Refusal::Lost), ..accounts() });
        assert_eq!(shares(&bars[0]), [("busy", "40 %", "40 ns"), ("idle", "60 %", "60 ns")]);
    }
}
