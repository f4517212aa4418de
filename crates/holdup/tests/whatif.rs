//! `holdup whatif` as people run it: forms and refusals.

use std::path::Path;
use std::process::{Command, Output};

fn whatif(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    command.arg("whatif").args(arguments).current_dir(examples).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// A refusal: status 2 and one line.
fn refuses(arguments: &[&str]) -> String {
    let output = whatif(arguments);
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{line}");
    assert_eq!(line.trim_end().lines().count(), 1, "{line}");
    line.to_owned()
}

#[test]
fn predictions_of_an_example() {
    for example in ["recorded-d2h-stall.holdup", "recorded-norm-hidden-sync.holdup"] {
        let output = whatif(&[example]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
        let name = example.split('.').next().expect("a name");
        let expected = format!("data/whatif/{name}.txt");
        expect_test::expect_file![expected].assert_eq(text(&output.stdout));
    }
}

#[test]
fn changes_that_are_asked_for_are_predicted_together() {
    let output =
        whatif(&["recorded-d2h-stall.holdup", "--fix", "own-stream,pinned-reused", "--fix", "warm-up"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("own-stream + pinned-reused") && shown.contains("│ warm-up"), "{shown}");
    assert!(!shown.contains("pool-allocator"), "{shown}");
}

#[test]
fn anything_may_be_faster() {
    let output =
        whatif(&["recorded-d2h-stall.holdup", "--faster", "copies=2x", "--faster", "call:cudaMemcpy*=2x"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("copies=2x + call:cudaMemcpy*=2x"), "{shown}");
    let refused = whatif(&["recorded-d2h-stall.holdup", "--faster", "copies"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("expected WHAT=FACTORx"), "{}", text(&refused.stderr));
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let unknown = refuses(&["recorded-d2h-stall.holdup", "--fix", "own-steam"]);
    assert!(unknown.contains("no change `own-steam`: try own-stream, "), "{unknown}");
    let nothing = refuses(&["recorded-d2h-stall.holdup", "--fix", "mps"]);
    assert!(nothing.contains("mps: it would change nothing here"), "{nothing}");
    let unfit = refuses(&["recorded-launch-convoy.holdup"]);
    assert!(
        unfit.contains("its replay differs by ") && unfit.contains("`holdup replay` says where"),
        "{unfit}"
    );
}
