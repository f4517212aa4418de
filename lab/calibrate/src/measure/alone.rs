//! Costs of calls that one thread makes while nothing else runs.

use super::runs::{Runs, STREAM, script, workload};
use crate::draft::{Draft, RuleField, set};
use crate::sections::{Label, Sections};
use crate::statistics::Sample;
use sim::{Model, Rule};
use workload::{Kernel, Memory, Steps, StreamId, Workload};

/// Runs it.
pub(super) fn measure(runs: &mut Runs<'_>) -> Result<(), String> {
    runs.read(calls(), &[launches, rules])
}

fn calls() -> (Workload, Vec<Label>) {
    workload("calls", |process, context| {
        let [s, other, made] = ["s", "other", "made"].map(|name| process.stream(name, context, STREAM));
        let [event, created] = ["event", "created"].map(|name| process.event(name, context));
        let floats = process.buffer("floats", context, Memory::Device, 4096);
        let thread = process.thread("caller", context);
        thread.before().allocate(floats);
        // One first launch of each of these kernels, then a warm-up.
        let kernels = [
            Kernel::Empty,
            Kernel::Delay { cycles: 100 },
            Kernel::Increment { buffer: floats, offset: 0.into(), length: 32, rounds: 1 },
            Kernel::NormPartial { from: floats, partial: floats, length: 32 },
            Kernel::NormFinal { partial: floats, to: floats, length: 1 },
        ];
        // Two in turn, with arguments, as programs launch them.
        let turns = [kernels[3].clone(), kernels[4].clone()];
        for kernel in kernels {
            thread.before().launch(kernel, 1, 32, s).synchronize(s);
        }
        thread.before().repeat(50, |steps| launched(steps, &turns, s)).synchronize(s);
        thread.after().free(floats);
        script(thread, |script| {
            script.rounds("launch", 0, 40, |steps| {
                steps.repeat(5, |steps| launched(steps, &turns, s)).synchronize(s);
            });
            script.rounds("synchronize", 0, 300, |steps| {
                steps.synchronize(s);
            });
            script.part("order", 0, |steps| {
                steps.record(event, s).repeat(200, |steps| {
                    steps.record(event, s).wait(event, other);
                });
            });
            script.rounds("query", 0, 200, |steps| {
                steps.query_event(event).query(s);
            });
            script.rounds("event", 0, 200, |steps| {
                steps.create_event(created).destroy_event(created);
            });
            script.rounds("stream", 0, 100, |steps| {
                steps.create_stream(made).destroy_stream(made);
            });
            script.rounds("module", 0, 8, |steps| {
                steps.load_module();
            });
        })
    })
}

fn launched(steps: &mut Steps<'_>, kernels: &[Kernel], stream: StreamId) {
    for kernel in kernels {
        steps.launch(kernel.clone(), 1, 32, stream);
    }
}

/// The launch, and the first launch of a kernel.
fn launches(sections: &Sections<'_>, draft: &mut Draft) {
    let Some(section) = sections.get("launch") else { return };
    let Some(launch) = section.sample("cuLaunchKernel") else { return };
    draft.divide("launch", |model| &mut model.calls.launch, launch);
    let first = sections.before.took("cuLaunchKernel").into_iter().take(FIRST);
    if let Some(first) = Sample::of(first.map(|took| took - launch.median)) {
        let origin = format!("measured: {first}; a kernel's first launch less later ones");
        set!(draft, calls.first_launch_ns = first.median.max(0), origin);
    }
}

/// The number of kernels that are launched for the first time before anything else.
const FIRST: usize = 5;

/// A rule, with the section and the calls that measure it.
type RuleReading = (&'static str, &'static str, &'static [&'static str], RuleField);

const READ: &[RuleReading] = &[
    ("synchronize", "synchronize", &["cuStreamSynchronize"], |model| &mut model.calls.synchronize),
    ("order", "order", &["cuEventRecord", "cuStreamWaitEvent"], |model| &mut model.calls.order),
    ("query", "query", &["cuEventQuery", "cuStreamQuery"], |model| &mut model.calls.query),
    ("event", "event", &["cuEventCreate", "cuEventDestroy"], |model| &mut model.calls.event),
    ("stream", "stream", &["cuStreamCreate"], |model| &mut model.calls.stream),
    ("stream_destroy", "stream", &["cuStreamDestroy"], destroy),
    ("module_load", "module", &["cuModuleLoadData"], |model| &mut model.calls.module_load),
    ("module_unload", "module", &["cuModuleUnload"], |model| &mut model.calls.module_unload),
];

/// The rule of destroying a stream, which a model may not have.
pub(super) fn destroy(model: &mut Model) -> &mut Rule {
    let like = model.calls.stream.clone();
    model.calls.stream_destroy.get_or_insert(like)
}

fn rules(sections: &Sections<'_>, draft: &mut Draft) {
    for (field, section, names, rule) in READ {
        let Some(section) = sections.get(section) else { continue };
        if let Some(sample) = Sample::of(names.iter().flat_map(|name| section.took(name))) {
            draft.divide(field, *rule, sample);
        }
    }
}
