//! The gates as SARIF 2.1.0, which GitHub and editors show at the lines: a result for each reason.

use super::Comparison;
use super::gate::{Reason, doubts, reasons};
use explain::{About, Cause, Place};
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The rule of a time beyond its limit, which has no cause.
const TIME: &str = "time";

/// A comparison as one run. `file` makes the name of a source file one that the reader knows: relative to the repository's root.
pub fn sarif(comparison: &Comparison, file: impl Fn(&str) -> String) -> String {
    let reasons = reasons(&comparison.diff);
    let notes = doubts(&comparison.diff);
    let notes: Vec<Value> =
        notes.iter().map(|line| json!({ "level": "note", "message": { "text": line } })).collect();
    let mut causes: Vec<Option<Cause>> = reasons.iter().map(cause).collect();
    causes.sort_unstable();
    causes.dedup();
    let results: Vec<Value> = reasons.iter().map(|reason| result(reason, &causes, &file)).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "holdup",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": causes.iter().map(|cause| rule(*cause)).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notes }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn cause(reason: &Reason<'_>) -> Option<Cause> {
    reason.red.map(|red| red.cause)
}

fn rule(cause: Option<Cause>) -> Value {
    let (id, meaning) = match cause {
        Some(cause) => (cause.id(), About::of(cause).meaning),
        None => (TIME, "a step, or the program, takes longer"),
    };
    json!({
        "id": id,
        "shortDescription": { "text": meaning },
        "defaultConfiguration": { "level": "error" },
    })
}

fn result(reason: &Reason<'_>, causes: &[Option<Cause>], file: &impl Fn(&str) -> String) -> Value {
    let cause = cause(reason);
    let mut result = json!({
        "ruleId": cause.map_or(TIME, Cause::id),
        "ruleIndex": causes.iter().position(|other| *other == cause),
        "level": "error",
        "message": { "text": reason.line },
        "partialFingerprints": { "holdupGate/v1": fingerprint(reason) },
    });
    if let Some(place) = reason.red.and_then(|red| red.place.as_ref()).filter(|place| !place.file.is_empty())
    {
        result["locations"] = json!([location(place, file)]);
    }
    result
}

/// The same for the same gate, cause and function: lines and figures change.
fn fingerprint(reason: &Reason<'_>) -> String {
    let place = reason.red.and_then(|red| red.place.as_ref());
    let name = place.map_or("", |place| place.file.rsplit('/').next().unwrap_or_default());
    let function = place.map_or("", |place| place.function.as_str());
    format!("{}:{}:{name}:{function}", reason.gate.gate.id(), cause(reason).map_or(TIME, Cause::id))
}

fn location(place: &Place, file: &impl Fn(&str) -> String) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(&file(&place.file)) } });
    if place.line > 0 {
        physical["region"] = json!({ "startLine": place.line });
    }
    let mut location = json!({ "physicalLocation": physical });
    if !place.function.is_empty() {
        location["logicalLocations"] = json!([{ "name": place.function, "kind": "function" }]);
    }
    location
}

/// A path as a URI: relative as it is, absolute with its scheme.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
