//! Every rule on small traces written as text: `tests/data/NAME/trace.txt` in, findings out.
//!
//! Each rule has a case where it holds, a control where the same calls are slow for nothing, and
//! a near miss. `HOLDUP_UPDATE=1` rewrites the expected files.

mod timeline;

use explain::{Cause, Evidence, Explanation, Loss, Options, Overlap, Party, explain, explain_each};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

#[test]
fn findings_of_every_timeline_are_as_expected() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let update = std::env::var_os("HOLDUP_UPDATE").is_some();
    let mut wrong = Vec::new();
    let mut cases: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 20, "cases are missing from {}", data.display());
    for case in cases {
        let text = std::fs::read_to_string(case.join("trace.txt")).unwrap();
        let (trace, selection) = timeline::parse(&text);
        let found = listing(&explain(&trace, &Options { selection, ..Options::default() }));
        let expected = case.join("expected.txt");
        if update {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "differ from expected.txt:\n{}", wrong.join("\n"));
}

/// Single losses add up to the findings that count them, lie in their calls, and hold every recorded wait once.
#[test]
fn losses_add_up_to_the_findings_of_every_timeline() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (mut counted, mut waits) = (0, 0);
    for case in std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()) {
        let (trace, selection) = timeline::parse(&std::fs::read_to_string(case.join("trace.txt")).unwrap());
        let options = Options { selection, ..Options::default() };
        let (explanation, losses) = explain_each(&trace, &options);
        assert_eq!(listing(&explanation), listing(&explain(&trace, &options)), "{}", case.display());
        for (at, finding) in explanation.findings.iter().enumerate() {
            let own: Vec<&Loss> = losses.iter().filter(|loss| loss.finding == Some(at as u32)).collect();
            let lost = own.iter().map(|loss| loss.lost_ns).sum::<i64>();
            let stretches: BTreeSet<_> =
                own.iter().map(|loss| (loss.call, loss.call.is_none().then_some(loss.wait))).collect();
            let expected =
                if finding.cause == Cause::Unexplained { (0, 0) } else { (finding.lost_ns, finding.count) };
            assert_eq!((lost, stretches.len() as u64), expected, "{} of {}", finding.id, case.display());
            assert!(own.iter().all(|loss| loss.cause == finding.cause), "{}", case.display());
            counted += own.len();
        }
        for loss in &losses {
            assert!(loss.start <= loss.end && loss.lost_ns <= loss.end - loss.start, "{}", case.display());
            if let Some(call) = loss.call.some() {
                let call = trace.calls.row(call);
                assert!(call.start <= loss.start && loss.end <= call.end, "{}", case.display());
            }
        }
        let mut recorded: Vec<_> = losses.iter().filter_map(|loss| loss.wait.some()).collect();
        recorded.sort();
        assert_eq!(recorded, trace.waits.ids().collect::<Vec<_>>(), "{}", case.display());
        waits += recorded.len();
    }
    assert!(counted > 100 && waits > 100, "{counted} losses, {waits} waits: the cases are too poor");
}

/// One line a finding, times in µs.
fn listing(explanation: &Explanation) -> String {
    let mut out = String::new();
    for finding in &explanation.findings {
        let cause = serde_json::to_string(&finding.cause).unwrap();
        let word = |value: String| value.trim_matches('"').to_owned();
        let (waiter, confidence) = (&finding.waiter, serde_json::to_string(&finding.confidence).unwrap());
        let evidence = serde_json::to_string(&finding.evidence).unwrap();
        write!(
            out,
            "{} {} {} lost {} in {}, {} {}",
            word(cause),
            threads(waiter),
            if waiter.call.is_empty() { &waiter.detail } else { &waiter.call },
            finding.lost_ns / 1000,
            finding.count,
            word(evidence),
            word(confidence)
        )
        .unwrap();
        for holder in finding.holder.iter().chain(&finding.or) {
            write!(out, " | {} {} {}", threads(holder), holder.call, holder.detail).unwrap();
        }
        // What rests on recordings of holdup's own: waits, and arguments instead of operations.
        if finding.evidence == Evidence::Lock || explanation.trace.ops == 0 {
            let fixes: Vec<_> = finding.fixes.iter().map(|fix| fix.id).collect();
            write!(out, " ({}; fix: {})", finding.because, fixes.join(", ")).unwrap();
        }
        for place in &finding.places {
            write!(out, " @ {}:{} {}", place.file, place.line, place.function).unwrap();
        }
        out.push('\n');
    }
    if explanation.short_wait_ns > 0 {
        writeln!(out, "waited {} in short calls", explanation.short_wait_ns / 1000).unwrap();
    }
    if explanation.outside_wait_ns > 0 {
        writeln!(out, "waited {} outside calls", explanation.outside_wait_ns / 1000).unwrap();
    }
    // Where a trace says what the device can do, what of it is used.
    for overlap in explanation.overlap.iter().filter(|overlap| overlap.copy_engines.is_some()) {
        out.push_str(&overlap_listing(overlap));
    }
    // The parts of all calls add up to their time, give or take what a call costs anyway.
    let lost: i64 = explanation.findings.iter().map(|finding| finding.lost_ns).sum();
    let spent = explanation.slow_call_ns + explanation.short_wait_ns + explanation.outside_wait_ns;
    assert!(lost <= spent, "more lost than spent");
    assert!(explanation.explained_ns <= explanation.slow_call_ns);
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

/// The name that a value has in JSON.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap().trim_matches('"').to_owned()
}

/// A line for the device, one for each thing that overlap was lost to, and one for each kind of operation of it.
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
        let also: String = lost.also.iter().map(|rule| format!(" + {}", word(rule))).collect();
        let (rule, evidence, confidence) = (word(&lost.rule), word(&lost.evidence), word(&lost.confidence));
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
