//! Small traces written as text: `tests/data/NAME/trace.txt` in, `expected.txt` out. One case is one test of that name:
//! `cargo test -p holdup-explain queue_full` runs those of one cause. `UPDATE_EXPECT=1` rewrites what is expected.
//!
//! A case states its roles in its comments: `positive: CAUSE` if the rule holds; `control: CAUSE` if nothing of the kind
//! happens; `near miss: CAUSE` if a detail is missing. Every cause needs all three.

mod roles;
mod timeline;

use explain::{
    About, Cause, Confidence, Evidence, Explanation, Loss, Options, Overlap, OverlapRule, Party, explain,
    explain_each,
};
use libtest_mimic::{Arguments, Trial};
use report::explanation::{detail, sentence};
use roles::{ROLES, roles};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut cases: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let mut tests: Vec<_> = cases.iter().cloned().map(case).collect();
    let all = cases.clone();
    tests.push(Trial::test("waits_for_locks_outside_cuda_change_nothing", move || {
        all.iter().for_each(|folder| other_waits_change_nothing(folder));
        Ok(())
    }));
    tests.push(Trial::test("every_cause_has_a_positive_case_a_control_and_a_near_miss", move || {
        every_cause_is_covered(&cases);
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// The test of one case.
fn case(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
    Trial::test(name, move || {
        let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
        let (trace, selection) = timeline::parse(&text);
        let options = Options { selection, ..Options::default() };
        let (explanation, losses) = explain_each(&trace, &options);
        let found = listing(&explanation, true);
        expect_test::expect_file![folder.join("expected.txt")].assert_eq(&found);
        assert_eq!(listing(&explain(&trace, &options), true), found);
        let first = explanation.findings.first().map(|finding| finding.cause);
        assert_eq!(explain::first_cause(&trace, &options), first);
        losses_add_up(&trace, &explanation, &losses);
        fixes_are_known(&explanation);
        Ok(())
    })
}

/// Checks that single losses add up to the findings that count them, lie in their calls, and contain every recorded wait
/// once.
fn losses_add_up(trace: &trace::Trace, explanation: &Explanation, losses: &[Loss]) {
    let findings = explanation.findings.iter().enumerate();
    for (at, finding) in findings.filter(|(_, finding)| !finding.is_of_account) {
        let own: Vec<&Loss> = losses.iter().filter(|loss| loss.finding == Some(at as u32)).collect();
        let lost = own.iter().map(|loss| loss.lost_ns).sum::<i64>();
        let stretches: BTreeSet<_> =
            own.iter().map(|loss| (loss.call, loss.call.is_none().then_some(loss.wait))).collect();
        let expected =
            if finding.cause == Cause::Unexplained { (0, 0) } else { (finding.lost_ns, finding.count) };
        assert_eq!((lost, stretches.len() as u64), expected, "{}", finding.id);
        assert!(own.iter().all(|loss| loss.cause == finding.cause));
        assert!((0.0..=1.0).contains(&finding.share), "{}: {}", finding.id, finding.share);
    }
    for loss in losses {
        assert!(loss.start <= loss.end && loss.lost_ns <= loss.end - loss.start);
        if let Some(call) = loss.call.some() {
            let call = trace.calls.row(call);
            assert!(call.start <= loss.start && loss.end <= call.end);
        }
    }
    let mut recorded: Vec<_> = losses.iter().filter_map(|loss| loss.wait.some()).collect();
    recorded.sort();
    let waits = trace.waits.ids().filter(|wait| trace.waits.layer[wait.index()].is_cuda());
    assert_eq!(recorded, waits.collect::<Vec<_>>());
}

/// Checks that a case is explained as before when every thread of it also waits for the GIL, and for locks of the program
/// with the addresses of the case's own.
fn other_waits_change_nothing(folder: &Path) {
    use trace::{LockKind, LockLayer, Wait};
    let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
    let (mut trace, selection) = timeline::parse(&text);
    let options = Options { selection, ..Options::default() };
    let (before, losses) = explain_each(&trace, &options);
    let Some((start, end)) = trace.span() else { return };
    let holder = trace.threads.ids().next().unwrap();
    for thread in trace.threads.ids() {
        let (kind, layer) = (LockKind::Gil, LockLayer::Interpreter);
        trace.waits.push(Wait { start, end, thread, kind, layer, holder, holders: 9, ..Wait::default() });
    }
    for wait in trace.waits.ids().collect::<Vec<_>>() {
        let own = trace.waits.row(wait);
        trace.waits.push(Wait { start, layer: LockLayer::Program, holders: 2, ..own });
    }
    let (after, losses_after) = explain_each(&trace, &options);
    // What the GPU lost to them is another matter.
    assert_eq!(listing(&after, false), listing(&before, false), "{}", folder.display());
    let unnumbered = |losses: Vec<Loss>| -> Vec<Loss> {
        losses.into_iter().map(|loss| Loss { finding: None, ..loss }).collect()
    };
    assert_eq!(unnumbered(losses_after), unnumbered(losses), "{}", folder.display());
}

/// Checks that a finding's fixes and evidence are among those that its cause declares.
fn fixes_are_known(explanation: &Explanation) {
    for finding in &explanation.findings {
        let about = About::of(finding.cause);
        let cause = finding.cause.id();
        assert!(finding.fixes.iter().all(|fix| about.fixes.contains(fix)), "{cause}: {:?}", finding.fixes);
        let evidence = finding.evidence;
        assert!(about.evidence.contains(&evidence) || about.evidence.is_empty(), "{cause}: {evidence:?}");
    }
}

/// Checks that each case is what its comments state, and that every cause has a case of each role.
fn every_cause_is_covered(cases: &[PathBuf]) {
    let mut missing: BTreeSet<(String, &str)> = BTreeSet::new();
    let by_rule = |cause: &&Cause| **cause != Cause::Unexplained && !About::of(**cause).is_of_account();
    let causes = Cause::ALL.iter().filter(by_rule).map(|cause| cause.id());
    for cause in causes.chain(OverlapRule::ALL.iter().map(|rule| rule.id())) {
        missing.extend(ROLES.map(|role| (cause.to_owned(), role)));
    }
    let mut wrong = Vec::new();
    for folder in cases {
        let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
        let (trace, selection) = timeline::parse(&text);
        let explanation = explain(&trace, &Options { selection, ..Options::default() });
        for (role, cause) in roles(&text) {
            let found = confidence_in(&explanation, cause);
            let fits = match role {
                "positive" => found.is_some(),
                "control" => found.is_none(),
                _ => found.is_none_or(|confidence| confidence == Confidence::Possible),
            };
            if !fits {
                wrong.push(format!("{}: {role}: {cause}, found {found:?}", folder.display()));
            }
            missing.remove(&(cause.to_owned(), role));
        }
    }
    assert!(wrong.is_empty(), "cases are not what they state:\n{}", wrong.join("\n"));
    assert!(missing.is_empty(), "no case is a {missing:?}");
}

/// The highest confidence of a cause's findings, or of the losses of overlap to a rule.
fn confidence_in(explanation: &Explanation, cause: &str) -> Option<Confidence> {
    let findings = explanation.findings.iter().filter(|finding| finding.cause.id() == cause);
    let lost = explanation.overlap.iter().flat_map(|overlap| &overlap.lost);
    let lost = lost.filter(|lost| lost.rule.id() == cause).map(|lost| lost.confidence);
    findings.map(|finding| finding.confidence).chain(lost).min()
}

/// One line per finding, times in µs.
fn listing(explanation: &Explanation, with_costs: bool) -> String {
    let mut out = String::new();
    let mut findings: Vec<_> = explanation.findings.iter().collect();
    if !with_costs {
        findings.retain(|finding| !finding.is_of_account);
        findings
            .sort_by_key(|finding| (std::cmp::Reverse(finding.lost_ns), finding.cause, finding.waiter.tid));
    }
    for finding in findings {
        let waiter = &finding.waiter;
        write!(
            out,
            "{} {} {} lost {} in {}, {} {}",
            finding.cause.id(),
            threads(waiter),
            if waiter.call.is_empty() { detail(waiter) } else { waiter.call.clone() },
            finding.lost_ns / 1000,
            finding.count,
            finding.evidence.id(),
            finding.confidence.id()
        )
        .unwrap();
        if with_costs && !explanation.accounts.gpus.is_empty() && finding.cost_ns > 0 {
            write!(out, ", {} costs {}", finding.phase.id(), finding.cost_ns / 1000).unwrap();
        }
        if let Some(pauses) = &finding.pauses {
            let (count, ns) = (pauses.count, pauses.ns / 1000);
            write!(out, ", {ns} in {count} between {} and {}", pauses.after, pauses.before).unwrap();
        }
        for holder in finding.holder.iter().chain(&finding.or) {
            write!(out, " | {} {} {}", threads(holder), holder.call, detail(holder)).unwrap();
        }
        // Findings that rest on holdup's own recordings: waits, and arguments instead of operations.
        if finding.evidence == Evidence::Lock || explanation.trace.ops == 0 {
            let fixes: Vec<_> = finding.fixes.iter().map(|fix| fix.id).collect();
            write!(out, " ({}; fix: {})", sentence(&finding.because), fixes.join(", ")).unwrap();
        }
        for place in &finding.places {
            write!(out, " @ {}:{} {}", place.file, place.line, place.function).unwrap();
        }
        out.push('\n');
    }
    for one in explanation.unselected.iter().filter(|_| with_costs) {
        writeln!(out, "not selected: {} costs {}", one.cause.id(), one.cost_ns / 1000).unwrap();
    }
    if explanation.short_wait_ns > 0 {
        writeln!(out, "waited {} in short calls", explanation.short_wait_ns / 1000).unwrap();
    }
    if explanation.outside_wait_ns > 0 {
        writeln!(out, "waited {} outside calls", explanation.outside_wait_ns / 1000).unwrap();
    }
    // The overlap, if the trace records what the device can do.
    for overlap in explanation.overlap.iter().filter(|overlap| overlap.copy_engines.is_some()) {
        out.push_str(&overlap_listing(overlap));
    }
    // The parts of all calls add up to their time.
    let of_calls = explanation.findings.iter().filter(|finding| !finding.is_of_account);
    let lost: i64 = of_calls.map(|finding| finding.lost_ns).sum();
    let spent = explanation.slow_call_ns + explanation.short_wait_ns + explanation.outside_wait_ns;
    assert_eq!(
        lost + explanation.own_work_ns,
        spent,
        "lost time and the calls' usual cost add up to the time spent"
    );
    writeln!(
        out,
        "explained {} of {} in {} slow calls",
        explanation.explained_ns / 1000,
        explanation.slow_call_ns / 1000,
        explanation.slow_calls
    )
    .unwrap();
    out
}

/// The name of a value in JSON.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap().trim_matches('"').to_owned()
}

/// One line for the device, one per rule that overlap was lost to, and one per kind of late operation.
fn overlap_listing(overlap: &Overlap) -> String {
    let us = |ns: i64| ns / 1000;
    let mut out = format!(
        "overlap in {} kernels {} out {} busy {} two {} three {} reached {} of {}\n",
        us(overlap.copies_in_ns),
        us(overlap.kernels_ns),
        us(overlap.copies_out_ns),
        us(overlap.busy_ns),
        us(overlap.two_ns),
        us(overlap.three_ns),
        us(overlap.reached_ns),
        us(overlap.possible_ns)
    );
    for lost in &overlap.lost {
        let also: String = lost.also.iter().map(|rule| format!(" + {}", rule.id())).collect();
        let (rule, evidence, confidence) = (lost.rule.id(), lost.evidence.id(), lost.confidence.id());
        writeln!(out, "  {rule}{also} {} in {}, {evidence} {confidence}", us(lost.lost_ns), lost.count)
            .unwrap();
        for late in &lost.operations {
            let (what, stream) = (word(&late.engine), late.stream);
            write!(
                out,
                "    {what} {}{} {} in {stream}: {} in {}",
                late.kernel,
                late.library,
                late.call,
                us(late.lost_ns),
                late.count
            )
            .unwrap();
            if let Some(behind) = &late.behind {
                let engine = behind.engine.map_or(String::new(), |engine| format!("{} ", word(&engine)));
                write!(
                    out,
                    " | {engine}{}{} {} {:?}",
                    behind.kernel, behind.library, behind.call, behind.stream
                )
                .unwrap();
            }
            out.push('\n');
        }
    }
    assert!(overlap.explained_ns() <= overlap.missed_ns(), "more overlap lost than was possible");
    out
}

fn threads(party: &Party) -> String {
    match party.threads {
        1 => party.thread.clone(),
        several => format!("{several} threads"),
    }
}
