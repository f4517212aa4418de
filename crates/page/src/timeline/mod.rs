//! The timeline: threads above, streams below, one box per call and operation, at every zoom.

mod arrows;
mod details;
mod encode;
mod gpus;
mod labels;
mod lanes;
mod levels;
mod steps;
mod streams;
mod threads;

use crate::document::{Data, Section};
use crate::html::Html;
use arrows::{Pointed, pointed, stretches};
use encode::{Encoded, LaneIndex, encode};
use explain::{Explanation, Loss};
use labels::{Label, Labels};
use lanes::{Builder, Kind, Lane, Lanes, Row, Window};
use report::units;
use serde::Serialize;
use steps::Strip;
use trace::{Ns, ThreadId, Trace};

/// Most deflated data of a timeline, bytes: with base64, which takes a third more, a page stays below 25 MB, the limit
/// of many mail servers.
pub(crate) const ROOM: usize = 16 << 20;

/// The remark where the file has no room for the details of every box.
const NOT_ALL_DETAILS: &str = "Some operations and calls have no call, grid and stack here: holdup ops and holdup calls list \
                               them.";

/// The data that the page's script reads first.
#[derive(Serialize)]
struct Model {
    /// The trace's time at the timeline's start, ns.
    start: Ns,
    /// Length of the timeline, ns.
    length: Ns,
    rows: Vec<Row>,
    lanes: Vec<LaneIndex>,
    labels: Vec<Label>,
    findings: Vec<Pointed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Strip>,
}

/// The timeline's rows by thread and stream.
pub(crate) struct Rows {
    names: Vec<String>,
    of_thread: Vec<Option<u32>>,
    window: Window,
}

impl Rows {
    /// The name of a thread; its number among all threads if it has no row.
    pub fn thread(&self, thread: ThreadId) -> String {
        let Some(thread) = thread.some() else { return String::new() };
        let row = self.of_thread.get(thread.index()).copied().flatten();
        row.map_or_else(|| format!("thread no. {}", thread.index()), |row| self.names[row as usize].clone())
    }

    /// A box of a thread in the format of the page's script: row, start, end.
    pub fn target(&self, thread: ThreadId, start: Ns, end: Ns) -> Option<String> {
        let row = self.of_thread.get(thread.some()?.index()).copied().flatten()?;
        let (start, end) = self.window.place(start, end)?;
        Some(format!("{row} {start} {end}"))
    }

    /// A time in the format of the page's script: start, end.
    pub fn time(&self, start: Ns, end: Ns) -> Option<String> {
        self.window.place(start, end).map(|(start, end)| format!("{start} {end}"))
    }
}

/// Extent of a timeline.
struct Wanted {
    window: Window,
    /// Whether the trace goes on outside of it.
    is_cut: bool,
    /// Most deflated data, bytes.
    room: usize,
    /// How to see boxes that are merged; empty if there is no way.
    to_see_each: &'static str,
}

/// A timeline for the script, and remarks about what it lacks.
struct Drawing {
    model: Model,
    data: Vec<Data>,
    row_of_thread: Vec<Option<u32>>,
    remarks: Vec<String>,
}

impl Builder<'_, '_> {
    /// The rows of GPUs, threads and streams.
    fn build(mut self, losses: &[Loss]) -> Lanes {
        let gpus = self.gpus();
        self.threads(losses);
        self.idle(&gpus);
        self.streams();
        self.lanes
    }
}

impl Drawing {
    fn of(trace: &Trace, explanation: &Explanation, losses: &[Loss], wanted: &Wanted) -> Drawing {
        let (window, room) = (wanted.window, wanted.room);
        let mut labels = Labels::new(trace);
        let lanes = Builder::new(trace, explanation, window, &mut labels).build(losses);
        let findings = pointed(trace, explanation, losses, &lanes, window);
        let mut encoded = encode(&lanes.lanes, window.length(), room, &stretches(&findings));
        let all_have_details = details::add(trace, &lanes, window, room, &mut encoded);
        let mut remarks = remarks(explanation, &lanes, &labels, &encoded, wanted);
        if !all_have_details {
            remarks.push(String::from(NOT_ALL_DETAILS));
        }
        let model = Model {
            start: window.start,
            length: window.length(),
            rows: lanes.rows,
            lanes: encoded.lanes,
            labels: counted(labels.all(), &lanes.lanes),
            findings,
            steps: steps::strip(explanation, window),
        };
        Drawing { model, data: encoded.data, row_of_thread: lanes.row_of_thread, remarks }
    }

    /// The data that the script reads: the model first.
    fn into_data(self) -> Vec<Data> {
        let model = serde_json::to_vec(&self.model).expect("numbers and strings always serialize");
        std::iter::once(Data::new("timeline", &model, true)).chain(self.data).collect()
    }
}

/// The part of the timeline that is readable without the script, and its data in about `room` bytes.
pub(crate) fn section(
    trace: &Trace,
    explanation: &Explanation,
    losses: &[Loss],
    selection: &trace::Selection,
    room: usize,
) -> (Section, Rows) {
    let wanted = Wanted {
        window: window(trace, selection),
        is_cut: selection.from.is_some() || selection.to.is_some(),
        room,
        to_see_each: " To see each: holdup explain --format html --from TIME --to TIME.",
    };
    let drawing = Drawing::of(trace, explanation, losses, &wanted);
    let body = body(explanation, &drawing.model.rows, &drawing.remarks);
    let names = drawing.model.rows.iter().map(|row| row.name.clone()).collect();
    let rows = Rows { names, of_thread: drawing.row_of_thread.clone(), window: wanted.window };
    let (title, data) = (String::from("Timeline"), drawing.into_data());
    (Section { id: "timeline", title, body, script: "timeline", data }, rows)
}

/// One of several timelines of a page, all of which begin at the same time.
pub(crate) struct Beside {
    /// Its time at the beginning, ns of the trace.
    pub start: Ns,
    /// Its length, ns.
    pub length: Ns,
    /// Its data; names begin with its own prefix.
    pub data: Vec<Data>,
    /// Remarks about what it lacks.
    pub remarks: Vec<String>,
}

/// A timeline of a page that has several and no findings: it refers to none.
pub(crate) fn beside(
    (trace, explanation, losses): (&Trace, &Explanation, &[Loss]),
    start: Option<Ns>,
    prefix: &str,
    room: usize,
) -> Beside {
    let own = window(trace, &trace::Selection::default());
    let start = start.unwrap_or(own.start);
    let window = Window { start, end: own.end.max(start) };
    let wanted = Wanted { window, is_cut: false, room, to_see_each: "" };
    let mut drawing = Drawing::of(trace, explanation, losses, &wanted);
    drawing.model.findings.clear();
    drawing.model.labels.iter_mut().for_each(|label| label.finding = None);
    drawing.model.steps.iter_mut().for_each(Strip::forget_findings);
    let remarks = std::mem::take(&mut drawing.remarks);
    let data = drawing.into_data().into_iter();
    let data = data.map(|data| Data { name: format!("{prefix}{}", data.name), ..data }).collect();
    Beside { start, length: window.length(), data, remarks }
}

/// The labels with the number of their boxes.
fn counted(mut labels: Vec<Label>, lanes: &[Lane]) -> Vec<Label> {
    for block in lanes.iter().filter(|lane| lane.kind != Kind::Work).flat_map(|lane| &lane.boxes) {
        if let Some(label) = labels.get_mut(block.label as usize) {
            label.count += 1;
        }
    }
    labels
}

/// The time to show: the trace's, or the selected part of it.
fn window(trace: &Trace, selection: &trace::Selection) -> Window {
    let waits = &trace.waits;
    let (first, last) = trace.span().unwrap_or_default();
    let first = waits.start.iter().copied().fold(first, Ns::min);
    let last = waits.end.iter().copied().fold(last, Ns::max);
    let start = selection.from.map_or(first, |from| from.clamp(first, last));
    let end = selection.to.map_or(last, |to| to.clamp(start, last));
    Window { start, end }
}

/// Remarks about what the picture lacks, and how to see it.
fn remarks(
    explanation: &Explanation,
    lanes: &Lanes,
    labels: &Labels<'_>,
    encoded: &Encoded,
    wanted: &Wanted,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if explanation.trace.clock == "separate" {
        remarks.push(String::from(
            "GPU times are on a clock that does not fit the host's: threads and streams do not line up.",
        ));
    }
    let shorter = |width: u64| units::duration(Ns::try_from(width).unwrap_or(Ns::MAX));
    let (calls, ranges) = (encoded.merged_below, encoded.ranges_merged_below);
    let merged = match (calls, ranges) {
        (0, 0) => None,
        (0, _) => Some(format!("ranges of the program below {}", shorter(ranges))),
        _ if ranges <= calls => Some(format!("calls, operations and ranges below {}", shorter(calls))),
        _ => Some(format!(
            "calls and operations below {}, and ranges below {},",
            shorter(calls),
            shorter(ranges)
        )),
    };
    if let Some(merged) = merged {
        let but = if calls > 0 { ", except around the examples of the findings" } else { "" };
        remarks.push(format!(
            "To keep the file small, {merged} that follow each other closely are merged into blocks{but}.{}",
            wanted.to_see_each
        ));
    }
    let gpus = encoded.gpus_merged_below;
    if gpus > calls {
        remarks.push(format!("The rows of GPUs are merged below {}.", shorter(gpus)));
    }
    let engines = encoded.engines_merged_below;
    if engines > calls {
        remarks.push(format!(
            "The rows of engines are merged below {}; the rows of streams show more.",
            shorter(engines)
        ));
    }
    let mut without = |number: u64, one: &str, many: &str, why: &str| {
        if number > 0 {
            remarks.push(format!("Not drawn: {} {why}.", units::counted(number, one, many)));
        }
    };
    without(lanes.rowless, "thread or stream", "threads and streams", "with the least activity");
    without(lanes.too_deep, "box", "boxes", "nested too deeply");
    without(lanes.python, "Python function", "Python functions", "(findings name the lines)");
    if wanted.is_cut {
        remarks.push(String::from("Boxes that extend beyond the selected time are cut at its edges."));
    }
    if labels.nameless > 0 {
        remarks.push(String::from("Names beyond 4 MB of text are omitted."));
    }
    remarks
}

fn body(explanation: &Explanation, all: &[Row], remarks: &[String]) -> Html {
    let mut html = Html::new();
    let engines = if all.iter().any(|row| row.kind == "engine") {
        ", with the engines of each GPU above its streams"
    } else {
        ""
    };
    let rows = |kind: &str| all.iter().filter(|row| row.kind == kind).count() as u64;
    html.leaf(
        "p",
        &[("class", "lede")],
        &format!(
            "{} above, {} below{engines}. A hatched strip under a call is time that it lost.",
            units::counted(rows("thread"), "host thread", "host threads"),
            units::counted(rows("stream"), "GPU stream", "GPU streams")
        ),
    );
    for sentence in report::steps::sentences(explanation.steps.as_ref(), explanation.accounts.refused) {
        html.leaf("p", &[("class", "lede")], &sentence);
    }
    html.open("div", &[("class", "timeline")]);
    html.leaf(
        "p",
        &[("class", "noscript")],
        "The timeline needs JavaScript. The tables below have its numbers.",
    );
    html.close("div");
    for remark in remarks {
        html.leaf("p", &[("class", "remark")], remark);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, Process, Thread};

    /// Two threads: one copies, the other's launch waits for it.
    fn trace() -> Trace {
        let mut trace = Trace::default();
        let process = trace.processes.push(Process { pid: 1, ..Process::default() });
        let [a, b]: [ThreadId; 2] =
            [7, 8].map(|tid| trace.threads.push(Thread { process, tid, ..Thread::default() }));
        let name = trace.strings.intern("cuMemAlloc_v2");
        let launch = trace.strings.intern("cuLaunchKernel");
        for at in 0..3 {
            let start = 1_000_000 * (10 + 10 * at);
            let call = |thread, name, start, end| Call { start, end, thread, name, ..Call::default() };
            trace.calls.push(call(a, name, start, start + 5_000_000));
            trace.calls.push(call(b, launch, start + 100_000, start + 5_050_000));
        }
        trace
    }

    fn arrows(trace: &Trace, selection: &trace::Selection) -> Vec<arrows::Pointed> {
        let options = explain::Options::default();
        let (explanation, losses) = explain::explain_each(trace, &options);
        let window = window(trace, selection);
        let mut labels = Labels::new(trace);
        let lanes = Builder::new(trace, &explanation, window, &mut labels).build(&losses);
        pointed(trace, &explanation, &losses, &lanes, window)
    }

    #[test]
    fn an_arrow_goes_from_the_holders_call_to_the_waiters() {
        let pointed = arrows(&trace(), &trace::Selection::default());
        let first = pointed[0].examples[0].as_ref().expect("is in the timeline");
        let holder = first.holder.expect("has a holder");
        assert_eq!((first.waiter.row, holder.row), (1, 0));
        assert_eq!(first.waiter.start - holder.start, 100_000);
        assert_eq!(first.waiter.end - holder.end, 50_000);
        assert!(first.text.ends_with(" at 0.010 s"), "{}", first.text);
    }

    #[test]
    fn examples_outside_the_selected_time_have_no_arrow() {
        let selection = trace::Selection { from: Some(25_500_000), ..Default::default() };
        let pointed = arrows(&trace(), &selection);
        let inside = pointed[0].examples.iter().filter(|example| example.is_some()).count();
        assert_eq!((pointed[0].examples.len(), inside), (3, 1));
    }

    #[test]
    fn the_longest_times_there_are_have_a_timeline() {
        let mut trace = trace();
        trace.calls.start[0] = Ns::MIN;
        trace.calls.end[4] = Ns::MAX;
        let window = window(&trace, &trace::Selection::default());
        assert_eq!(window.place(Ns::MIN, Ns::MAX), Some((0, u64::MAX)));
        let mut labels = Labels::new(&trace);
        let (explanation, losses) = explain::explain_each(&self::trace(), &explain::Options::default());
        let lanes = Builder::new(&trace, &explanation, window, &mut labels).build(&losses);
        let encoded = encode(&lanes.lanes, window.length(), ROOM, &[(0, u64::MAX)]);
        for (index, lane) in encoded.lanes.iter().zip(&lanes.lanes) {
            let finest = index.levels.last().expect("has a level");
            assert_eq!(finest.chunks.iter().map(|chunk| chunk.3).sum::<usize>(), lane.boxes.len());
        }
        assert_eq!(encoded.lanes.len(), lanes.lanes.len());
    }

    /// A copy in one stream, a kernel in another; without the copy there is nothing to overlap.
    #[test]
    fn engines_are_above_the_streams_of_a_gpu_that_copies_and_computes() {
        let mut trace = Trace::default();
        let device = trace.devices.push(trace::Device { ordinal: 3, ..Default::default() });
        let context = trace.contexts.push(trace::Context { device, ..Default::default() });
        let streams = [13, 14].map(|number| trace.streams.push(trace::Stream { context, number }));
        let op =
            |kind, stream, start| trace::Op { kind, stream, start, end: start + 10, ..Default::default() };
        trace.ops.push(op(trace::OpKind::Kernel, streams[0], 0));
        let rows = |trace: &Trace| -> Vec<String> {
            let (explanation, losses) = explain::explain_each(trace, &explain::Options::default());
            let window = window(trace, &trace::Selection::default());
            let lanes = Builder::new(trace, &explanation, window, &mut Labels::new(trace)).build(&losses);
            lanes.rows.iter().map(|row| format!("{} {} {}", row.group, row.kind, row.name)).collect()
        };
        assert_eq!(rows(&trace), ["GPUs gpu GPU 3", "GPU 3 stream stream 13"]);
        let copy = trace::CopyKind::HtoD;
        trace.ops.push(trace::Op { copy, ..op(trace::OpKind::Copy, streams[1], 5) });
        let expected = ["engine copies in", "engine kernels", "stream stream 13", "stream stream 14"]
            .map(|row| format!("GPU 3 {row}"));
        assert_eq!(rows(&trace)[0], "GPUs gpu GPU 3");
        assert_eq!(rows(&trace)[1..], expected);
    }

    #[test]
    fn an_empty_trace_has_an_empty_timeline() {
        let trace = Trace::default();
        let (explanation, losses) = explain::explain_each(&trace, &explain::Options::default());
        let (section, _) = section(&trace, &explanation, &losses, &trace::Selection::default(), ROOM);
        assert!(section.body.as_str().contains("0 host threads above, 0 GPU streams below"));
    }
}
