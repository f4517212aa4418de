//! `holdup whatif` as people run it: forms and refusals.

mod unfit;

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
fn predictions_as_markdown() {
    let output = whatif(&["recorded-d2h-stall.holdup", "--format", "markdown"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    expect_test::expect_file!["data/whatif/recorded-d2h-stall.md"].assert_eq(text(&output.stdout));
}

#[test]
fn the_page_has_every_prediction_with_its_accounts_and_is_the_same_each_time() {
    let output = whatif(&["recorded-d2h-stall.holdup", "--format", "html"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let page = text(&output.stdout);
    assert!(page.starts_with("<!doctype html>"));
    let known = whatif(&["recorded-d2h-stall.holdup"]);
    let known = text(&known.stdout).lines().filter(|line| line.starts_with('│')).skip(1);
    let known: Vec<&str> = known.filter_map(|line| line.split('│').nth(5)).map(str::trim).collect();
    assert!(known.len() >= 4, "{known:?}");
    for (at, name) in known.iter().enumerate() {
        assert!(
            page.contains(&format!("value=\"{at}\"")) && page.contains(&format!("<b>{name}</b>")),
            "{name}"
        );
        assert!(page.contains(&format!("<h3>Before and after {name}</h3>")), "{name}");
    }
    assert!(page.contains("The program takes 1.90 s before and 1.28 s after: a gain of 33 %."));
    // The timeline before is once in the page, that after each of the best three, and after the one that loses, once.
    assert_eq!(page.matches("data-name=\"before-timeline\"").count(), 1);
    assert_eq!(page.matches("-timeline\">").count(), 5);
    assert!(page.contains("To see this one: holdup whatif --format html --fix warm-up."));
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let again = whatif(&["recorded-d2h-stall.holdup", "--format", "html"]);
    assert!(again.stdout == output.stdout, "the same trace, the same page");
}

#[test]
fn forms_go_into_files_that_are_not_replaced_unasked() {
    let directory = tempfile::tempdir().expect("can create");
    for form in ["text", "json", "markdown", "html"] {
        let file = directory.path().join(form);
        let name = file.to_str().expect("UTF-8");
        let arguments = ["recorded-norm-hidden-sync.holdup", "--format", form, "-o", name];
        let first = whatif(&arguments);
        assert_eq!((first.status.code(), text(&first.stderr)), (Some(0), ""), "{form}");
        let said = text(&first.stdout);
        assert!(if form == "html" {
            said.starts_with(name) && said.ends_with(" kB\n")
        } else {
            said.is_empty()
        });
        let shown = whatif(&["recorded-norm-hidden-sync.holdup", "--format", form]).stdout;
        assert!(std::fs::read(&file).expect("is there") == shown, "{form}");
        assert!(
            refuses(&arguments).contains("already exists: name another file, or replace it with --force")
        );
        assert!(whatif(&[&arguments[..], &["--force"]].concat()).status.success(), "{form}");
    }
    let file = directory.path().join("refused.html");
    let unfit = unfit::trace(directory.path());
    refuses(&[&unfit, "--format", "html", "-o", file.to_str().expect("UTF-8")]);
    assert!(!file.exists(), "nothing is left of a page that was not made");
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
fn a_fix_that_removes_what_findings_find_is_predicted() {
    let shown = whatif(&["recorded-graph-churn.holdup", "--fix", "kept-object"]);
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("│ kept-object │") && shown.contains("kept-object: safe if nobody else"),
        "{shown}"
    );
    let searched = whatif(&["recorded-graph-churn.holdup"]);
    let searched = text(&searched.stdout);
    let first = searched.lines().find(|line| line.contains(" % │")).expect("a prediction");
    assert!(first.contains("│ kept-object"), "{searched}");
    let nothing = refuses(&["recorded-d2h-stall.holdup", "--fix", "kept-object"]);
    assert!(nothing.contains("kept-object: it would change nothing here"), "{nothing}");
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
fn the_cause_of_a_finding_may_be_gone() {
    let output =
        whatif(&["recorded-library-first-use.holdup", "--remove", "H4,H1", "--fix", "pinned-reused"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("pinned-reused + remove H4 + remove H1"), "{shown}");
    let unknown = refuses(&["recorded-library-first-use.holdup", "--remove", "H99"]);
    assert!(unknown.contains("--remove: no finding `H99`: `holdup explain --all` has H1 to H"), "{unknown}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let unknown = refuses(&["recorded-d2h-stall.holdup", "--fix", "own-steam"]);
    assert!(unknown.contains("no change `own-steam`: try own-stream, "), "{unknown}");
    let nothing = refuses(&["recorded-d2h-stall.holdup", "--fix", "mps"]);
    assert!(nothing.contains("mps: it would change nothing here"), "{nothing}");
    let own = refuses(&["recorded-norm-hidden-sync.holdup", "--remove", "H2"]);
    assert!(own.contains("remove H2: no call or pause waits for its cause: --faster asks"), "{own}");
    let directory = tempfile::tempdir().expect("can create");
    let unfit = refuses(&[&unfit::trace(directory.path())]);
    assert!(
        unfit.contains("its replay differs by ") && unfit.contains("`holdup replay` says where"),
        "{unfit}"
    );
}
