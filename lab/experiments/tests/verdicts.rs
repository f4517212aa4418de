//! The verdicts on measured numbers: `tests/data/verdicts/EXPERIMENT-WHAT.txt` has rows, one line each
//! (`COLUMN=VALUE … : FIGURE=VALUE±SPREAD …`), and the verdict below them, which `UPDATE_EXPECT=1` rewrites. `FIGURE=A,B,C` has
//! the values of rounds instead, which took turns. A line `set NAME=VALUE …` changes settings, a line `device NAME=VALUE …` states properties of the device. One file is one test
//! of that name.

use experiments::{Bench, Cell, Experiment, Figure, Results, Row, Settings};
use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};

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

/// The name of a column that the experiment declares.
fn column(experiment: &Experiment, name: &str) -> &'static str {
    let column = experiment.columns.iter().find(|column| column.name == name);
    column.unwrap_or_else(|| panic!("{} declares no column {name}", experiment.name)).name
}

fn row(experiment: &Experiment, line: &str) -> Row {
    let (varied, figures) = line.split_once(" : ").expect("columns and figures");
    let pair = |word: &'_ str| -> (String, String) {
        let (name, value) = word.split_once('=').expect("a name and a value");
        (name.to_owned(), value.to_owned())
    };
    let varied = varied.split_ascii_whitespace().map(pair);
    let varied = varied.map(|(name, value)| (column(experiment, &name), cell(&value))).collect();
    let mut row = Row { varied, figures: Vec::new(), max_error: None, each: Vec::new() };
    for (name, value) in figures.split_ascii_whitespace().map(pair) {
        let (value, spread) = match value.split_once('±') {
            Some((value, spread)) => (value, Some(spread)),
            None => (value.as_str(), None),
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        match name.as_str() {
            "max_error" => row.max_error = Some(number(value)),
            name => {
                let name = column(experiment, name);
                row.figures.push(match value.contains(',') {
                    true => Figure::of_rounds(name, value.split(',').map(number).collect()),
                    false => Figure::new(name, number(value), spread.map(number)),
                });
            }
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
    let mut rows: Vec<Row> = lines.into_iter().map(|line| row(experiment, line)).collect();
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

fn main() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/verdicts");
    let files = std::fs::read_dir(&directory).expect("there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.sort();
    let names: Vec<String> = files.iter().map(|path| file_name(path)).collect();
    let mut tests: Vec<Trial> = files.into_iter().map(case).collect();
    tests.push(Trial::test("every_experiment_has_a_case", move || {
        for experiment in experiments::CATALOGUE {
            assert!(names.iter().any(|name| name.starts_with(experiment.name)), "{}", experiment.name);
        }
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn file_name(path: &Path) -> String {
    path.file_stem().and_then(|name| name.to_str()).expect("UTF-8").to_owned()
}

/// The test of one file.
fn case(path: PathBuf) -> Trial {
    let file = file_name(&path);
    Trial::test(file.replace('-', "_"), move || {
        let text = std::fs::read_to_string(&path).expect("readable");
        let rows = text.split_once(BREAK).map_or(&*text, |(rows, _)| rows);
        let sentences = results(&file, rows).verdict();
        let verdict = sentences.iter().map(|sentence| format!("{sentence}\n")).collect::<String>();
        expect_test::expect_file![&path].assert_eq(&format!("{rows}{BREAK}{verdict}"));
        Ok(())
    })
}
