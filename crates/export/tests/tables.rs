//! Tables: they hold the trace's values, references are names, and no cell runs as a formula.

use explain::Options;
use export::Export;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::Path;
use trace::*;

fn with_export<T>(trace: &Trace, work: impl FnOnce(&Export<'_>) -> T) -> T {
    let (explanation, losses) = explain::explain_each(trace, &Options::default());
    work(&Export { trace, explanation: &explanation, losses: &losses })
}

fn example(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    import::open(&path, &mut |_| {}).expect("readable")
}

/// Rows of a CSV file according to RFC 4180.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            (true, '"') => quoted = false,
            (true, c) => cell.push(c),
            (false, '"') => {
                assert!(cell.is_empty(), "a quote within a cell");
                quoted = true;
            }
            (false, ',') => row.push(std::mem::take(&mut cell)),
            (false, '\n') => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            (false, c) => cell.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && cell.is_empty(), "the file ends within a line");
    rows
}

/// All tables of a CSV export: name, then a map from column to cell for each row.
fn csv(trace: &Trace) -> BTreeMap<String, Vec<BTreeMap<String, String>>> {
    let directory = tempfile::tempdir().expect("can create");
    with_export(trace, |export| export::csv(export, directory.path(), &mut |_| {})).expect("can write");
    assert!(export::is_export(directory.path()).expect("readable"));
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(directory.path()).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_stem().expect("named").to_str().expect("UTF-8").to_owned();
        if name == "meta" {
            let meta: Meta = serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("JSON");
            assert_eq!(meta, trace.meta);
            continue;
        }
        let mut rows = parse(&std::fs::read_to_string(&path).expect("UTF-8")).into_iter();
        let header = rows.next().expect("a header");
        let row = |row: Vec<String>| {
            assert_eq!(row.len(), header.len(), "{name}");
            header.iter().cloned().zip(row).collect()
        };
        tables.insert(name.clone(), rows.map(row).collect());
    }
    tables
}

#[test]
fn csv_has_every_row_and_words_for_what_it_refers_to() {
    let trace = example("recorded-d2h-stall.holdup");
    let tables = csv(&trace);
    let rows = |table: &str| tables[table].len();
    assert_eq!(
        [rows("calls"), rows("ops"), rows("waits")],
        [trace.calls.len(), trace.ops.len(), trace.waits.len()]
    );
    assert_eq!([rows("ranges"), rows("syncs")], [trace.ranges.len(), trace.syncs.len()]);
    assert_eq!([rows("frames"), rows("stacks")], [trace.frames.len(), trace.stacks.len()]);
    assert_eq!([rows("threads"), rows("streams"), rows("devices")], [trace.threads.len(), 1, 1]);
    for (at, call) in tables["calls"].iter().enumerate() {
        let row = trace.calls.row(CallId::new(at));
        assert_eq!(call["name"], trace.text(row.name));
        assert_eq!(call["duration_ns"], (row.end - row.start).to_string());
        assert_eq!(call["tid"], trace.threads.tid[row.thread.index()].to_string());
    }
    let finding = &tables["findings"][0];
    assert_eq!((finding["id"].as_str(), finding["cause"].as_str()), ("H1", "driver-lock"));
    assert_eq!(finding["holder_call"], "cudaMemcpyAsync");
    assert!(finding["holder_place"].ends_with("d2h_stall.py:21 d2h_worker"), "{}", finding["holder_place"]);
    let own = tables["losses"].iter().filter(|loss| loss["finding"] == "H1");
    assert_eq!(own.clone().count(), 8);
    assert!(own.into_iter().all(|loss| loss["holder_call_name"] == "cudaMemcpyAsync"));
}

/// A Parquet export, packed into an archive, is a `.holdup` file of the same trace; the two additional tables are ignored.
#[test]
fn parquet_is_the_holdup_file_and_what_was_found() {
    let trace = example("recorded-launch-convoy.holdup");
    let directory = tempfile::tempdir().expect("can create");
    with_export(&trace, |export| export::parquet(export, directory.path(), &mut |_| {})).expect("can write");
    assert!(export::is_export(directory.path()).expect("readable"));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory.path()).expect("readable") {
        let path = entry.expect("readable").path();
        names.push(path.file_name().expect("named").to_str().expect("UTF-8").to_owned());
        archive.start_file(names.last().expect("one"), stored).expect("can write");
        archive.write_all(&std::fs::read(path).expect("readable")).expect("can write");
    }
    let again = trace::read(archive.finish().expect("can write").into_inner()).expect("reads back");
    assert_eq!(again.meta, trace.meta);
    assert_eq!(
        [again.calls.len(), again.ops.len(), again.waits.len()],
        [trace.calls.len(), trace.ops.len(), trace.waits.len()]
    );
    assert_eq!(
        (again.waits.start, again.waits.holder_call),
        (trace.waits.start.clone(), trace.waits.holder_call.clone())
    );
    assert!(names.contains(&"findings.parquet".to_owned()) && names.contains(&"losses.parquet".to_owned()));
    with_export(&trace, |export| check_losses(export, &directory.path().join("losses.parquet")));
}

/// Names that a column of the trace has in tables with names.
fn names_of(column: &str) -> Vec<String> {
    let other = match column {
        "process" => "pid".to_owned(),
        "caller" => "called_from".to_owned(),
        "range" => "operator".to_owned(),
        _ => column.replace("stack", "place"),
    };
    let forms = ["", "_ns", "_pid", "_thread"].map(|unit| format!("{column}{unit}"));
    forms.into_iter().chain([other]).collect()
}

#[test]
fn tables_with_names_have_every_column_of_the_trace() {
    let trace = named("x");
    let [plain, resolved] = [(), ()].map(|()| tempfile::tempdir().expect("can create"));
    with_export(&trace, |export| export::parquet(export, plain.path(), &mut |_| {})).expect("can write");
    with_export(&trace, |export| export::csv(export, resolved.path(), &mut |_| {})).expect("can write");
    for table in trace::TABLES {
        let file = std::fs::File::open(plain.path().join(format!("{table}.parquet"))).expect("is there");
        let file = SerializedFileReader::new(file).expect("Parquet");
        let text = std::fs::read_to_string(resolved.path().join(format!("{table}.csv"))).expect("UTF-8");
        let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        for column in file.metadata().file_metadata().schema_descr().columns() {
            let names = names_of(column.name());
            let is_there = names.iter().any(|name| header.contains(&name.as_str()));
            assert!(is_there, "{table}: none of {names:?} in {header:?}");
        }
    }
}

/// Row numbers in `losses.parquet` are those of the other tables.
fn check_losses(export: &Export<'_>, path: &Path) {
    let file = SerializedFileReader::new(std::fs::File::open(path).expect("is there")).expect("Parquet");
    let (mut rows, mut held) = (0, 0);
    for (row, loss) in file.get_row_iter(None).expect("Parquet").zip(export.losses) {
        let row = row.expect("a row");
        let cell =
            |name: &str| row.get_column_iter().find(|(column, _)| *column == name).expect("a column").1;
        assert_eq!(*cell("lost_ns"), Field::Long(loss.lost_ns));
        let call = loss.holder_call.some().map(|call| call.index());
        assert_eq!(*cell("holder_call"), call.map_or(Field::Null, |call| Field::Long(call as i64)));
        if let Some(call) = call {
            held += 1;
            let name = export.trace.text(export.trace.calls.name[call]).to_owned();
            assert_eq!(*cell("holder_call_name"), Field::Str(name));
        }
        rows += 1;
    }
    assert_eq!((rows, file.metadata().file_metadata().num_rows()), (export.losses.len(), rows as i64));
    assert!(held > 500, "{held}");
}

/// A trace with `name` in each table that has names.
fn named(name: &str) -> Trace {
    let mut trace = Trace::default();
    let name = trace.strings.intern(name);
    let process = trace.processes.push(Process { pid: 5, name, ..Process::default() });
    trace.processes.push(Process { pid: 6, name, parent: process, ..Process::default() });
    let thread = trace.threads.push(Thread { process, tid: -7, name, ..Thread::default() });
    trace.devices.push(Device { name, ..Device::default() });
    let frame = trace.frames.push(Frame { function: name, file: name, line: 3, module: name });
    let stack = trace.stacks.push(Stack { frame, caller: StackId::NONE });
    let (kind, domain) = (RangeKind::User, name);
    let range = trace.ranges.push(Range { start: -5, end: 1, thread, kind, name, domain, stack });
    let call =
        trace.calls.push(Call { end: 1_000_000, thread, name, stack, range, result: -1, ..Call::default() });
    trace.ops.push(Op { end: 10, kind: OpKind::Kernel, name, call, ..Op::default() });
    trace.waits.push(Wait { end: 900_000, thread, call, library: name, lock: -1, ..Wait::default() });
    let (layer, handoff) = (LockLayer::Interpreter, 7);
    let gil = Wait { end: 900_000, thread, layer, kind: LockKind::Gil, handoff, ..Wait::default() };
    trace.waits.push(Wait { holder_stack: stack, releaser_stack: stack, stack, ..gil });
    let state = ThreadState::Runnable;
    let (running, runnable) = (1, 2);
    trace.states.push(State { end: 5, thread, running, runnable, state, call: name, ..State::default() });
    trace.limits.push(Limit { end: 5, process, processors: 3, quota: 2_500, ..Limit::default() });
    trace.samples.push(Sample { at: 3, thread, stack, state });
    trace.tallies.push(Tally { thread, kind: TallyKind::Call, name, count: 6, time: 0 });
    trace
}

#[test]
fn hostile_names_stay_cells() {
    let formulas = [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "=cmd|'/c calc'!A0",
        "=HYPERLINK(\"http://x\")",
        "\n=1",
        "＝1",
    ];
    let others = [
        "<script>",
        "\"",
        "a,b",
        "a;b",
        "line\nline\r\nline",
        "\r",
        "nul\0nul",
        "\u{202e}x",
        "'",
        "\u{feff}",
        "",
    ];
    let long = "m,\"".repeat(1 << 19);
    for (name, runs) in formulas
        .iter()
        .map(|name| (*name, true))
        .chain(others.iter().map(|name| (*name, false)))
        .chain([(long.as_str(), false)])
    {
        let tables = csv(&named(name));
        let expected = format!("{}{}", if runs { "'" } else { "" }, name.replace('\0', "\u{2400}"));
        for (table, column) in [
            ("processes", "name"),
            ("threads", "name"),
            ("devices", "name"),
            ("frames", "file"),
            ("ranges", "name"),
            ("ranges", "domain"),
            ("calls", "name"),
            ("calls", "thread"),
            ("waits", "library"),
            ("states", "call"),
            ("tallies", "name"),
            ("tallies", "thread"),
        ] {
            assert_eq!(tables[table][0][column], expected, "{table}.{column}");
        }
        // Numbers are not text: they do not change.
        assert_eq!((&*tables["calls"][0]["tid"], &*tables["calls"][0]["result"]), ("-7", "-1"));
        assert_eq!(&*tables["ranges"][0]["start_ns"], "-5");
        let cells = |table: &str, row: usize, columns: &[&str]| -> Vec<String> {
            columns.iter().map(|column| tables[table][row][*column].clone()).collect()
        };
        let gil = cells("waits", 1, &["layer", "kind", "handoff_ns", "lock"]);
        assert_eq!(gil, ["interpreter", "gil", "7", "0x0"]);
        let places = cells("waits", 1, &["place", "holder_place", "releaser_place"]);
        let sample = cells("samples", 0, &["at_ns", "tid", "state", "place"]);
        let place = tables["calls"][0]["place"].clone();
        assert_eq!((places, &sample[3]), (vec![place.clone(); 3], &place));
        assert_eq!(sample[..3], ["3", "-7", "runnable"]);
        assert!(tables["samples"][0]["frame"].contains(":3"));
        let state = cells("states", 0, &["duration_ns", "running_ns", "runnable_ns", "state", "object"]);
        assert_eq!(state, ["5", "1", "2", "runnable", ""]);
        let parents = [0, 1].map(|row| cells("processes", row, &["pid", "parent_pid"]));
        assert_eq!(parents, [["5", ""], ["6", "5"]]);
        let limit = cells("limits", 0, &["pid", "processors", "quota", "throttled_ns"]);
        assert_eq!(limit, ["5", "3", "2500", "0"]);
        assert_eq!(cells("tallies", 0, &["kind", "count", "time_ns"]), ["call", "6", ""]);
    }
}

#[test]
fn a_directory_of_something_else_is_no_export() {
    let directory = tempfile::tempdir().expect("can create");
    let path = directory.path();
    assert!(!export::is_export(path).expect("readable"), "an empty directory is no export");
    std::fs::write(path.join("meta.json"), "{}").expect("can write");
    std::fs::write(path.join("calls.csv"), "").expect("can write");
    assert!(export::is_export(path).expect("readable"));
    std::fs::write(path.join("thesis.csv"), "").expect("can write");
    assert!(!export::is_export(path).expect("readable"));
}
