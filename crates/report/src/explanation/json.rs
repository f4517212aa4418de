//! The serialized form of an explanation; its names are a contract.

use explain::Explanation;

/// One explanation as one JSON object.
pub fn json(explanation: &Explanation) -> String {
    pretty(explanation)
}

/// The explanations of several traces as one JSON array.
pub fn json_array(explanations: &[Explanation]) -> String {
    pretty(explanations)
}

fn pretty<T: serde::Serialize + ?Sized>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("numbers and strings always serialize");
    text.push('\n');
    text
}
