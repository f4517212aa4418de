//! Capturing and launching graphs, and the gap between their nodes.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, set};
use crate::sections::{Label, Section, Sections};
use crate::statistics::{Line, Sample, per_unit};
use workload::{Kernel, Workload};

/// Nodes of graphs.
const NODES: [u64; 4] = [1, 10, 40, 160];

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(graphs(), &[captures, launches])
}

fn graphs() -> (Workload, Vec<Label>) {
    workload("graphs", |process, context| {
        let s = process.stream("s", context, STREAM);
        let graphs = NODES.map(|nodes| (nodes, process.graph(format!("g{nodes}"))));
        let warm = process.graph("warm");
        let thread = process.thread("caller", context);
        thread.before().launch(Kernel::Empty, 1, 32, s).synchronize(s);
        thread.before().capture(warm, s, |steps| {
            steps.launch(Kernel::Empty, 1, 32, s);
        });
        thread.before().repeat(10, |steps| {
            steps.launch_graph(warm, s).synchronize(s);
        });
        script(thread, |script| {
            for (nodes, graph) in graphs {
                script.rounds("capture", nodes, 8, |steps| {
                    steps.capture(graph, s, |steps| {
                        steps.repeat(nodes, |steps| {
                            steps.launch(Kernel::Empty, 1, 32, s);
                        });
                    });
                });
                script.rounds("launch", nodes, 60, |steps| {
                    steps.launch_graph(graph, s).synchronize(s);
                });
            }
        })
    })
}

/// The times of whole captures: from their begin, where the driver's calls are recorded, to the end of the instantiation.
fn capturing(section: &Section<'_>) -> Vec<i64> {
    match section.spans("cuStreamBeginCapture", "cuGraphInstantiate") {
        none if none.is_empty() => section.took("cuGraphInstantiate"),
        spans => spans,
    }
}

fn captures(sections: &Sections<'_>, draft: &mut Draft) {
    let samples = sections.samples("capture", capturing);
    let (Some(line), Some((_, sample))) = (Line::of(&samples), samples.first()) else { return };
    let per_node = per_unit(line.per_unit);
    let fixed = Sample { median: line.at_zero.round() as i64, ..*sample };
    draft.divide("capture", |model| &mut model.calls.capture, fixed);
    set!(draft, calls.capture.unit_ns = per_node, "measured: captures of 1 to 160 launches");
}

fn launches(sections: &Sections<'_>, draft: &mut Draft) {
    let samples = sections.samples("launch", |part| part.took("cuGraphLaunch"));
    let (Some(line), Some((_, sample))) = (Line::of(&samples), samples.first()) else { return };
    let per_node = per_unit(line.per_unit);
    let fixed = Sample { median: line.at_zero.round() as i64, ..*sample };
    draft.divide("graph_launch", |model| &mut model.calls.graph_launch, fixed);
    set!(draft, calls.graph_launch.unit_ns = per_node, "measured: graphs of 1 to 160 kernels");
    let trips = sections.samples("launch", |part| part.spans("cuGraphLaunch", "cuStreamSynchronize"));
    let Some(trip) = Line::of(&trips) else { return };
    nodes(trip.per_unit, (trip.per_unit - per_node).round() as i64, draft);
}

/// The gap between nodes; if an empty one takes less time with it than the base's kernel without, that is how long a kernel takes, and the
/// gap between launched kernels is longer by the difference (H200: 521 ns from node to node, 1.41 µs from kernel to kernel).
fn nodes(period_ns: f64, node_ns: i64, draft: &mut Draft) {
    let (base_ns, node_ns) = (draft.model.kernels.base_ns, node_ns.max(1));
    let origin = format!("measured: {period_ns:.0} ns from node to node, less its launch");
    if node_ns < base_ns {
        let gap_ns = draft.model.device.gap_ns + base_ns - node_ns;
        set!(draft, kernels.base_ns = node_ns, origin.clone());
        set!(
            draft,
            device.gap_ns = gap_ns,
            "measured: from kernel to kernel, less cycles and kernels.base_ns"
        );
    }
    let gap_ns = node_ns - draft.model.kernels.base_ns;
    set!(draft, device.graph_gap_ns = gap_ns.max(0), format!("{origin} and kernels.base_ns"));
}
