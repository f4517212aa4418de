//! Every experiment on a model: `tests/data/lab/NAME.run` has the arguments of `holdup lab run`, settings that make it
//! short; the text and the JSON that it prints are beside it, rewritten by `HOLDUP_UPDATE=1`. Each run is tested in every
//! form, one test each, and every experiment of the catalogue needs a run.

#[path = "lab/command.rs"]
mod command;

use command::{check, printed};
use experiments::{CATALOGUE, Experiment};
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn main() {
    let runs = runs();
    let mut tests: Vec<Trial> = runs.iter().flat_map(Run::tests).collect();
    tests.extend(CATALOGUE.iter().map(|experiment| {
        let name = experiment.name;
        trial(format!("{name}_is_described"), move || {
            check(&format!("list-{name}.txt"), &format!("lab list {name}"));
        })
    }));
    tests.push(trial("the_catalogue_is_listed".to_owned(), || {
        check("list.txt", "lab list");
        check("list.json", "lab list --format json");
    }));
    tests.push(trial("every_experiment_has_a_run".to_owned(), move || {
        for experiment in CATALOGUE {
            assert!(runs.iter().any(|run| run.experiment.name == experiment.name), "{}", experiment.name);
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn trial(name: String, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name.replace('-', "_"), || {
        test();
        Ok(())
    })
}

/// A file `NAME.run`.
#[derive(Clone)]
struct Run {
    name: String,
    experiment: &'static Experiment,
    arguments: String,
}

fn runs() -> Vec<Run> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lab");
    let files = std::fs::read_dir(folder).expect("there").map(|file| file.expect("readable").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "run")).collect();
    files.sort();
    files.iter().map(|path| Run::of(path)).collect()
}

impl Run {
    fn of(path: &Path) -> Run {
        let arguments = std::fs::read_to_string(path).expect("readable").trim_end().to_owned();
        let (experiment, _) = arguments.split_once(' ').expect("an experiment and its settings");
        let experiment = experiments::experiment(experiment).expect("in the catalogue");
        let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        assert!(name.starts_with(experiment.name), "{name} is a run of {}", experiment.name);
        Run { name, experiment, arguments }
    }

    fn tests(&self) -> Vec<Trial> {
        let test = |what: &str, test: fn(&Run)| {
            let run = self.clone();
            trial(format!("{}_{what}", self.name), move || test(&run))
        };
        vec![
            test("prints_json", |run| check(&format!("{}.json", run.name), &run.as_json())),
            test("prints_text", |run| check(&format!("{}.txt", run.name), &run.command())),
            test("has_rows_of_declared_columns", has_rows_of_declared_columns),
            test("draws_a_plot", draws_a_plot),
            test("makes_a_page", makes_a_page),
            test("is_shown_again", is_shown_again),
        ]
    }

    fn command(&self) -> String {
        format!("lab run {}", self.arguments)
    }

    fn as_json(&self) -> String {
        format!("{} --format json", self.command())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&printed(&self.as_json())).expect("JSON")
    }
}

fn has_rows_of_declared_columns(run: &Run) {
    let results = run.json();
    assert_eq!(results["experiment"], run.experiment.name);
    assert!(results["device"].is_string() && results["verdict"].is_string());
    for row in results["rows"].as_array().expect("rows") {
        assert!(row["variant"].is_string() && row["simulated"] == true && row["spread"] == 0, "{row}");
        let figures = ["ms", "per_s"].map(|name| row.get(name).and_then(Value::as_f64));
        assert!(figures.into_iter().flatten().next().is_some_and(|value| value > 0.0), "{row}");
        for name in row.as_object().expect("an object").keys() {
            let name = name.strip_suffix("_spread").unwrap_or(name);
            let beside = ["spread", "max_error", "simulated", "each"].contains(&name);
            let declared = run.experiment.columns.iter().any(|column| column.name == name);
            assert!(beside || declared, "{} does not declare {name}", run.experiment.name);
        }
    }
}

fn draws_a_plot(run: &Run) {
    let directory = directory();
    let file = directory.path().join("plot.svg");
    printed(&format!("{} --plot {}", run.as_json(), file.display()));
    let texts = texts(&file);
    assert!(texts.iter().any(|text| text.contains("simulated")), "nothing says that it is simulated");
    // The mean times of calls have a plot of their own, if the experiment measures them.
    let calls = directory.path().join("plot-calls.svg");
    assert_eq!(calls.exists(), run.experiment.averages.is_some());
    if calls.exists() {
        let texts = self::texts(&calls);
        assert!(texts.iter().any(|text| text.starts_with("cuStreamSynchronize, ")), "{texts:?}");
    }
}

/// The texts of a well-formed SVG.
fn texts(path: &Path) -> Vec<String> {
    let drawn = std::fs::read_to_string(path).expect("written");
    let parsed = roxmltree::Document::parse(&drawn).expect("XML");
    parsed.descendants().filter_map(|node| node.text()).map(str::to_owned).collect()
}

fn makes_a_page(run: &Run) {
    let directory = directory();
    let file = directory.path().join("page.html");
    let line = printed(&format!("{} --format html -o {}", run.command(), file.display()));
    assert!(line.starts_with(&format!("{}: ", file.display())) && line.ends_with("B\n"), "{line}");
    let page = std::fs::read_to_string(&file).expect("written");
    assert_eq!(page, printed(&format!("{} --format html", run.command())), "not the same twice");
    assert!(!page.contains(" src=") && !page.contains(" style="));
    let (_, rest) = page.split_once("<main>").expect("main");
    let (main, _) = rest.split_once("</main>").expect("its end");
    let main = format!("<main>{main}</main>");
    let main = roxmltree::Document::parse(&main).expect("elements that end where they should");
    let count = |tag: &str, section: &str| {
        let section = main.descendants().find(|node| node.attribute("id") == Some(section));
        section.map_or(0, |section| section.descendants().filter(|node| node.has_tag_name(tag)).count())
    };
    let results = run.json();
    let rows = results["rows"].as_array().map_or(0, Vec::len);
    assert_eq!(count("tr", "rows"), rows + 1, "rows under their heading");
    let items = main.descendants().filter(|node| node.has_tag_name("li")).filter_map(|node| node.text());
    let items: Vec<&str> = items.collect();
    assert!(items.join(" ").starts_with(results["verdict"].as_str().expect("text")), "{items:?}");
    assert_eq!(count("svg", "plot"), if run.experiment.averages.is_some() { 2 } else { 1 });
    // The boxes of the timelines are named.
    assert_eq!(count("title", "timelines") > 0, run.experiment.timelines.is_some());
}

fn is_shown_again(run: &Run) {
    let directory = directory();
    let file = directory.path().join("results.json");
    let show = format!("lab show {}", file.display());
    printed(&format!("{} -o {}", run.as_json(), file.display()));
    let json = std::fs::read_to_string(&file).expect("written");
    assert_eq!(printed(&format!("{show} --format json")), json);
    // Listings are of traces, which the file does not have.
    let (shown, text) = (printed(&show), printed(&run.command()));
    assert!(text.starts_with(&shown) && shown.len() > 200, "{shown}");
    let plot = directory.path().join("plot.svg");
    let markdown = printed(&format!("{show} --format markdown --plot {}", plot.display()));
    assert_eq!(markdown, printed(&format!("{} --format markdown", run.command())));
    assert!(markdown.starts_with("# ") && markdown.contains("| --- |"), "{markdown}");
    assert!(printed(&format!("{show} --format html")).contains("<svg"));
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}
