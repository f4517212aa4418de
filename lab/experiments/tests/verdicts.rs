//! What verdicts say of measured numbers: `tests/data/verdicts/EXPERIMENT-WHAT.txt` has rows, a line each
//! (`COLUMN=VALUE … : FIGURE=VALUE±SPREAD …`), and the verdict below them, rewritten by `HOLDUP_UPDATE=1`. A line
//! `set NAME=VALUE …` says what is not at its default, a line `device NAME=VALUE …` what is known of the device.

use experiments::{Bench, Cell, Figure, Results, Row, Settings};
use std::path::Path;

const BREAK: &str = "--- verdict\n";

fn cell(text: &str) -> Cell {
    match text {
        "yes" => Cell::Flag(true),
        "no" => Cell::Flag(false),
        "default" => Cell::Default,
        "none" => Cell::Nothing,
        text => text.parse().map_or(Cell::from(text), Cell::Number),
    }
}

fn name(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn row(line: &str) -> Row {
    let (varied, figures) = line.split_once(" : ").expect("columns and figures");
    let pair = |word: &'_ str| -> (&'static str, String) {
        let (own, value) = word.split_once('=').expect("a name and a value");
        (name(own), value.to_owned())
    };
    let varied =
        varied.split_ascii_whitespace().map(pair).map(|(name, value)| (name, cell(&value))).collect();
    let mut row = Row { varied, figures: Vec::new(), max_error: None, each: Vec::new() };
    for (name, value) in figures.split_ascii_whitespace().map(pair) {
        let (value, spread) = match value.split_once('±') {
            Some((value, spread)) => (value, Some(spread)),
            None => (value.as_str(), None),
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        match name {
            "max_error" => row.max_error = Some(number(value)),
            name => row.figures.push(Figure { name, value: number(value), spread: spread.map(number) }),
        }
    }
    row
}

fn results(file: &str, rows: &str) -> Results {
    let experiment = experiments::CATALOGUE.iter().find(|experiment| file.starts_with(experiment.name));
    let experiment = experiment.expect("a file is named after its experiment");
    let lines = rows.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (set, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("set "));
    let (devices, lines): (Vec<&str>, Vec<&str>) =
        lines.into_iter().partition(|line| line.starts_with("device "));
    let mut devices = devices.into_iter().flat_map(str::split_ascii_whitespace);
    let said: Vec<(&str, &str)> = devices.by_ref().filter_map(|word| word.split_once('=')).collect();
    let device = |name: &str| said.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
    let set: Vec<String> =
        set.iter().flat_map(|line| line.split_ascii_whitespace().skip(1)).map(str::to_owned).collect();
    let mut rows: Vec<Row> = lines.into_iter().map(row).collect();
    if let Some(relation) = &experiment.relation {
        relation.relate(&mut rows);
    }
    Results {
        experiment,
        bench: Bench {
            name: String::from("NVIDIA H200"),
            gpus: 1,
            copy_engines: device("copy-engines").map_or(Some(2), |count| count.parse().ok()),
            own_queues: device("own-queues").map(|yes| yes == "yes"),
            joint_signals: device("joint-signals").map(|yes| yes == "yes"),
            ..Bench::default()
        },
        settings: Settings::new(experiment.name, experiment.parameters, &set).expect("well set"),
        rounds: 3,
        rows,
        left_out: Vec::new(),
        notes: Vec::new(),
        partial: None,
        traced: false,
        traces: Vec::new(),
    }
}

#[test]
fn verdicts_follow_from_the_numbers() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/verdicts");
    let mut files: Vec<_> =
        std::fs::read_dir(&directory).expect("there").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= experiments::CATALOGUE.len(), "an experiment without a verdict's test");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let (rows, expected) = text.split_once(BREAK).unwrap_or((&text, ""));
        let file = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let said =
            results(file, rows).verdict().iter().map(|sentence| format!("{sentence}\n")).collect::<String>();
        if std::env::var_os("HOLDUP_UPDATE").is_some() {
            std::fs::write(&path, format!("{rows}{BREAK}{said}")).expect("can write");
        } else {
            assert_eq!(said, expected, "{file}");
        }
    }
}
