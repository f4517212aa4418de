//! The accounts of small traces written as text: `tests/accounts/NAME/trace.txt` in, `expected.txt` out, as in `cases.rs`.
//!
//! A case states its roles in its comments, for the idle time of its first GPU, or, if only waiting operations have the cause,
//! for the waits of all streams: `positive: CAUSE` if the cause has a part of it; `control: CAUSE` if it has none; `near miss:
//! CAUSE` if it has less than half. Every cause of accounts needs all three.
//!
//! Then what holds for any traces: those of all cases, and made up ones.

mod random;
mod roles;
mod timeline;

use explain::{
    About, AccountPart, Accounts, Cause, Evidence, Explanation, HeldBack, IdlePart, Options, StreamAccount,
    explain_each,
};
use libtest_mimic::{Arguments, Trial};
use proptest::test_runner::{Config, TestRunner};
use roles::{ROLES, roles};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The causes that only operations have which wait although they are ready.
const OF_STREAMS: [Cause; 5] =
    [Cause::DefaultStream, Cause::ConnectionAliasing, Cause::IssueOrder, Cause::TimeSlicing, Cause::GpuFull];

fn main() {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let cases = cases(&folder("accounts"));
    let mut tests: Vec<_> = cases.iter().cloned().map(case).collect();
    let others = self::cases(&folder("data"));
    tests.push(Trial::test("accounts_of_the_rules_cases_add_up", move || {
        for explanation in others.iter().map(|case| explanation(case)) {
            add_up(&explanation.accounts);
            parts_lead_to_their_findings(&explanation);
        }
        Ok(())
    }));
    tests.push(Trial::test("accounts_of_made_up_traces_add_up", || {
        let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
        let outcome = TestRunner::new(config).run(&random::program(), |program| {
            let trace = random::trace(&program);
            let explanation = explain_each(&trace, &Options::default()).0;
            let first = explanation.findings.first().map(|finding| finding.cause);
            assert_eq!(explain::first_cause(&trace, &Options::default()), first);
            add_up(&explanation.accounts);
            parts_lead_to_their_findings(&explanation);
            a_selection_divides_the_costs(&trace, &explanation);
            Ok(())
        });
        outcome.map_err(|problem| problem.to_string().into())
    }));
    tests.push(Trial::test("who_allocates_again_and_again_is_offered_no_graph", || {
        // The GPU waits for launches of 20 µs in every 100.
        let offers_graph = |frees: &str| {
            let launches = "repeat 100 100 100 A cudaLaunchKernel 0 20 | kernel k 7 22 24";
            let (trace, _) = timeline::parse(&format!("{launches}\n{frees}"));
            let explanation = explain_each(&trace, &Options::default()).0;
            let mut fixes = explanation.findings.iter().flat_map(|finding| &finding.fixes);
            fixes.any(|fix| fix.id == "graph")
        };
        assert!(!offers_graph("repeat 100 100 100 A cudaFree 30 70"), "positive");
        assert!(offers_graph(""), "control");
        assert!(offers_graph("A cudaFree 30 80"), "near miss: half a hundredth of the time");
        Ok(())
    }));
    tests.push(Trial::test("who_copies_in_small_pieces_is_offered_one_copy", || {
        let offers = |bytes: u64, kernels: u32| {
            let copies =
                format!("repeat 200 20 20 A cudaMemcpyAsync 0 4 | copy HtoD pinned>device {bytes} 7 6 8");
            let kernels = format!("repeat {kernels} 20 20 A cudaLaunchKernel 9 13 | kernel k 7 15 16");
            let (trace, _) = timeline::parse(&format!("{copies}\n{kernels}"));
            let explanation = explain_each(&trace, &Options::default()).0;
            let fixes: BTreeSet<&str> =
                explanation.findings.iter().flat_map(|finding| &finding.fixes).map(|fix| fix.id).collect();
            (fixes.contains("batched-copies"), fixes.contains("graph"))
        };
        assert_eq!(offers(1_000, 10), (true, false), "positive");
        assert_eq!(offers(1_000_000, 10), (false, true), "control: larger copies");
        assert_eq!(offers(1_000, 200), (false, true), "near miss: as many kernels");
        Ok(())
    }));
    tests.push(Trial::test("every_cause_has_a_positive_case_a_control_and_a_near_miss", move || {
        every_cause_is_covered(&cases);
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

fn explanation(case: &Path) -> Explanation {
    let text = std::fs::read_to_string(case.join("trace.txt")).unwrap();
    let (trace, selection) = timeline::parse(&text);
    explain_each(&trace, &Options { selection, ..Options::default() }).0
}

fn accounts(case: &Path) -> Accounts {
    explanation(case).accounts
}

fn case(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
    Trial::test(name, move || {
        let explanation = explanation(&folder);
        parts_lead_to_their_findings(&explanation);
        add_up(&explanation.accounts);
        let found = listing(&explanation.accounts) + &sampled(&explanation);
        expect_test::expect_file![folder.join("expected.txt")].assert_eq(&found);
        Ok(())
    })
}

/// Checks that the costs of what is selected, and of what is not, are together no more than what GPUs lost, and that the selection of
/// a thread leaves the accounts as they are.
fn a_selection_divides_the_costs(trace: &trace::Trace, all: &Explanation) {
    let lost = |of: &Explanation| -> Vec<(Cause, i64)> {
        let gpus = of.accounts.gpus.iter();
        gpus.flat_map(|gpu| gpu.idle.iter().map(|part| (part.cause, part.ns))).collect()
    };
    let sum: i64 = lost(all).iter().map(|(_, ns)| ns).sum();
    for thread in ["1", "2"] {
        let selection = trace::Selection { thread: Some(thread.into()), ..Default::default() };
        let options = Options { selection, ..Options::default() };
        let of_thread = explain_each(trace, &options).0;
        let first = of_thread.findings.first().map(|finding| finding.cause);
        assert_eq!(explain::first_cause(trace, &options), first);
        assert_eq!(lost(&of_thread), lost(all));
        let selected: i64 = of_thread.findings.iter().map(|finding| finding.cost_ns).sum();
        let others: i64 = of_thread.unselected.iter().map(|one| one.cost_ns).sum();
        // Where nothing is known of a GPU, costs are host time.
        let is_gpu_time = all.verdict.gpu_busy_share.is_some();
        assert!(!is_gpu_time || selected + others <= sum, "{selected} and {others} of {sum}");
    }
    assert!(all.unselected.is_empty());
}

/// Checks that the parts of each account add up to its time.
fn add_up(accounts: &Accounts) {
    let sum = |parts: &[AccountPart]| parts.iter().map(|part| part.ns).sum::<i64>();
    for gpu in &accounts.gpus {
        assert_eq!(gpu.busy_ns + sum(&gpu.idle), gpu.span_ns, "GPU {}", gpu.device);
    }
    for thread in &accounts.threads {
        assert_eq!(sum(&thread.parts), thread.span_ns, "thread {}", thread.tid);
    }
    for stream in &accounts.streams {
        let parts: i64 = stream.waiting.iter().map(|part| part.ns).sum();
        assert_eq!(parts, stream.waiting_ns, "stream {}", stream.stream);
    }
    for gpu in &accounts.gpus {
        let held: i64 = gpu.held_back.iter().map(|held| held.part.ns).sum();
        assert!(held <= gpu.busy_ns, "GPU {}", gpu.device);
        for held in &gpu.held_back {
            assert!(held.streams.iter().map(|pair| pair.ns).sum::<i64>() <= held.part.ns);
        }
    }
    let parts =
        accounts.gpus.iter().map(|gpu| &gpu.idle).chain(accounts.threads.iter().map(|thread| &thread.parts));
    assert!(parts.flatten().all(|part| part.ns > 0));
    idle_adds_up(accounts);
}

/// Checks that parts lead to findings of their cause, and that a finding which is more than half of a GPU's part is its.
fn parts_lead_to_their_findings(explanation: &Explanation) {
    let Accounts { gpus, threads, streams, .. } = &explanation.accounts;
    let idle = gpus.iter().flat_map(|gpu| &gpu.idle).map(|part| (part.cause, part.ns, &part.finding));
    let waits = gpus.iter().flat_map(|gpu| gpu.held_back.iter().map(|held| &held.part));
    let held = waits.map(|part| (part.cause, part.ns, &part.finding));
    let of_gpus: Vec<_> = idle.chain(held).collect();
    let of_threads = threads.iter().flat_map(|thread| &thread.parts);
    let of_streams = streams.iter().flat_map(|stream| &stream.waiting);
    let others = of_threads.map(|part| (part.cause, &part.finding));
    let others = others.chain(of_streams.map(|part| (part.cause, &part.finding)));
    let all = of_gpus.iter().map(|(cause, _, finding)| (*cause, *finding)).chain(others);
    for (cause, id) in all.filter_map(|(cause, id)| Some((cause, id.as_ref()?))) {
        let finding = explanation.findings.iter().find(|finding| finding.id == *id);
        assert_eq!(finding.map(|finding| finding.cause), Some(cause), "{id}");
    }
    let is_known = explanation.accounts.refused.is_none() && !gpus.is_empty();
    for finding in explanation.findings.iter().filter(|_| is_known) {
        let parts = of_gpus.iter().filter(|(cause, ..)| *cause == finding.cause);
        let all: i64 = parts.clone().map(|(_, ns, _)| ns).sum();
        let leads = parts.clone().any(|(_, _, id)| id.as_ref() == Some(&finding.id));
        assert!(leads || finding.cost_ns * 2 <= all, "{} of {all}", finding.id);
    }
}

/// Checks that the single parts of idle time follow each other and add up to it.
fn idle_adds_up(accounts: &Accounts) {
    let sum: i64 = accounts.gpus.iter().flat_map(|gpu| &gpu.idle).map(|part| part.ns).sum();
    let of_window = accounts.steady.map_or((i64::MIN, i64::MAX), |steady| (steady.start_ns, steady.end_ns));
    let within = |part: &&IdlePart| of_window.0 <= part.start && part.end <= of_window.1;
    let parts = accounts.idle.parts.iter().filter(within).map(|part| part.end - part.start);
    assert_eq!(parts.clone().sum::<i64>(), sum);
    assert!(parts.min().is_none_or(|least| least > 0));
    assert!(accounts.idle.parts.iter().all(|part| (part.reason as usize) < accounts.idle.reasons.len()));
    for pair in accounts.idle.parts.windows(2).filter(|pair| pair[0].device == pair[1].device) {
        assert!(pair[0].end <= pair[1].start, "{pair:?}");
    }
}

/// One line per account and part, times in µs.
fn listing(accounts: &Accounts) -> String {
    let mut out = String::new();
    let parts = |out: &mut String, parts: &[AccountPart]| {
        for part in parts {
            write!(out, "  {} {}", part.cause.id(), part.ns as f64 / 1000.0).unwrap();
            part.calls.iter().for_each(|call| write!(out, " {call}").unwrap());
            for place in &part.places {
                write!(out, " @ {}:{} {}", place.file, place.line, place.function).unwrap();
            }
            out.push('\n');
        }
    };
    if let Some(start_up) = &accounts.start_up {
        writeln!(out, "start-up: {} of {}", start_up.duration_ns / 1000, start_up.program_ns / 1000).unwrap();
        start_up.thread.iter().for_each(|thread| parts(&mut out, &thread.parts));
    }
    if let Some(ending) = &accounts.ending {
        writeln!(out, "ending: {} of {}", ending.duration_ns / 1000, ending.program_ns / 1000).unwrap();
        ending.thread.iter().for_each(|thread| parts(&mut out, &thread.parts));
    }
    if let Some(steady) = &accounts.steady {
        writeln!(out, "steady: {} to {}", steady.start_ns / 1000, steady.end_ns / 1000).unwrap();
    }
    for gpu in &accounts.gpus {
        writeln!(out, "GPU {}: busy {} of {}", gpu.device, gpu.busy_ns / 1000, gpu.span_ns / 1000).unwrap();
        parts(&mut out, &gpu.idle);
        for HeldBack { part, streams } in &gpu.held_back {
            write!(out, "  held back by {} {}", part.cause.id(), part.ns as f64 / 1000.0).unwrap();
            for pair in streams {
                let behind = pair.behind.map_or("-".to_owned(), |behind| behind.to_string());
                write!(out, ", {} behind {behind}", pair.stream).unwrap();
            }
            out.push('\n');
        }
    }
    for thread in &accounts.threads {
        writeln!(out, "thread {}: {}", thread.name, thread.span_ns / 1000).unwrap();
        parts(&mut out, &thread.parts);
    }
    // What every launch takes is of no interest here.
    let only_starts =
        |stream: &&StreamAccount| stream.waiting.iter().all(|part| part.cause == Cause::LaunchLatency);
    for stream in accounts.streams.iter().filter(|stream| !only_starts(stream)) {
        writeln!(out, "stream {} of {}: {}", stream.stream, stream.pid, stream.waiting_ns as f64 / 1000.0)
            .unwrap();
        for part in &stream.waiting {
            let (cause, ns) = (part.cause.id(), part.ns as f64 / 1000.0);
            writeln!(out, "  {cause} {ns} {:?} {:?}", part.evidence, part.confidence).unwrap();
        }
    }
    out
}

/// One line per finding that samples lead to: when it costs, and what, in µs.
fn sampled(explanation: &Explanation) -> String {
    let mut out = String::new();
    let sampled = explanation.findings.iter().filter(|finding| finding.evidence == Evidence::Sample);
    for finding in sampled.filter(|finding| !finding.places.is_empty()) {
        let functions: Vec<_> = finding.places.iter().map(|place| place.function.as_str()).collect();
        let (cause, cost) = (finding.cause.id(), finding.cost_ns as f64 / 1000.0);
        writeln!(out, "finding {} {cause} {cost} @ {}", finding.phase.id(), functions.join(" @ ")).unwrap();
    }
    out
}

/// Checks that each case is what its comments state, and that every cause of accounts has a case of each role.
fn every_cause_is_covered(cases: &[PathBuf]) {
    let causes = Cause::ALL.iter().filter(|cause| About::of(**cause).is_of_account());
    let mut missing: BTreeSet<_> =
        causes.flat_map(|cause| ROLES.map(|role| (cause.id().to_owned(), role))).collect();
    let mut wrong = Vec::new();
    for folder in cases {
        let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
        let accounts = accounts(folder);
        let idle: Vec<_> = accounts.gpus[0].idle.iter().map(|part| (part.cause, part.ns)).collect();
        let waiting = accounts.streams.iter().flat_map(|stream| &stream.waiting);
        let waiting: Vec<_> = waiting.map(|part| (part.cause, part.ns)).collect();
        for (role, cause) in roles(&text) {
            let parts = match OF_STREAMS.iter().any(|of_streams| of_streams.id() == cause) {
                true => &waiting,
                false => &idle,
            };
            let all: i64 = parts.iter().map(|(_, ns)| ns).sum();
            let ns: i64 = parts.iter().filter(|(of, _)| of.id() == cause).map(|(_, ns)| ns).sum();
            let fits = match role {
                "positive" => ns > 0,
                "control" => ns == 0,
                _ => ns < all / 2 || all == 0,
            };
            if !fits {
                wrong.push(format!("{}: {role}: {cause}, {ns} of {all} ns", folder.display()));
            }
            missing.remove(&(cause.to_owned(), role));
        }
    }
    assert!(wrong.is_empty(), "cases are not what they state:\n{}", wrong.join("\n"));
    assert!(missing.is_empty(), "no case is a {missing:?}");
}
