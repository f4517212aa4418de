//! Plots as files: `tests/data/plot/NAME.svg`, which `UPDATE_EXPECT=1` rewrites. View them when they change.

use report::plot::{
    Bar, Bars, Chart, Heat, Lane, Lanes, Lines, Panel, Plot, Point, Series, Shade, Span, SpanStyle, svg,
};

/// Checks that a chart is drawn as in its file.
fn holds(name: &str, chart: Chart) {
    let title = format!("{name}: iterations & <labels>");
    let subtitle = String::from("NVIDIA H200, driver 580.159 · 3 rounds, ± half of their range");
    let drawn = svg(&Plot { title, subtitle, chart });
    is_well_formed(&drawn);
    let path = format!("{}/tests/data/plot/{name}.svg", env!("CARGO_MANIFEST_DIR"));
    expect_test::expect_file![path].assert_eq(&drawn);
}

/// Checks that the text is XML, and that every number in it is finite.
fn is_well_formed(text: &str) {
    let document = roxmltree::Document::parse(text).expect("XML");
    let attributes = document.descendants().flat_map(|node| node.attributes());
    for attribute in attributes.filter(|attribute| attribute.name() != "font-family") {
        let value = attribute.value();
        assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
    }
}

fn series(name: &str, values: &[f64]) -> Series {
    let point = |(at, y): (usize, &f64)| Point { x: (1u32 << at) as f64, y: *y, spread: y * 0.03 };
    Series { name: name.to_owned(), points: values.iter().enumerate().map(point).collect() }
}

#[test]
fn lines() {
    // Section 3 of the H200 measurements.
    let series = vec![
        series("threads, pinned", &[287.0, 562.0, 1036.0, 1967.0, 1976.0, 2167.0]),
        series("threads, pageable", &[270.0, 529.0, 960.0, 1662.0, 1728.0]),
        series("threads, pageable, sync", &[274.0, 532.0, 989.0, 1780.0, 1934.0]),
        series("processes, pinned", &[284.0, 271.0, 270.0, 270.0]),
        series("processes-mps, pinned", &[284.0, 558.0, 1030.0, 1906.0, 3227.0, 3833.0]),
        series("threads-mps, pinned", &[284.0, 559.0, 575.0, 580.0, 564.0]),
    ];
    holds(
        "lines",
        Chart::Lines(Lines { x: String::from("workers"), y: String::from("iterations/s"), series }),
    );
}

#[test]
fn bars() {
    let bar = |name: &str, value: f64| Bar {
        name: name.to_owned(),
        value,
        text: format!("{value} ms"),
        spread: value * 0.05,
    };
    let bars = vec![
        bar("sequential, pinned", 2.746),
        bar("depth-first, pinned, 4 streams", 1.704),
        bar("breadth-first, pinned, 4 streams", 1.693),
        bar("sequential, pageable", 11.768),
        bar("depth-first, pageable, 4 streams", 12.173),
    ];
    holds("bars", Chart::Bars(Bars { value: String::from("ms"), bars }));
}

#[test]
fn heat() {
    let rows = ["launch", "allocate", "allocate-busy", "copy-out-pageable", "synchronize-context"];
    let cell = |row: usize, column: usize| {
        let value = 1.07 * 3f64.powi(((row * 7 + column * 3) % 8) as i32);
        (row != 1 || !column.is_multiple_of(4)).then(|| Shade { value, text: format!("{value:.1}") })
    };
    let heat = Heat {
        value: String::from("times as long"),
        range: (1.0, 1000.0),
        groups: ["launches", "copies", "allocations"].map(|name| (name.to_owned(), 4)).to_vec(),
        columns: ["same-stream", "own-stream", "own-context", "other-gpu"]
            .repeat(3)
            .into_iter()
            .map(String::from)
            .collect(),
        rows: rows
            .iter()
            .enumerate()
            .map(|(row, name)| ((*name).to_owned(), (0..12).map(|at| cell(row, at)).collect()))
            .collect(),
    };
    holds("heat", Chart::Heat(heat));
}

#[test]
fn lanes() {
    let span = |(look, label, start_us, end_us): (SpanStyle, &str, i64, i64)| {
        let text = format!("{label} <of {}>", end_us - start_us);
        Span { start_ns: start_us * 1_000, end_ns: end_us * 1_000, look, label: label.to_owned(), text }
    };
    let lane = |name: &str, spans: &[(SpanStyle, &str, i64, i64)]| {
        let spans = spans.iter().copied().map(span).collect();
        Lane { name: name.to_owned(), spans }
    };
    let whole = [
        lane(
            "main",
            &[(SpanStyle::Host, "cuMemcpyHtoD", 0, 3_040), (SpanStyle::Host, "cuMemcpyDtoH", 3_041, 10_020)],
        ),
        lane(
            "stream",
            &[
                (SpanStyle::In, "in", 0, 3_030),
                (SpanStyle::Kernel, "k", 3_060, 7_300),
                (SpanStyle::Out, "out", 7_310, 10_010),
            ],
        ),
    ];
    let cut = [
        lane("main", &[(SpanStyle::Host, "cuCtxSynchronize", 12, 5_760)]),
        lane(
            "stream 1",
            &[
                (SpanStyle::In, "in", 0, 1_520),
                (SpanStyle::Kernel, "k", 1_540, 3_660),
                (SpanStyle::Out, "out", 3_670, 5_020),
            ],
        ),
        // Too short for their names, and for a pixel.
        lane("stream 2", &[(SpanStyle::Other, "fill", 1_000, 1_001), (SpanStyle::In, "in", 1_530, 1_560)]),
    ];
    let panel = |name: &str, note: &str, lanes: &[Lane]| Panel {
        name: name.to_owned(),
        note: note.to_owned(),
        lanes: lanes.to_vec(),
    };
    let panels =
        vec![panel("sequential", "10.0 ms", &whole), panel("depth-first, 2 streams", "5.76 ms", &cut)];
    holds("lanes", Chart::Lanes(Lanes { panels }));
}

#[test]
fn empty_plots_are_well_formed() {
    let empty = |chart| is_well_formed(&svg(&Plot { title: String::new(), subtitle: String::new(), chart }));
    empty(Chart::Lines(Lines { x: String::new(), y: String::new(), series: vec![series("none", &[])] }));
    empty(Chart::Bars(Bars { value: String::new(), bars: vec![] }));
    let one = Bar { name: String::from("zero"), value: 0.0, text: String::from("0"), spread: 0.0 };
    empty(Chart::Bars(Bars { value: String::new(), bars: vec![one] }));
    empty(Chart::Lanes(Lanes { panels: vec![] }));
    let lanes = vec![Lane { name: String::from("stream"), spans: vec![] }];
    let (name, note) = (String::from("none"), String::new());
    empty(Chart::Lanes(Lanes { panels: vec![Panel { name, note, lanes }] }));
    let (groups, columns, rows) = (vec![], vec![], vec![(String::from("row"), vec![])]);
    empty(Chart::Heat(Heat { value: String::new(), range: (1.0, 1.0), groups, columns, rows }));
}
