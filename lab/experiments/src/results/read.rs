//! Reading the results that an earlier run wrote as JSON.

use super::figure::Figure;
use super::partial::Partial;
use super::row::Row;
use crate::experiment::{Bench, Cell, Column, Experiment, Results, Settings};
use serde_json::{Map, Value};

const REMEDY: &str = "expected what `holdup lab run NAME --format json` writes";

impl Results {
    /// Reads what [`json`](crate::json()) wrote. The verdict and the plot are made again; there are no traces.
    ///
    /// # Errors
    /// One line that says what is wrong with the text.
    pub fn read(text: &str) -> Result<Results, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}: {REMEDY}"))?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let (Some(name), Some(rows)) = (text("experiment"), value.get("rows").and_then(Value::as_array))
        else {
            return Err(format!("not results of an experiment: {REMEDY}"));
        };
        let experiment = crate::catalogue::experiment(name)?;
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
        let rows = rows
            .iter()
            .enumerate()
            .map(|(at, row)| self::row(experiment, row).map_err(|problem| format!("row {at}: {problem}")));
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

/// Text of a file without anything that moves a terminal's cursor or breaks a table.
fn harmless(text: &str) -> String {
    report::visible(text).into_owned()
}

/// The values of a parameter.
fn values(value: &Value) -> Option<Vec<Cell>> {
    value.as_array()?.iter().map(|value| cell(value, Cell::Default)).collect()
}

/// A cell; `null` is what JSON's `null` stands for.
fn cell(value: &Value, null: Cell) -> Option<Cell> {
    match value {
        Value::Null => Some(null),
        Value::Bool(flag) => Some(Cell::Flag(*flag)),
        Value::Number(number) => number.as_u64().map(Cell::Number),
        Value::String(text) => Some(Cell::Text(harmless(text))),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Keys of a row besides the experiment's columns: `max_error`, `simulated`, `each`, and those of its first figure.
const BESIDE: [&str; 6] = ["spread", "samples", "interval", "max_error", "simulated", "each"];

/// Ends of keys that belong to another figure than the first: `NAME_spread`.
const OF_FIGURES: [&str; 3] = ["_spread", "_samples", "_interval"];

/// A row: all columns that it has, in the order that the experiment declares.
///
/// A column that the experiment does not declare is an error. It cannot be kept, because nothing states whether it
/// distinguishes rows or was measured; without a column that distinguishes them, two rows would be one.
fn row(experiment: &Experiment, row: &Value) -> Result<Row, String> {
    let object = row.as_object().ok_or_else(|| format!("not an object: {REMEDY}"))?;
    no_unknown_column(experiment, object)?;
    let mut row = Row { varied: Vec::new(), figures: Vec::new(), max_error: None, each: Vec::new() };
    for column in experiment.columns {
        let Some(value) = object.get(column.name) else { continue };
        if column.is_figure() {
            let figure = figure(column, value, object, row.figures.is_empty());
            row.figures.push(figure);
        } else {
            let cell = cell(value, column.null());
            let cell =
                cell.ok_or_else(|| format!("`{}` is neither a text nor a number: {REMEDY}", column.name))?;
            row.varied.push((column.name, cell));
        }
    }
    if row.varied.is_empty() {
        return Err(format!("no column of {}: {REMEDY}", experiment.name));
    }
    // JSON has no infinity: `null` is the error of a result that was not a number.
    let max_error = object.get("max_error").map(number);
    row.max_error = max_error.map(|error| if error.is_nan() { f64::INFINITY } else { error });
    let each = object.get("each").and_then(Value::as_array).into_iter().flatten();
    row.each = each.map(|worker| self::worker(experiment, worker)).collect::<Result<_, _>>()?;
    Ok(row)
}

/// A row within a row, which has no further ones: a file cannot make the reader recurse.
fn worker(experiment: &Experiment, worker: &Value) -> Result<Row, String> {
    match worker.get("each") {
        Some(_) => Err(format!("`each` within `each`: {REMEDY}")),
        None => row(experiment, worker),
    }
}

fn no_unknown_column(experiment: &Experiment, object: &Map<String, Value>) -> Result<(), String> {
    let is_known = |name: &str| {
        let of_figure = OF_FIGURES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let is = |column: &Column| column.name == of_figure;
        BESIDE.contains(&name) || experiment.columns.iter().any(is)
    };
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => Err(format!(
            "unknown column `{}`: {} does not have it in this version of holdup: use the version that wrote the file",
            harmless(name),
            experiment.name
        )),
        None => Ok(()),
    }
}

fn figure(column: &Column, value: &Value, object: &Map<String, Value>, is_first: bool) -> Figure {
    let of = |what: &str| object.get(&super::write::beside(column.name, what, is_first));
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().map(|values| values.iter().map(number).collect()).unwrap_or_default()
    };
    Figure {
        name: column.name,
        value: number(value),
        spread: of("spread").map(number).filter(|spread| !spread.is_nan()),
        samples: of("samples").map(numbers).unwrap_or_default(),
        interval: of("interval").and_then(|ends| numbers(ends).try_into().ok()),
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn partial(value: &Value) -> Partial {
    let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
    let why = value.get("why").and_then(Value::as_str).unwrap_or("the run did not finish");
    let (missing, incomplete) = (number("variants"), number("incomplete"));
    Partial { why: harmless(why), missing, incomplete, of: number("of") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts on a row with that error, before it is written and after it is read again.
    fn verdicts(max_error: Option<f64>) -> [Vec<String>; 2] {
        let figures = vec![Figure::new("ms", 1.0, None)];
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
    fn errors_of_results_survive_writing_and_reading() {
        for error in [None, Some(0.0), Some(0.5), Some(f64::INFINITY)] {
            let [first, again] = verdicts(error);
            assert_eq!(first, again, "{error:?}");
        }
        assert!(!verdicts(Some(f64::INFINITY))[1].contains(&String::from("Every result was right.")));
    }

    #[test]
    fn samples_and_intervals_survive_writing_and_reading() {
        let text = r#"{"experiment": "multi-gpu", "rows": [
            {"variant": "threads", "workers": 2, "ms": 1.5, "spread": 0.1, "samples": [1.4, null, 1.6],
             "slowest_ms": 2, "slowest_ms_samples": [2, 2, 2.1], "slowdown": 1.1, "slowdown_interval": [1, 1.2],
             "each": [{"worker": 0, "ms": 1, "samples": [1]}]},
            {"variant": "threads", "workers": 1, "ms": 1, "samples": "none", "slowdown": 1, "slowdown_interval": [1]}]}"#;
        let results = Results::read(text).expect("own JSON");
        let [row, other] = &results.rows[..] else { panic!("two rows") };
        let samples = |row: &Row, name| row.figure(name).expect("there").samples.clone();
        assert!(samples(row, "ms").len() == 3 && samples(row, "ms")[1].is_nan());
        assert_eq!(
            (samples(row, "slowest_ms"), samples(&row.each[0], "ms")),
            (vec![2.0, 2.0, 2.1], vec![1.0])
        );
        assert_eq!(row.figure("slowdown").and_then(|figure| figure.interval), Some([1.0, 1.2]));
        assert_eq!(
            (samples(other, "ms"), other.figure("slowdown").expect("there").interval),
            (Vec::new(), None)
        );
        let written = crate::json(&results, None).to_string();
        let again = Results::read(&written).expect("own JSON");
        assert_eq!(crate::json(&again, None).to_string(), written);
        assert!(written.contains(r#""samples":[1.4,null,1.6]"#), "{written}");
    }

    fn problem(row: &str) -> String {
        let text = format!(r#"{{"experiment": "overlap", "rows": [{{"variant": "x", "ms": 1}}, {row}]}}"#);
        Results::read(&text).err().unwrap_or_default()
    }

    #[test]
    fn a_column_that_the_experiment_does_not_declare_is_refused() {
        let unknown = problem(r#"{"variant": "x", "colour": "red"}"#);
        assert!(unknown.starts_with("row 1: unknown column `colour`: overlap does not have it"), "{unknown}");
        assert!(
            problem(r#"{"variant": "x", "colour_spread": 1}"#).contains("unknown column `colour_spread`")
        );
        let within = problem(r#"{"variant": "x", "each": [{"colour": "red"}]}"#);
        assert!(within.contains("unknown column `colour`"), "{within}");
        // A column of another experiment is unknown here, too.
        assert!(problem(r#"{"variant": "x", "workers": 1}"#).contains("unknown column `workers`"));
    }

    #[test]
    fn an_invalid_row_is_refused() {
        for row in
            ["1", "{}", r#"{"ms": 1}"#, r#"{"variant": {}}"#, r#"{"variant": "x", "each": [{"each": []}]}"#]
        {
            assert!(problem(row).starts_with("row 1: "), "{row}");
        }
    }
}
