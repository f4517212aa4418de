//! Results that an earlier run wrote as JSON.

use crate::columns::{COLUMNS, FIGURES};
use crate::results::{Figure, Partial, Results, Row};
use crate::{Bench, Cell, Settings};
use serde_json::{Map, Value};

const REMEDY: &str = "give what holdup lab run NAME --format json wrote";

impl Results {
    /// Reads what [`json`](crate::json()) wrote; the verdict and the plot come out anew. It has no traces.
    ///
    /// # Errors
    /// What is wrong with the text, in a line.
    pub fn read(text: &str) -> Result<Results, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}; {REMEDY}"))?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let (Some(name), Some(rows)) = (text("experiment"), value.get("rows").and_then(Value::as_array))
        else {
            return Err(format!("no results of an experiment; {REMEDY}"));
        };
        let experiment = crate::experiment(name)?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64).map(|number| number as u32);
        let lines = |name: &str| -> Vec<String> {
            let lines = value.get(name).and_then(Value::as_array).into_iter().flatten();
            lines.filter_map(Value::as_str).map(harmless).collect()
        };
        let settings = value.get("settings").and_then(Value::as_object);
        let bench = Bench {
            name: harmless(text("device").unwrap_or("unknown device")),
            gpus: number("gpus").unwrap_or(1),
            driver: text("driver").map(harmless),
            copy_engines: number("copy_engines"),
            own_queues: value.get("own_queues").and_then(Value::as_bool),
            joint_signals: value.get("joint_signals").and_then(Value::as_bool),
            simulated: value.get("simulated") == Some(&Value::Bool(true)),
        };
        let rows = rows.iter().enumerate().map(|(at, row)| {
            row.as_object()
                .and_then(self::row)
                .ok_or_else(|| format!("row {at} is no row of {name}; {REMEDY}"))
        });
        Ok(Results {
            experiment,
            bench,
            settings: Settings::read(experiment.name, experiment.parameters, |name| {
                values(settings?.get(name)?)
            })?,
            rounds: number("rounds").unwrap_or(1),
            rows: rows.collect::<Result<_, _>>()?,
            left_out: lines("left_out"),
            notes: lines("notes"),
            partial: value.get("missing").map(partial),
            traced: false,
            traces: Vec::new(),
        })
    }
}

/// Text from a file, in which anything may be: it must not move the cursor or break a table.
fn harmless(text: &str) -> String {
    report::visible(text).into_owned()
}

/// What a parameter was set to.
fn values(value: &Value) -> Option<Vec<Cell>> {
    value.as_array()?.iter().map(|value| cell(value, Cell::Default)).collect()
}

/// A cell; `null` where there is none.
fn cell(value: &Value, null: Cell) -> Option<Cell> {
    match value {
        Value::Null => Some(null),
        Value::Bool(flag) => Some(Cell::Flag(*flag)),
        Value::Number(number) => number.as_u64().map(Cell::Number),
        Value::String(text) => Some(Cell::Text(harmless(text))),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A row: all columns and figures that it has, in their usual order.
fn row(object: &Map<String, Value>) -> Option<Row> {
    let mut varied = Vec::new();
    for name in COLUMNS {
        if let Some(value) = object.get(name) {
            // The driver has a default for its connections; everything else is there or is not.
            let null = if name == "connections" { Cell::Default } else { Cell::Nothing };
            varied.push((name, cell(value, null)?));
        }
    }
    let number = |name: &str| object.get(name).map(|value| value.as_f64().unwrap_or(f64::NAN));
    let mut figures = Vec::new();
    for name in FIGURES {
        if let Some(value) = number(name) {
            let spread = if figures.is_empty() { String::from("spread") } else { format!("{name}_spread") };
            figures.push(Figure { name, value, spread: number(&spread).filter(|spread| !spread.is_nan()) });
        }
    }
    // JSON has no infinity: a result that was nothing like a number has an error of `null`.
    let max_error = number("max_error").map(|error| if error.is_nan() { f64::INFINITY } else { error });
    let each = object.get("each").and_then(Value::as_array).into_iter().flatten();
    // One level is all that is written; further ones are not looked at.
    let each = each.filter_map(|row| self::row(&without_each(row.as_object()?)));
    let each = each.collect();
    (!varied.is_empty()).then_some(Row { varied, figures, max_error, each })
}

fn without_each(object: &Map<String, Value>) -> Map<String, Value> {
    object
        .iter()
        .filter(|(name, _)| *name != "each")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn partial(value: &Value) -> Partial {
    let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
    let why = value.get("why").and_then(Value::as_str).unwrap_or("the run came to no end");
    Partial { why: harmless(why), missing: number("variants"), of: number("of") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a row with that error, at first and once it was written and read again.
    fn said(max_error: Option<f64>) -> [Vec<String>; 2] {
        let figures = vec![Figure { name: "ms", value: 1.0, spread: None }];
        let varied = vec![("variant", Cell::from("sequential")), ("memory", "pinned".into())];
        let experiment = crate::experiment("overlap").expect("there");
        let results = Results {
            experiment,
            bench: Bench::default(),
            settings: Settings::new(experiment.name, experiment.parameters, &[]).expect("defaults"),
            rounds: 1,
            rows: vec![
                Row {
                    varied: varied.clone(),
                    figures: figures.clone(),
                    max_error: Some(0.0),
                    each: Vec::new(),
                },
                Row { varied, figures, max_error, each: Vec::new() },
            ],
            left_out: Vec::new(),
            notes: Vec::new(),
            partial: None,
            traced: false,
            traces: Vec::new(),
        };
        let read = Results::read(&crate::json(&results, None).to_string()).expect("own JSON");
        [results.verdict(), read.verdict()]
    }

    #[test]
    fn results_are_as_right_or_wrong_as_they_were_when_written() {
        for error in [None, Some(0.0), Some(0.5), Some(f64::INFINITY)] {
            let [first, again] = said(error);
            assert_eq!(first, again, "{error:?}");
        }
        assert!(!said(Some(f64::INFINITY))[1].contains(&String::from("Every result was right.")));
    }
}
