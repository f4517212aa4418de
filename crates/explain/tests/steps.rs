//! Steps of small traces written as text: `tests/steps/NAME/trace.txt` in, `expected.txt` out, as in `cases.rs`.
//!
//! A case states its roles in its comments: `positive: SOURCE` if the steps are found in it; `control` and `near miss` if not.
//! Every source needs all three.

mod roles;
mod timeline;

use explain::{AccountPart, OneStep, Options, StepSource, StepTime, Steps, explain, explain_each};
use libtest_mimic::{Arguments, Trial};
use roles::{ROLES, roles};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/steps");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let mut tests: Vec<_> = cases.iter().cloned().map(case).collect();
    tests.push(Trial::test("every_source_has_a_positive_case_a_control_and_a_near_miss", move || {
        every_source_is_covered(&cases);
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn steps(case: &Path) -> Option<Steps> {
    let text = std::fs::read_to_string(case.join("trace.txt")).unwrap();
    let (trace, selection) = timeline::parse(&text);
    let options = Options { selection, ..Options::default() };
    let steps = explain_each(&trace, &options).0.steps;
    assert!(explain(&trace, &options).steps.is_none_or(|steps| steps.each.is_empty()), "only if asked for");
    steps
}

fn case(folder: PathBuf) -> Trial {
    let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
    Trial::test(name, move || {
        let steps = steps(&folder);
        steps.iter().for_each(add_up);
        let listing = steps.map_or("none\n".to_owned(), |steps| listing(&steps));
        expect_test::expect_file![folder.join("expected.txt")].assert_eq(&listing);
        Ok(())
    })
}

/// Checks that the parts of steps add up to their time.
fn add_up(steps: &Steps) {
    let sum = |parts: &[AccountPart]| parts.iter().map(|part| part.ns).sum::<i64>();
    let adds_up = |time: &StepTime| assert_eq!(time.busy_ns + sum(&time.idle), time.duration_ns);
    adds_up(&steps.total);
    adds_up(&steps.median);
    assert_eq!(steps.median.duration_ns, steps.median_ns);
    for slow in &steps.slow {
        assert_eq!(slow.busy_more_ns + sum(&slow.more), slow.duration_ns - steps.median_ns);
        assert!(steps.each.iter().any(|step| (&step.name, step.start_ns) == (&slow.name, slow.start_ns)));
    }
    each_adds_up(steps);
}

/// Checks that all steps by themselves are those that are summed up: in order, apart, each with all of its time.
fn each_adds_up(steps: &Steps) {
    assert_eq!(steps.each.len() as u64, steps.count);
    let idle = |step: &OneStep| step.idle.iter().map(|(_, ns)| ns).sum::<i64>();
    assert!(steps.each.iter().all(|step| step.busy_ns + idle(step) == step.duration_ns));
    assert_eq!(steps.each.iter().map(|step| step.busy_ns).sum::<i64>(), steps.total.busy_ns);
    assert_eq!(steps.each.iter().map(|step| step.duration_ns).sum::<i64>(), steps.total.duration_ns);
    assert_eq!(steps.mean_ns, steps.total.duration_ns / steps.each.len() as i64);
    for pair in steps.each.windows(2) {
        assert!(pair[0].start_ns <= pair[1].start_ns);
        assert!(steps.threads > 1 || pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns);
    }
}

/// One line per part, times in µs.
fn listing(steps: &Steps) -> String {
    let us = |ns: i64| ns as f64 / 1000.0;
    let mut out = String::new();
    let Steps { name, source, count, threads, .. } = steps;
    let what = if steps.requests { "requests" } else { "steps" };
    let many = if *threads > 1 { format!(" in {threads} threads") } else { String::new() };
    writeln!(
        out,
        "{count} {what}{many} {name} ({}) on {:?}, mean {} median {} spread {}",
        source.id(),
        steps.device,
        us(steps.mean_ns),
        us(steps.median_ns),
        us(steps.spread_ns)
    )
    .unwrap();
    let parts = |out: &mut String, busy: i64, parts: &[AccountPart]| {
        writeln!(out, "  busy {}", us(busy)).unwrap();
        for part in parts {
            write!(out, "  {} {}", part.cause.id(), us(part.ns)).unwrap();
            part.calls.iter().for_each(|call| write!(out, " {call}").unwrap());
            part.places.iter().for_each(|place| write!(out, " @ {}", place.function).unwrap());
            out.push('\n');
        }
    };
    let which = if steps.warm_up > 0 { format!("after {}", steps.warm_up) } else { "all".to_owned() };
    writeln!(out, "{which}: {}", us(steps.total.duration_ns)).unwrap();
    parts(&mut out, steps.total.busy_ns, &steps.total.idle);
    writeln!(out, "median: {}", us(steps.median.duration_ns)).unwrap();
    parts(&mut out, steps.median.busy_ns, &steps.median.idle);
    for slow in &steps.slow {
        writeln!(out, "slow: {} at {} for {}", slow.name, us(slow.start_ns), us(slow.duration_ns)).unwrap();
        parts(&mut out, slow.busy_more_ns, &slow.more);
    }
    out
}

/// Checks that each case is what its comments state, and that every source has a case of each role.
fn every_source_is_covered(cases: &[PathBuf]) {
    let all = StepSource::ALL.iter().flat_map(|source| ROLES.map(|role| (source.id().to_owned(), role)));
    let mut missing: BTreeSet<_> = all.collect();
    let mut wrong = Vec::new();
    for folder in cases {
        let text = std::fs::read_to_string(folder.join("trace.txt")).unwrap();
        let found = steps(folder).map(|steps| steps.source.id());
        for (role, source) in roles(&text) {
            if (role == "positive") != (found == Some(source)) {
                wrong.push(format!("{}: {role}: {source}, found {found:?}", folder.display()));
            }
            missing.remove(&(source.to_owned(), role));
        }
    }
    assert!(wrong.is_empty(), "cases are not what they state:\n{}", wrong.join("\n"));
    assert!(missing.is_empty(), "no case is a {missing:?}");
}
