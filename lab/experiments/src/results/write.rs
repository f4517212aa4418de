//! Writing results as JSON: `{"experiment", "device", "rows": [{"variant", …}], "verdict"}`.

use super::baseline::{Change, Comparison};
use super::figure::six_digits;
use super::row::Row;
use crate::experiment::{Cell, Results};
use prove::judge::Gain;
use serde_json::{Map, Value, json};

/// The results as a JSON object, with those of a comparison if there is one.
pub fn json(results: &Results, comparison: Option<&Comparison>) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    put("experiment", results.experiment.name.into());
    put("device", results.bench.name.as_str().into());
    put("gpus", results.bench.gpus.into());
    put("driver", results.bench.driver.as_deref().map_or(Value::Null, Value::from));
    put("copy_engines", results.bench.copy_engines.into());
    put("own_queues", results.bench.own_queues.into());
    put("joint_signals", results.bench.joint_signals.into());
    put("simulated", results.bench.simulated.into());
    put("settings", settings(results));
    put("rounds", results.rounds.into());
    put("spread", "half of the range of the rounds".into());
    put("partial", results.partial.is_some().into());
    if let Some(partial) = &results.partial {
        let mut missing = json!({"variants": partial.missing, "of": partial.of, "why": partial.why});
        if partial.incomplete > 0 {
            missing["incomplete"] = partial.incomplete.into();
        }
        put("missing", missing);
    }
    put("left_out", results.left_out.clone().into());
    put("notes", results.notes.clone().into());
    put("rows", results.rows.iter().map(|row| self::row(row, results.bench.simulated)).collect());
    put("verdict", results.verdict().join(" ").into());
    if let Some(comparison) = comparison {
        put("baseline", changes(comparison));
    }
    Value::Object(object)
}

fn settings(results: &Results) -> Value {
    let one = |(name, cells): (&str, &[Cell])| {
        let values: Vec<Value> = cells.iter().cloned().map(Value::from).collect();
        (name.to_owned(), Value::from(values))
    };
    Value::Object(results.settings.iter().map(one).collect())
}

/// The name of what belongs to a figure: that of the first one stands alone, `spread`, others have a prefix, `NAME_spread`.
pub(super) fn beside(figure: &str, what: &str, is_first: bool) -> String {
    if is_first { what.to_owned() } else { format!("{figure}_{what}") }
}

/// A row as one flat object. A figure's spread is null after one round; samples are those of rounds on a GPU.
fn row(row: &Row, simulated: bool) -> Value {
    let mut object = varied(&row.varied);
    for (at, figure) in row.figures.iter().enumerate() {
        object.insert(figure.name.to_owned(), number(figure.value));
        let mut put = |what: &str, value: Value| object.insert(beside(figure.name, what, at == 0), value);
        put("spread", figure.spread.map_or(Value::Null, number));
        if !figure.samples.is_empty() {
            put("samples", figure.samples.iter().copied().map(number).collect());
        }
        if let Some(ends) = figure.interval {
            put("interval", ends.into_iter().map(number).collect());
        }
    }
    if let Some(error) = row.max_error {
        object.insert(String::from("max_error"), number(error));
    }
    object.insert(String::from("simulated"), simulated.into());
    if !row.each.is_empty() {
        let each = row.each.iter().map(|row| self::row(row, simulated)).collect();
        object.insert(String::from("each"), each);
    }
    Value::Object(object)
}

/// The changes, one row each.
fn changes(comparison: &Comparison) -> Value {
    let row = |change: &Change| {
        let mut object = varied(&change.varied);
        object.insert(String::from("figure"), change.figure.into());
        object.insert(String::from("before"), number(change.before));
        object.insert(String::from("now"), number(change.now));
        object.insert(String::from("ratio"), number(change.ratio()));
        object.insert(String::from("beyond_spread"), change.beyond_spread.into());
        if let Some(judged) = &change.judged {
            let Gain { share, low, high } = judged.gain;
            let gain = json!({"share": number(share), "low": number(low), "high": number(high)});
            object.insert(String::from("gain"), gain);
            object.insert(String::from("verdict"), judged.verdict.id().into());
            object.insert(String::from("certain"), judged.steady.into());
        }
        Value::Object(object)
    };
    let Comparison { device, changes, added, gone } = comparison;
    let rows: Vec<Value> = changes.iter().map(row).collect();
    json!({"device": device, "rows": rows, "added": added, "gone": gone, "verdict": comparison.verdict()})
}

/// Values that a row varies, as an object.
fn varied(varied: &[(&'static str, Cell)]) -> Map<String, Value> {
    varied.iter().map(|(name, cell)| ((*name).to_owned(), Value::from(cell.clone()))).collect()
}

/// A number of [`six_digits`].
pub(crate) fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let short = six_digits(value);
    match short.fract() == 0.0 && short.abs() < 1e15 {
        true => (short as i64).into(),
        false => short.into(),
    }
}
