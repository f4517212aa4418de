//! Printed output, compared with `tests/data/CASE/FORM`. `UPDATE_EXPECT=1` rewrites the files.

mod fixture;

use report::document::Form;
use report::{Page, Style, diff, explanation, listing, places, stats};
use std::path::Path;
use trace::{Selection, Trace};

fn check(case: &str, form: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(case).join(form);
    // Expected files are read with plain line ends; a hostile name may have others.
    expect_test::expect_file![path].assert_eq(&actual.replace("\r\n", "\n"));
}

fn narrow() -> Page {
    Page::new(Some(1), Style::Plain)
}

/// One test per explanation, in every form.
macro_rules! explanations {
    ($($test:ident: $case:literal,)*) => {
        $(#[test]
        fn $test() {
            let explained = fixture::$test();
            check($case, "100.txt", &explanation::document(&explained, Form::Text(Page::default()), false).to_string());
            check($case, "80.txt", &explanation::document(&explained, Form::Text(narrow()), true).to_string());
            check($case, "expected.md", &explanation::document(&explained, Form::Markdown, false).to_string());
            check($case, "expected.json", &explanation::json(&explained, false));
        })*
    };
}

explanations! {
    stall: "explain-stall",
    gains: "explain-gains",
    misfit: "explain-misfit",
    too_large: "explain-too-large",
    two_processes: "explain-two-processes",
    convoy: "explain-convoy",
    outside: "explain-outside",
    crumbs: "explain-crumbs",
    selected: "explain-selected",
    nothing: "explain-nothing",
    overlap: "explain-overlap",
    no_calls: "explain-no-calls",
    hostile: "explain-hostile",
    steps: "explain-steps",
    steps_refused: "explain-steps-refused",
}

#[test]
fn lines_that_apply_fixes() {
    check(
        "explain-gains",
        "all.md",
        &explanation::document(&fixture::gains(), Form::Markdown, true).to_string(),
    );
}

#[test]
fn comparisons() {
    let comparisons = [
        ("diff-slower", fixture::slower()),
        ("diff-unlike", fixture::unlike()),
        ("diff-unchanged", fixture::unchanged()),
    ];
    for (case, compared) in &comparisons {
        check(case, "100.txt", &diff::document(compared, Form::Text(Page::default()), true).to_string());
        check(case, "80.txt", &diff::document(compared, Form::Text(narrow()), false).to_string());
        check(case, "expected.md", &diff::document(compared, Form::Markdown, false).to_string());
        check(case, "expected.json", &diff::json(compared));
        for text in [
            diff::document(compared, Form::Text(narrow()), true).to_string(),
            diff::document(compared, Form::Text(narrow()), false).to_string(),
        ] {
            assert_eq!(text.lines().find(|line| line.chars().count() > 80), None, "{case}");
        }
    }
}

#[test]
fn a_reason_is_a_line() {
    let slower = fixture::slower();
    let (judged, change) = diff::judged(&slower.diff);
    assert_eq!(
        diff::reason(judged, change),
        "a step (ProfilerStep) took 17.2 ms, 12 % more than 15.4 ms before"
    );
    let unlike = fixture::unlike();
    let (judged, change) = diff::judged(&unlike.diff);
    assert!(diff::reason(judged, change).starts_with("the program took "));
}

#[test]
fn colours() {
    let colour = Page::new(None, Style::Colour);
    check(
        "explain-stall",
        "colour.txt",
        &explanation::document(&fixture::stall(), Form::Text(colour), false).to_string(),
    );
}

#[test]
fn summaries() {
    let traces = [
        ("stats-two-threads", fixture::two_threads()),
        ("stats-marked", fixture::marked()),
        ("stats-hostile", fixture::hostile_trace()),
        ("stats-empty", fixture::empty()),
    ];
    for (case, trace) in &traces {
        let all = stats::build(trace, "a.json", &stats::Options::default());
        check(
            case,
            "100.txt",
            &stats::document(&all, Form::Text(Page::default()), false, stats::Top::default()).to_string(),
        );
        check(
            case,
            "80.txt",
            &stats::document(&all, Form::Text(narrow()), false, stats::Top::default()).to_string(),
        );
        check(
            case,
            "wide.txt",
            &stats::document(&all, Form::Text(narrow()), true, stats::Top::default()).to_string(),
        );
        check(
            case,
            "expected.md",
            &stats::document(&all, Form::Markdown, false, stats::Top::default()).to_string(),
        );
        check(case, "expected.json", &stats::json(&all));
    }
    let selection = Selection { from: Some(12_000_000), to: Some(62_000_000), ..Selection::default() };
    let options = stats::Options { selection, per_thread: true };
    let cut = stats::build(&traces[0].1, "a.json", &options);
    check(
        "stats-two-threads",
        "cut-per-thread.txt",
        &stats::document(&cut, Form::Text(Page::default()), false, stats::Top::default()).to_string(),
    );
}

fn list(trace: &Trace, selection: &Selection, format: listing::Format) -> [String; 2] {
    let (mut calls, mut ops) = (Vec::new(), Vec::new());
    listing::calls(trace, selection, listing::Order::default(), format, &mut calls)
        .expect("memory takes all");
    listing::ops(trace, selection, listing::Order::default(), format, &mut ops).expect("memory takes all");
    [calls, ops].map(|bytes| String::from_utf8(bytes).expect("listings are text"))
}

#[test]
fn listings() {
    let traces = [
        ("list-two-threads", fixture::two_threads()),
        ("list-hostile", fixture::hostile_trace()),
        ("list-empty", fixture::empty()),
    ];
    for (case, trace) in &traces {
        let forms = [
            (listing::Format::Text(None), "txt"),
            (listing::Format::Text(Some(80)), "80.txt"),
            (listing::Format::Csv, "csv"),
            (listing::Format::Json, "jsonl"),
        ];
        for (format, extension) in forms {
            let [calls, ops] = list(trace, &Selection::default(), format);
            check(case, &format!("calls.{extension}"), &calls);
            check(case, &format!("ops.{extension}"), &ops);
        }
    }
}

#[test]
fn listings_obey_the_selection() {
    let selection =
        Selection { name: Some("LAUNCH".into()), thread: Some("1207957184".into()), ..Selection::default() };
    let [calls, ops] = list(&fixture::two_threads(), &selection, listing::Format::Csv);
    assert_eq!(calls.lines().count(), 1 + 3);
    assert_eq!(ops.lines().count(), 1);
    let selection =
        Selection { name: Some("to pageable".into()), thread: Some("copier".into()), ..Selection::default() };
    let [_, ops] = list(&fixture::two_threads(), &selection, listing::Format::Csv);
    assert_eq!(ops.lines().count(), 1 + 1);
}

#[test]
fn a_range_selects_what_happened_within_it() {
    let within = |range: &str| Selection { range: Some(range.into()), ..Selection::default() };
    let count = |range: &str| {
        list(&fixture::marked(), &within(range), listing::Format::Csv).map(|text| text.lines().count())
    };
    // The launch and the synchronization of four steps, without the other thread's copies.
    assert_eq!(count("STEP"), [1 + 8, 1 + 4]);
    assert_eq!(count("norm"), [1 + 4, 1 + 4]);
    assert_eq!(count("train"), [1, 1]);
    let options = stats::Options { selection: within("norm"), per_thread: false };
    check(
        "stats-marked",
        "within-norm.txt",
        &stats::document(
            &stats::build(&fixture::marked(), "a.json", &options),
            Form::Text(narrow()),
            false,
            stats::Top::default(),
        )
        .to_string(),
    );
    let found = places::build(
        &fixture::marked(),
        "a.json",
        &Selection { name: Some("cuda".into()), ..within("norm") },
    );
    assert_eq!(found.count, 4);
}

#[test]
fn places_of_calls() {
    let selection = Selection { name: Some("cudaMemcpyAsync".into()), ..Selection::default() };
    let found = places::build(&fixture::two_threads(), "a.json", &selection);
    check("where-copies", "100.txt", &places::document(&found, Page::default(), false).to_string());
    check("where-copies", "expected.json", &places::json(&found));
    let selection = Selection { name: Some("no such call".into()), ..Selection::default() };
    let found = places::build(&fixture::two_threads(), "a.json", &selection);
    check("where-nothing", "100.txt", &places::document(&found, Page::default(), false).to_string());
}

#[test]
fn no_line_is_longer_than_the_page() {
    let explained = [
        fixture::stall(),
        fixture::gains(),
        fixture::two_processes(),
        fixture::outside(),
        fixture::hostile(),
    ];
    let trace = fixture::two_threads();
    let summary = stats::build(&trace, "a.json", &stats::Options::default());
    let marked = stats::build(&fixture::marked(), "a.json", &stats::Options::default());
    for page in [narrow(), Page::default()] {
        let mut texts: Vec<String> =
            explained.iter().map(|e| explanation::document(e, Form::Text(page), true).to_string()).collect();
        texts.extend(explained.iter().map(|e| explanation::document(e, Form::Text(page), false).to_string()));
        texts.push(stats::document(&summary, Form::Text(page), false, stats::Top::default()).to_string());
        texts.push(stats::document(&marked, Form::Text(page), false, stats::Top::default()).to_string());
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= page.columns, "{} columns: {line}", page.columns);
            assert_eq!(line, line.trim_end(), "spaces at the end");
        }
    }
}

#[test]
fn a_finding_has_at_most_six_lines() {
    for explained in
        [fixture::stall(), fixture::gains(), fixture::two_processes(), fixture::outside(), fixture::hostile()]
    {
        let text = explanation::document(&explained, Form::Text(narrow()), false).to_string();
        let findings: Vec<&str> = text.split("\n\n").filter(|part| part.starts_with('H')).collect();
        assert!(!findings.is_empty(), "{text}");
        for finding in findings {
            assert!(finding.lines().count() <= 6, "{finding}");
        }
    }
}
