//! Sentences about the sums of a table: facts with numbers, and no more than they prove.

use crate::escape::visible;
use crate::layout::elide;
use crate::units::{count, counted, duration, percent};
use explain::About;
use summary::{Bound, Judgement, Limit, Reading, Sight, Summary, Tool, Verdict};
use trace::Ns;

/// Columns of the longest name in a sentence.
const NAME: usize = 60;

/// The tool that printed a table, for people.
pub(super) fn tool(tool: Tool) -> &'static str {
    match tool {
        Tool::Torch => "PyTorch's profiler",
        Tool::Nvprof => "nvprof",
        Tool::Nsys => "Nsight Systems",
        Tool::Julia => "CUDA.jl's profiler",
    }
}

/// `hidden-sync (possible): calls that look asynchronous wait for the GPU`
pub(super) fn verdict(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::Cause(cause) => {
            let confidence = judgement.readings.first().and_then(|first| first.confidence);
            let confidence = confidence.map_or(String::new(), |confidence| format!(" ({})", confidence.id()));
            format!("{}{confidence}: {}", cause.id(), About::of(cause).brief)
        }
        Verdict::Busy(Bound::Copies) => String::from("nothing to accuse: the host waits because copies run"),
        Verdict::Busy(_) => String::from("nothing to accuse: the host waits because the GPU works"),
        Verdict::CannotTell => String::from("cannot be told from this table"),
    }
}

/// `98 % of the profiled time`
pub(super) fn share(ns: Ns, judgement: &Judgement, summary: &Summary) -> String {
    let of = match (summary.span_ns, summary.tool) {
        (Some(_), _) => "of the profiled time",
        (None, Tool::Torch) => "of the host's time in the table",
        (None, _) if summary.calls.is_empty() => "of the GPU's work",
        (None, _) => "of the calls' time",
    };
    let whole = judgement.whole_ns.max(1);
    format!("{} {of}", percent(ns as f64 / whole as f64))
}

fn name(reading: &Reading) -> String {
    elide(&visible(&reading.name), NAME)
}

/// `60 × cudaMalloc`, or `495 of 2 names, most in cudaEventSynchronize`.
pub(super) fn calls(reading: &Reading) -> String {
    match (reading.names, reading.count) {
        (0, _) => String::new(),
        (1, 0) => name(reading),
        (1, number) => format!("{} × {}", count(number), name(reading)),
        (_, number) => format!("{} of {} names, most in {}", count(number), reading.names, name(reading)),
    }
}

/// Mean of the calls.
fn each(reading: &Reading) -> String {
    duration(reading.time_ns / Ns::try_from(reading.count.max(1)).unwrap_or(Ns::MAX))
}

/// `kernels take 4.94 ms, copies 2.62 µs`; or that the table does not have them.
fn work(reading: &Reading) -> String {
    match (reading.kernels, reading.copies_ns) {
        (Some((_, 0)), Some(0)) => String::from("the GPU did nothing"),
        (Some((_, 0)), Some(copies_ns)) => format!("copies take {}, and no kernel ran", duration(copies_ns)),
        (Some((_, kernels_ns)), Some(0)) => format!("kernels take {}", duration(kernels_ns)),
        (Some((_, kernels_ns)), Some(copies_ns)) => {
            format!("kernels take {} and copies {}", duration(kernels_ns), duration(copies_ns))
        }
        _ => String::from("the table has no work of the GPU"),
    }
}

/// The mean of the kernels: `kernels of 95.1 µs`.
fn kernels(reading: &Reading) -> String {
    match reading.kernels {
        Some((number, ns)) if number > 0 => {
            let mean = ns / Ns::try_from(number).unwrap_or(Ns::MAX);
            format!("{} of {} take {}", counted(number, "kernel", "kernels"), duration(mean), duration(ns))
        }
        _ => work(reading),
    }
}

/// Facts that a reading rests on, in one sentence.
pub(super) fn seen(reading: &Reading) -> String {
    let longest = reading.max_ns.map_or(String::new(), |ns| format!(", the longest {}", duration(ns)));
    match reading.sight {
        Sight::CopiesWait => copies_wait(reading),
        Sight::CopiesRun => format!("{}: the calls last as long as their copies", work(reading)),
        Sight::SmallCopies => format!("each takes {}, its usual cost; {}", each(reading), work(reading)),
        Sight::FullQueue => format!(
            "each launch takes {}, more than its usual cost of a few µs; {}: the host is ahead of the GPU",
            each(reading),
            kernels(reading)
        ),
        Sight::BlockedLaunches => format!(
            "each launch takes {}; {}; a queue takes about 1,022 launches, so it was not full",
            each(reading),
            kernels(reading)
        ),
        Sight::Launches => {
            format!("each launch takes {}, its usual cost; {}", each(reading), kernels(reading))
        }
        Sight::FirstCall => String::from("one call takes nearly all of the time of its name"),
        Sight::SetUp => format!("these calls make or load what lasts{longest}"),
        Sight::TearDown => format!("these calls end what lasted for the whole process{longest}"),
        Sight::Waits => match reading.bound {
            Some(_) => format!("{}: the calls wait no longer than the work lasts", work(reading)),
            None => format!("the program asked to wait; {}", work(reading)),
        },
        Sight::Polls => format!("the host asks again and again whether the GPU is done; {}", work(reading)),
        Sight::Alike => format!(
            "{}: a wait for the GPU and a cost of the call itself look alike{}",
            work(reading),
            one_of(reading)
        ),
        Sight::Unlike => {
            format!("{}: that is no wait for the GPU which these sums show{}", work(reading), one_of(reading))
        }
        Sight::Memory => format!("each takes {}{longest}", each(reading)),
        Sight::FreesWait => format!("{}: a call that frees memory waits for the device", work(reading)),
        Sight::ReadBack => {
            format!("each takes {}: a number goes to the host; {}", each(reading), work(reading))
        }
        Sight::Loader => format!("the thread is in the data loader for {} per batch", each(reading)),
        Sight::HostWork => format!("the host's own time in operators and ranges; {}", work(reading)),
        Sight::Overhead => String::from("the profiler's own record of this time"),
        Sight::Collectives => {
            String::from("communication and the wait for other ranks are one sum in a table")
        }
        Sight::Pages => String::from("pages of unified memory migrate, and faults hold kernels up"),
        Sight::Outside => {
            format!("no call and no work of the GPU is in the table for this time; {}", work(reading))
        }
        Sight::GpuBusy => format!("{}; nothing that the host does would make them shorter", work(reading)),
    }
}

fn copies_wait(reading: &Reading) -> String {
    let together = reading.together_ns.map_or(String::new(), |ns| {
        format!("; calls and work fit into the profiled time only if they were at once for {}", duration(ns))
    });
    let copies = duration(reading.copies_ns.unwrap_or(0));
    let kernels = duration(reading.kernels.map_or(0, |(_, ns)| ns));
    format!("the copies take {copies} on the device, kernels {kernels}: the calls wait for kernels{together}")
}

/// `; one of them takes 886 µs`, where it is most of the time of several.
fn one_of(reading: &Reading) -> String {
    let longest = reading.max_ns.filter(|ns| reading.count > 1 && *ns > reading.time_ns / 2);
    longest.map_or(String::new(), |ns| format!("; one of them takes {}", duration(ns)))
}

/// Facts that a table does not have, in one sentence.
pub(super) fn limits(judgement: &Judgement) -> String {
    let words = judgement.limits.iter().map(|limit| match limit {
        Limit::Order => "when anything was",
        Limit::Threads => "which thread and which stream it was on",
        Limit::Place => "where in the source it is",
        Limit::Span => "how long the program ran (shares are of sums)",
        Limit::Nested => "how often nested operators count twice",
        Limit::Work => "what the GPU did",
        Limit::Calls => "what the host called",
        Limit::Rows => "what the missing rows have",
        Limit::Sleepers => "which threads sleep on purpose in the operating system's sums",
    });
    words.collect::<Vec<_>>().join("; ")
}
