//! The gates as JUnit's XML: a test case for each gate.

use super::Comparison;
use super::gate::{doubts, reasons, title};
use explain::gate::{Gate, GateState};

/// A comparison as one test suite. A gate beyond its limit has a failure for each reason, an inconclusive one is skipped.
pub fn junit(comparison: &Comparison) -> String {
    let gates: &[Gate] = comparison.diff.gate.as_ref().map_or(&[], |judgement| &judgement.gates);
    let count = |state| gates.iter().filter(|gate| gate.state == state).count();
    let (failures, skipped) = (count(GateState::Exceeded), count(GateState::Inconclusive));
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", gates.len());
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&format!("<testsuites name=\"holdup\" {counts}>\n"));
    text.push_str(&format!("  <testsuite name=\"holdup diff\" {counts} skipped=\"{skipped}\">\n"));
    let (reasons, doubts) = (reasons(&comparison.diff), doubts(&comparison.diff));
    for gate in gates {
        let id = gate.gate.id();
        let case = format!("    <testcase classname=\"holdup.gate\" name=\"{id}\"");
        let inner: Vec<String> = match gate.state {
            GateState::Passed => Vec::new(),
            GateState::Exceeded => {
                let of = reasons.iter().filter(|reason| reason.gate.gate == gate.gate);
                of.map(|reason| {
                    let cause = reason.red.map_or("time", |red| red.cause.id());
                    let line = escaped(&reason.line);
                    format!("      <failure type=\"{cause}\" message=\"{line}\">{line}</failure>\n")
                })
                .collect()
            }
            GateState::Inconclusive => {
                let line = doubts.iter().find(|line| line.starts_with(&format!("{id}:")));
                let line = line.map_or(title(gate), String::as_str);
                vec![format!("      <skipped message=\"{}\"/>\n", escaped(line))]
            }
        };
        match inner.is_empty() {
            true => text.push_str(&format!("{case}/>\n")),
            false => text.push_str(&format!("{case}>\n{}    </testcase>\n", inner.concat())),
        }
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// The text within XML, also within quotes; control characters, which XML forbids, as escape sequences.
fn escaped(text: &str) -> String {
    let text = crate::visible(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
