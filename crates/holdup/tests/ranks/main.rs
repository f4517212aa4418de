//! Traces of several ranks of one run: which was late at the collectives, and why.

mod kineto;

use kineto::Pair;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `holdup explain` of both traces, in a folder of their own.
fn explain(pair: &Pair, options: &[&str]) -> Output {
    let folder = folder(pair);
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.current_dir(folder.path()).arg("explain").args(options).args(["rank0.json", "rank1.json"]);
    command.stdin(Stdio::null()).output().expect("the program starts")
}

fn folder(pair: &Pair) -> TempDir {
    let folder = tempfile::tempdir().expect("can create");
    for (rank, text) in pair.traces().iter().enumerate() {
        std::fs::write(folder.path().join(format!("rank{rank}.json")), text).expect("can write");
    }
    folder
}

/// Text printed after both traces.
fn end(pair: &Pair) -> String {
    let output = explain(pair, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    text[text.rfind("\n\n").map_or(0, |at| at + 2)..].to_owned()
}

#[test]
fn the_late_rank_and_its_line_are_named() {
    expect_test::expect![[r#"
        2 ranks in 24 collectives; the traces' clocks are fitted by their ends, which agree within 4.00 µs.
        Rank 1 (rank1.json) was the last at 24 of 24 collectives, 3.00 ms after the first (median). Other
        GPUs were idle for 32.9 ms because of what it did:
            92 %  host-code             ddp.py:31 augment
    "#]]
    .assert_eq(&end(&Pair::late_by(3000.0)));
}

#[test]
fn a_rank_whose_kernels_take_longer_is_named() {
    expect_test::expect![[r#"
        2 ranks in 24 collectives; the traces' clocks are fitted by their ends, which agree within 4.00 µs.
        Rank 1 (rank1.json) was the last at 24 of 24 collectives, 1.20 ms after the first (median). Other
        GPUs were idle for 16.1 ms because of what it did:
           100 %  collective-wait       its GPU worked meanwhile
    "#]]
    .assert_eq(&end(&Pair { kernel: [300.0, 500.0], ..Pair::late_by(0.0) }));
}

#[test]
fn ranks_that_are_in_time_are_not_late() {
    expect_test::expect![[r#"
        2 ranks in 24 collectives; the traces' clocks are fitted by their ends, which agree within 4.00 µs.
        No rank was more than 50 µs late at any of them.
    "#]]
    .assert_eq(&end(&Pair::late_by(0.0)));
}

#[test]
fn collectives_that_one_trace_lacks_are_passed_over() {
    expect_test::expect![[r#"
        2 ranks in 21 collectives; the traces' clocks are fitted by their ends, which agree within 4.00 µs.
        Rank 1 (rank1.json) was the last at 21 of 21 collectives, 346 µs after the first (median). Other
        GPUs were idle for 27.8 ms because of what it did:
            99 %  host-code             ddp.py:31 augment
    "#]]
    .assert_eq(&end(&Pair { missing: 3, ..Pair::late_by(3000.0) }));
}

#[test]
fn clocks_that_do_not_fit_are_stated() {
    expect_test::expect![[r#"
        Which rank was late is unknown: the collectives of rank1.json do not end with those of the first
        trace.
    "#]]
    .assert_eq(&end(&Pair { apart: 300.0, ..Pair::late_by(3000.0) }));
}

#[test]
fn json_has_the_ranks_in_each_trace() {
    let output = explain(&Pair::late_by(3000.0), &["--format", "json"]);
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("output is JSON");
    for document in &documents {
        let ranks = &document["accounts"]["ranks"];
        assert_eq!(ranks["collectives"], 24);
        let late: Vec<_> = ranks["ranks"].as_array().unwrap().iter().map(|rank| &rank["late"]).collect();
        assert_eq!(late, [0, 24]);
        let part = &ranks["ranks"][1]["causes"][0];
        assert_eq!((&part["cause"], &part["where"][0]["line"]), (&"host-code".into(), &31.into()));
    }
    assert_eq!(documents.len(), 2);
}

/// Text printed in this form for a trace.
fn explained(trace: &str, form: &str) -> String {
    let folder = tempfile::tempdir().expect("can create");
    std::fs::write(folder.path().join("trace.json"), trace).expect("can write");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.current_dir(folder.path()).args(["explain", "--format", form, "trace.json"]);
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn a_page_has_the_words_of_the_text() {
    let late = Pair::late_by(3000.0).together();
    let sentences = [
        "GPU 0 communicated for 9 % of its time with nothing else running.",
        "GPU 1 was the last at 24 of 24 collectives, 3.00 ms after the first (median). Other GPUs were idle for \
         33.0 ms because of what it did:",
    ];
    let (text, page) = (explained(&late, "text").replace('\n', " "), explained(&late, "html"));
    for sentence in sentences {
        assert!(text.contains(sentence), "{text}");
        assert!(page.contains(&format!("<p>{sentence}</p>")), "{sentence}");
    }
    assert!(page.contains(
        "<ul class=\"causes\" aria-label=\"What GPU 1 did when it was late\"><li>89 % host-code · "
    ));
    let one = &Pair::late_by(3000.0).traces()[0];
    assert!(
        explained(one, "html").contains("Waiting for other ranks is not visible from one rank.</p></div>")
    );
}

#[test]
fn one_rank_alone_does_not_show_that_it_waits() {
    let folder = folder(&Pair::late_by(3000.0));
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let output = command.current_dir(folder.path()).args(["explain", "rank0.json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    let said = "with nothing else running. Waiting for other ranks is not visible";
    assert!(text.replace('\n', " ").contains(said), "{text}");
}
