//! Gains of fixes, in `holdup explain` as people run it.

mod unfit;

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let output = command.args(arguments).current_dir(examples).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn explained(trace: &str, more: &[&str]) -> Value {
    let arguments: Vec<&str> =
        ["explain", trace, "--all", "--format", "json"].iter().chain(more).copied().collect();
    serde_json::from_str(&printed(&arguments)).expect("JSON")
}

#[test]
fn every_form_has_the_gain() {
    let gain = "would gain 92 % (72 % … 100 %)";
    for form in ["text", "markdown", "html"] {
        let printed = printed(&["explain", "recorded-d2h-stall.holdup", "--all", "--format", form]);
        assert!(printed.contains(gain), "{form}");
    }
}

/// The ids of fixes with their gains.
fn gains(explained: &Value) -> Vec<(String, Value)> {
    let findings = explained["findings"].as_array().expect("findings");
    let fixes = findings.iter().flat_map(|finding| finding["fixes"].as_array().expect("fixes"));
    fixes.map(|fix| (fix["id"].as_str().expect("an id").to_owned(), fix["gain"].clone())).collect()
}

#[test]
fn a_fix_gains_what_whatif_predicts() {
    // All of it is explained: its start-up does not stand out.
    let trace = "pytorch-d2h-stall-reused-buffer.json.gz";
    let whatif: Value = serde_json::from_str(&printed(&["whatif", trace, "--format", "json"])).expect("JSON");
    let explained = explained(trace, &[]);
    assert_eq!(explained["gains_absent"], Value::Null);
    for id in ["own-stream", "pinned-reused"] {
        let predicted = whatif["fixes"].as_array().expect("fixes").iter().find(|one| one["id"] == id);
        let predicted = predicted.expect("it is predicted");
        let (_, gain) = gains(&explained).into_iter().find(|(fix, _)| fix == id).expect("a finding has it");
        for field in ["share", "low", "high"] {
            assert_eq!(gain[field], predicted["gain"][field], "{id}");
        }
        assert_eq!(gain["thread"], predicted["thread"], "{id}");
    }
}

#[test]
fn nothing_is_predicted_unless_it_is_asked_for_and_of_the_whole_trace() {
    let trace = "recorded-d2h-stall.holdup";
    let from = ["--gains", "always", "--from", "10ms"];
    let cases: [(&[&str], Value); 2] = [(&["--gains", "never"], Value::Null), (&from, "selection".into())];
    for (arguments, absent) in cases {
        let explained = explained(trace, arguments);
        assert_eq!(explained["gains_absent"], absent);
        let gains = gains(&explained);
        assert!(!gains.is_empty() && gains.iter().all(|(_, gain)| gain.is_null()), "{arguments:?}");
    }
}

#[test]
fn a_replay_that_does_not_fit_predicts_nothing_and_a_line_says_so() {
    let directory = tempfile::tempdir().expect("can create");
    let trace = &unfit::trace(directory.path());
    assert_eq!(explained(trace, &[])["gains_absent"], "misfit");
    let text = printed(&["explain", trace, "--all"]);
    let why = "what the fixes would gain is unknown: a replay of the trace differs by 38 %, more than 4 %";
    assert!(text.contains(why), "{text}");
    assert!(!printed(&["explain", trace, "--all", "--gains", "never"]).contains(why));
}
