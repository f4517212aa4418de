//! `holdup lab` and `holdup devices` without a GPU; what they print is in `tests/data/lab/`, rewritten by `UPDATE_EXPECT=1`.
//! What each experiment prints is tested in `lab_runs.rs`.

mod calibrate;
mod command;
#[cfg(unix)]
#[path = "../../../record/tests/support/interruptible.rs"]
mod interruptible;

use command::{check, holdup, printed};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The one line of a refusal that prints nothing else.
fn refusal(arguments: &str) -> String {
    let output = holdup(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    assert!(output.stdout.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    said.trim_end().to_owned()
}

/// A line `…` in README stands for lines that it leaves out.
#[test]
fn the_readme_shows_the_output_of_an_experiment() {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once("$ holdup lab run ").expect("an example");
    let (command, rest) = rest.split_once('\n').expect("its output");
    let (shown, _) = rest.split_once("```").expect("its end");
    let printed = printed(&format!("lab run {command}"));
    let mut rest = printed.as_str();
    for (at, piece) in shown.split("…\n").enumerate() {
        let found = rest.find(piece).unwrap_or_else(|| panic!("README shows\n{piece}\nand not\n{rest}"));
        assert!(at > 0 || found == 0, "{printed}");
        rest = &rest[found + piece.len()..];
    }
    assert!(rest.is_empty() || shown.ends_with("…\n"), "README leaves out\n{rest}");
}

/// `docs/lab/h200.md` shows the results beside it, and their plots, as `holdup lab show` does.
#[test]
fn the_recorded_results_match_their_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    let page = std::fs::read_to_string(docs.join("h200.md")).expect("there");
    let mut expected = String::new();
    for (at, part) in page.split("<!-- end -->").enumerate() {
        expected.push_str(if at == 0 { "" } else { "<!-- end -->" });
        // Comments before it are the book's.
        let Some((text, rest)) = part.rsplit_once("\n<!-- ") else {
            expected.push_str(part);
            continue;
        };
        let (name, _) = rest.split_once(" -->").expect("the name of a file");
        let (shown, drawn) = shown(&docs.join("h200").join(name));
        expected.push_str(&format!("{text}\n<!-- {name} -->\n\n![{name}](h200/{name}.svg)\n{shown}\n"));
        same(&docs.join(format!("h200/{name}.svg")), &drawn);
    }
    same(&docs.join("h200.md"), &expected);
}

/// Text that `holdup lab show` prints of a file below its heading, and the plot that it draws.
fn shown(results: &Path) -> (String, String) {
    let directory = directory();
    let plot = directory.path().join("plot.svg");
    let markdown =
        printed(&format!("lab show {}.json --format markdown --plot {}", results.display(), plot.display()));
    let (_, below) = markdown.split_once('\n').expect("a heading");
    (below.to_owned(), std::fs::read_to_string(plot).expect("written"))
}

/// Whether a file holds that.
fn same(path: &Path, text: &str) {
    if std::env::var_os("HOLDUP_UPDATE").is_some() {
        std::fs::write(path, text).expect("can write");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "{} is out of date", path.display());
}

#[test]
fn models_are_described_as_devices_are() {
    check("devices-c1060.txt", "devices --on sim:c1060");
    check("devices-h200x8.json", "devices --on sim:h200x8 --format json");
}

#[test]
fn runs_of_one_experiment_are_shown_together() {
    let directory = directory();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let base = "lab run multi-gpu --on sim:a4000x10 --set times=200 --set load=products --set sync=no";
    let json = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&printed(&format!("{arguments} --format json"))).expect("JSON")
    };
    // Workers alone relate to one worker, who is in the other file.
    printed(&format!("{base} --set workers=1 --format json -o {}", file("one.json")));
    printed(&format!("{base} --set workers=4,10 --format json -o {}", file("more.json")));
    let (whole, together) = (
        json(&format!("{base} --set workers=1,4,10")),
        json(&format!("lab show {} {}", file("one.json"), file("more.json"))),
    );
    let sorted = |results: &serde_json::Value| {
        let mut rows: Vec<String> =
            results["rows"].as_array().expect("rows").iter().map(|row| row.to_string()).collect();
        rows.sort();
        rows
    };
    assert_eq!(sorted(&whole).len(), 6);
    assert_eq!(sorted(&whole), sorted(&together));
    assert_eq!(whole["verdict"], together["verdict"]);

    for (name, variants, of) in [("one.json", 1, 3), ("more.json", 2, 6)] {
        let mut results =
            serde_json::from_slice::<serde_json::Value>(&std::fs::read(file(name)).expect("there"))
                .expect("JSON");
        results["missing"] = serde_json::json!({"why": "interrupted", "variants": variants, "of": of});
        std::fs::write(file(name), results.to_string()).expect("can write");
    }
    let together = json(&format!("lab show {} {}", file("one.json"), file("more.json")));
    assert_eq!((&together["missing"]["variants"], &together["missing"]["of"]), (&3.into(), &9.into()));

    printed(&format!(
        "lab run multi-gpu --on sim:h200x8 --set workers=1 --set times=200 --format json -o {}",
        file("other.json")
    ));
    let problem = refusal(&format!("lab show {} {}", file("one.json"), file("other.json")));
    assert!(
        problem.contains("other.json: multi-gpu on ") && problem.contains("cannot be merged with"),
        "{problem}"
    );
    let problem = refusal(&format!("lab show {} --baseline {}", file("one.json"), file("none.json")));
    assert!(problem.contains("none.json"), "{problem}");
}

#[test]
fn a_resumed_run_measures_only_missing_rows() {
    let directory = directory();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let base = "lab run multi-gpu --on sim:a4000x10 --set times=200 --set workers=1,2,4 --format json";
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let resumed = |name: &str| json(&printed(&format!("{base} --resume {}", file(name))));
    let mut whole = json(&printed(base));
    std::fs::write(file("whole.json"), whole.to_string()).expect("can write");
    // As an interruption leaves it: some rows are not there.
    let mut part = whole.clone();
    let keep = |row: &serde_json::Value| row["workers"] != 2 && row["load"] != "modules";
    part["rows"].as_array_mut().expect("rows").retain(keep);
    part["missing"] = serde_json::json!({"why": "interrupted", "variants": 9, "of": 30});
    std::fs::write(file("part.json"), part.to_string()).expect("can write");
    assert_eq!(resumed("whole.json"), whole, "nothing is left to run");
    whole["notes"].as_array_mut().expect("notes").push("rows come from several runs".into());
    assert_eq!(resumed("part.json"), whole);
    // What is there is not run again: another figure stands, and others relate to it.
    part["rows"][0]["ms"] = 1234.into();
    std::fs::write(file("changed.json"), part.to_string()).expect("can write");
    let changed = resumed("changed.json");
    assert_eq!(changed["rows"][0]["ms"], 1234);
    assert_ne!(changed["rows"][1]["slowdown"], whole["rows"][1]["slowdown"]);

    let problem = |arguments: &str| refusal(&format!("{arguments} --resume {}", file("whole.json")));
    let other = problem("lab run multi-gpu --on sim:a4000x10 --set times=100");
    assert!(other.contains("whole.json: measured with times=200, this run has times=100"), "{other}");
    let other = problem("lab run multi-gpu --on sim:h200x8 --set times=200");
    assert!(
        other.contains("whole.json: multi-gpu on ") && other.contains("cannot be merged with"),
        "{other}"
    );
    let other = problem("lab run overlap --on sim:a4000x10");
    assert!(other.contains("whole.json: results of multi-gpu, not of overlap"), "{other}");
    let traced = problem(&format!("{base} --trace {}", file("trace.holdup")));
    assert!(traced.contains("--trace: no variant is left to run"), "{traced}");
}

#[test]
fn hostile_results_are_harmless() {
    let directory = directory();
    let file = directory.path().join("hostile.json");
    let text =
        printed("lab run architectures --on sim:h200 --set threads=1,8 --set iterations=2 --format json");
    let mut results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    const NAME: &str = "\u{1b}[2J|<script>alert(1)</script>\n\u{202e}";
    results["device"] = NAME.into();
    results["driver"] = NAME.into();
    results["rounds"] = u64::MAX.into();
    results["simulated"] = false.into();
    results["notes"] = vec![NAME].into();
    for (at, row) in results["rows"].as_array_mut().expect("rows").iter_mut().enumerate() {
        let value = [f64::MAX, -1.0, 0.0, 1e-300][at % 4];
        row["per_s"] = value.into();
        row["spread"] = value.into();
        let huge = [1e300, f64::MIN_POSITIVE, 1e300, f64::MIN_POSITIVE, f64::MAX];
        row["samples"] = if at % 3 == 0 { NAME.into() } else { huge[at % 2..].to_vec().into() };
        row["max_error"] = value.into();
        row["workers"] = [u64::MAX, 0, 1, 8][at % 4].into();
        row["variant"] = if at % 2 == 0 { NAME.into() } else { row["variant"].clone() };
        row["connections"] = u64::MAX.into();
    }
    std::fs::write(&file, results.to_string()).expect("can write");
    for form in ["text", "json", "markdown", "html"] {
        let shown =
            printed(&format!("lab show {} --format {form} --baseline {}", file.display(), file.display()));
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{form}: {shown}");
        assert!(form == "json" || form == "text" || !shown.contains("<script>alert"), "{form}");
    }
    // Rows without any figure.
    std::fs::write(&file, r#"{"experiment": "overlap", "rows": [{"variant": "x", "streams": 1}]}"#)
        .expect("can write");
    assert!(printed(&format!("lab show {}", file.display())).contains("Too few variants ran for a verdict."));
    for (text, words) in [
        ("[]", "not results of an experiment"),
        (r#"{"experiment": "x", "rows": []}"#, "unknown experiment `x`: expected one of architectures,"),
        (
            r#"{"experiment": "overlap", "rows": [{}]}"#,
            "row 0: no column of overlap: expected what `holdup lab run",
        ),
        (r#"{"experiment": "overlap", "rows": [{"variant": []}]}"#, "row 0: `variant` is neither"),
        (
            r#"{"experiment": "overlap", "rows": [{"variant": "x", "colour": 1}]}"#,
            "row 0: unknown column `colour`",
        ),
        ("{\"experiment\": \"overlap\", \"rows\": [", "not JSON"),
    ] {
        std::fs::write(&file, text).expect("can write");
        let problem = refusal(&format!("lab show {}", file.display()));
        assert!(problem.contains("hostile.json") && problem.contains(words), "{problem}");
    }
}

#[test]
fn a_trace_is_kept_that_explain_reads() {
    let directory = directory();
    let file = directory.path().join("stall.holdup");
    let variant = "variant=same-stream,beside=copy,memory=pageable";
    printed(&format!(
        "lab run launch-stall --on sim:h200 --set time=200ms --variant {variant} --trace {}",
        file.display()
    ));
    let explained = printed(&format!("explain {}", file.display()));
    assert!(explained.contains("driver-lock") && explained.contains("cuMemcpyDtoHAsync"), "{explained}");
    // Each of several variants has a file, named after what distinguishes it.
    let overlap =
        format!("lab run overlap --on sim:h200 --trace {}", directory.path().join("o.holdup").display());
    printed(&format!("{overlap} --set memory=pinned"));
    let mut names: Vec<String> = entries(directory.path())
        .into_iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with('o'))
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["o-breadth-first-4-streams.holdup", "o-depth-first-4-streams.holdup", "o-sequential.holdup"]
    );
    let breadth = directory.path().join("o-breadth-first-4-streams.holdup");
    assert!(printed(&format!("ops {}", breadth.display())).contains("increment"));
    assert!(refusal(&format!("{overlap} --set memory=pinned")).contains("already exists"));
}

#[test]
fn an_earlier_run_is_a_baseline() {
    let directory = directory();
    let file = directory.path().join("c1060.json");
    printed(&format!(
        "lab run overlap --on sim:c1060 --set memory=pinned --format json -o {}",
        file.display()
    ));
    let again = format!("lab run overlap --set memory=pinned --baseline {}", file.display());
    let same = printed(&format!("{again} --on sim:c1060"));
    assert!(same.contains("Against Tesla C1060, driver 310.19: none of 3 rows differs"), "{same}");
    let faster = printed(&format!("{again} --on sim:c2050"));
    assert!(faster.contains("of 3 rows, 3 are better and 0 worse"), "{faster}");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&format!("{again} --on sim:c2050 --format json"))).expect("JSON");
    assert_eq!(json["baseline"]["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["baseline"]["rows"][0]["beyond_spread"], true);
}

#[test]
fn only_force_replaces_a_file() {
    let directory = directory();
    let file = directory.path().join("out.json");
    std::fs::write(&file, "mine").expect("can write");
    let arguments = format!("lab run overlap --on sim:c1060 --format json -o {}", file.display());
    assert!(refusal(&arguments).contains("already exists"));
    assert_eq!(std::fs::read_to_string(&file).expect("readable"), "mine");
    printed(&format!("{arguments} --force"));
    assert!(std::fs::read_to_string(&file).expect("readable").starts_with('{'));
    assert_eq!(entries(directory.path()), std::slice::from_ref(&file));
    let page = arguments.replace("format json", "format html");
    assert!(refusal(&page).contains("already exists"));
    let around = directory.path().join(".").join(file.file_name().expect("a name"));
    for again in [&file, &around] {
        let twice = refusal(&format!("{arguments} --force --plot {}", again.display()));
        assert!(twice.contains("named twice"), "{twice}");
    }
}

#[test]
fn impossible_commands_are_refused_in_one_line_with_a_remedy() {
    let cases = [
        ("lab run sideways", "unknown experiment `sideways`: expected one of architectures, stagger,"),
        ("lab list sideways", "unknown experiment `sideways`"),
        ("lab run overlap", "or simulate a GPU with --on sim:h200"),
        ("lab run overlap --on gpu", "--on gpu: "),
        ("devices --on gpu", "--on gpu: "),
        ("lab run overlap --on tpu", "--on tpu: expected gpu or sim:MODEL"),
        ("lab run overlap --on sim:", "--on sim:: expected a model after the colon: one of c1060,"),
        ("lab run overlap --on sim:h900", "h900: unknown model: expected one of c1060,"),
        ("devices --on sim:h900", "h900: unknown model"),
        (
            "lab run overlap --on sim:h200 --set colour=red",
            "unknown setting `colour` for `overlap`: expected one of variant, memory,",
        ),
        ("lab run overlap --on sim:h200 --set streams=many", "expected a whole number from 1 to 64"),
        ("lab run overlap --on sim:h200 --set streams", "expected NAME=VALUE"),
        ("lab run overlap --on sim:h200 --set streams=3", "not divisible among 3 streams"),
        (
            "lab run mine.toml --on sim:h200 --format html",
            "--format html is for experiments; mine.toml is a file",
        ),
        ("lab run overlap --on sim:h200 --variant up", "expected COLUMN=VALUE"),
        (
            "lab run overlap --on sim:h200 --variant variant=up",
            "no variant matches; the first of 6 is variant=sequential",
        ),
        ("lab run overlap --on sim:c1060 --set bytes=8GiB", "out of memory"),
        ("lab run architectures --on sim:h200 --set length=1000", "use a multiple of 256"),
        ("lab run architectures --on sim:c1060 --set variant=threads-mps", "has no MPS"),
        ("lab run overlap --on sim:h200 --baseline /nowhere/old.json", "/nowhere/old.json: No such file"),
        ("lab run overlap --on sim:h200 -o /nowhere/new.json", "/nowhere/new.json: cannot be written"),
        ("lab run /nowhere/mine.toml", "/nowhere/mine.toml: No such file"),
        ("lab run mine.toml --set a=b", "--set is for experiments; mine.toml is a file"),
    ];
    for (arguments, words) in cases {
        let problem = refusal(arguments);
        assert!(
            problem.starts_with("holdup: ") && problem.contains(words),
            "{arguments}: wanted {words:?}: {problem}"
        );
    }
}

#[test]
fn an_invalid_baseline_is_refused() {
    let directory = directory();
    let file = directory.path().join("old.json");
    for (text, words) in [
        ("not", "not JSON"),
        ("{}", "not results of an experiment"),
        (r#"{"experiment": "stagger", "rows": []}"#, "results of stagger, not of overlap"),
    ] {
        std::fs::write(&file, text).expect("can write");
        let problem = refusal(&format!("lab run overlap --on sim:h200 --baseline {}", file.display()));
        assert!(problem.contains("old.json") && problem.contains(words), "{problem}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_its_rows_as_partial_results() {
    use std::time::Duration;
    let directory = directory();
    let file = directory.path().join("partial.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    // More than a hundred variants, each a fraction of a second: it is in the middle of them for long.
    let arguments = "lab run interference --on sim:h200 --set time=2s --format json -o";
    command.args(arguments.split(' ')).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = interruptible::interruptible(&mut command).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_secs(4));
    let killed =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let output = child.wait_with_output().expect("the program ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("holdup: interrupted; the results are partial: ") && said.lines().count() == 1,
        "{said}"
    );
    let text = std::fs::read_to_string(&file).expect("written");
    let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(results["partial"], true);
    assert!(!results["rows"].as_array().expect("rows").is_empty());
    assert!(printed(&format!("lab show {}", file.display())).contains("\nPARTIAL: interrupted; "));
    assert_eq!(entries(directory.path()), [file]);
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("readable");
    entries.map(|entry| entry.expect("readable").path()).collect()
}

#[test]
fn names_of_a_workload_cannot_control_a_terminal() {
    let directory = directory();
    let file = directory.path().join("names.toml");
    let text = r#"
        name = "\u001b[2Jw"
        [[process]]
        name = "\u001b]0;title\u0007p"
        [[process.thread]]
        name = "a\u202eb"
        body = ["synchronize-context"]
    "#;
    std::fs::write(&file, text).expect("can write");
    let said = printed(&format!("lab run {} --on sim:h200", file.display()));
    assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said:?}");
    assert!(said.contains("\\u{1b}]0;title"), "{said}");
}

#[test]
fn one_variant_of_a_matrix_runs_with_its_base_and_has_a_trace() {
    let directory = directory();
    let file = directory.path().join("one.holdup");
    let chosen = "--variant variant=own-stream,call=allocate,effect=launches";
    let text = printed(&format!(
        "lab run interference --on sim:h200 {chosen} --set time=5ms --trace {}",
        file.display()
    ));
    assert!(text.contains(" of 1 pairs B takes at least twice as long"), "{text}");
    assert!(file.exists());
}
