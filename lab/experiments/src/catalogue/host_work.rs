//! Work of the host beside a kernel (seed 002): a launch returns at once, so that a thread can work until it needs the result.

use super::slowdown::takes_longer;
use crate::experiment::{
    Bench, Column, Experiment, Kind, Parameter, Plan, Reading, Settings, Unit, Variant, View, Word,
    choices::words,
};
use crate::results::{Results, Row};
use crate::show::charts;
use std::time::Duration;
use workload::{Kernel, Outcome, StreamKind, Workload};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "host-work",
    about: "work of the host beside a kernel, and after it",
    question: "A thread launches a kernel, works on the host, and waits for the kernel: how much of the work is free? What if it \
               waits first, for the stream or for the whole device?",
    parameters: &[
        Parameter::many(
            "variant",
            "when the host works: beside the kernel, or after a wait for it (cuStreamSynchronize, cuCtxSynchronize)",
            Kind::Words(When::names),
            "beside,after-stream,after-device",
        ),
        Parameter::one("kernel", "the kernel's cycles", Kind::Numbers(1, 1 << 40), "10000000"),
        Parameter::one("work", "the time for which the host works", Kind::Durations, "5ms"),
        Parameter::one("times", "number of rounds", Kind::Numbers(1, 100_000), "100"),
    ],
    columns: &[
        Column::words("variant"),
        Column::measured("ms", "a round", Unit::Milliseconds),
        Column::measured("wait_ms", "in waits", Unit::Milliseconds),
    ],
    rounds: 8,
    warm_up: true,
    variants,
    relation: None,
    verdict,
    chart: |results| charts::bars(results, "ms", "ms a round", &["variant"]),
    view: View::Table,
    timelines: Some(|_| 1),
    checked: false,
    averages: None,
};

words! {
    /// When a thread works on the host.
    When {
        /// Between the launch and the wait for the kernel.
        Beside = "beside",
        /// After a wait for the kernel's stream.
        AfterStream = "after-stream",
        /// After a wait for the whole device.
        AfterDevice = "after-device",
    }
}

/// Values that a case varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// When the host works.
    pub when: When,
    /// The kernel's cycles.
    pub cycles: u64,
    /// The time for which the host works.
    pub work: Duration,
    /// Number of rounds.
    pub times: u64,
}

impl Default for Case {
    fn default() -> Case {
        Case { when: When::Beside, cycles: 10_000_000, work: Duration::from_millis(5), times: 100 }
    }
}

fn variants(settings: &Settings, _: &Bench) -> Result<Plan, String> {
    let case = Case {
        cycles: settings.number("kernel"),
        work: settings.duration("work"),
        times: settings.number("times"),
        ..Case::default()
    };
    let variants = settings.words("variant").into_iter().map(|when| Case { when, ..case.clone() }.variant());
    Ok(Plan { variants: variants.collect(), ..Plan::default() })
}

impl Case {
    /// The workload. Its body is all rounds.
    pub fn workload(&self) -> Workload {
        let mut workload = Workload::new("host-work");
        let process = workload.process("main");
        let context = process.primary(0);
        let stream = process.stream("stream", context, StreamKind::NonBlocking);
        let thread = process.thread("worker", context);
        // Loads the kernel.
        thread.before().launch(Kernel::Delay { cycles: 1 }, 1, 1, stream).synchronize(stream);
        thread.body().repeat(self.times, |steps| {
            steps.launch(Kernel::Delay { cycles: self.cycles }, 1, 1, stream);
            match self.when {
                When::Beside => steps.work(self.work).synchronize(stream),
                When::AfterStream => steps.synchronize(stream).work(self.work),
                When::AfterDevice => steps.synchronize_context().work(self.work),
            };
        });
        workload
    }

    fn variant(self) -> Variant {
        Variant {
            varied: vec![("variant", self.when.name().into())],
            workload: self.workload(),
            timed: true,
            averages: false,
            contention: None,
            read: Box::new(move |outcome| vec![self.read(outcome)]),
        }
    }

    fn read(&self, outcome: &Outcome) -> Reading {
        let thread = &outcome.threads[0];
        let waits = thread.calls.iter().filter(|call| call.name.ends_with("Synchronize"));
        let waited: u64 = waits.map(|call| call.total_ns).sum();
        let a_round = |ns: u64| ns as f64 / 1e6 / self.times as f64;
        Reading {
            figures: vec![("ms", a_round(thread.elapsed_ns)), ("wait_ms", a_round(waited))],
            ..Reading::default()
        }
    }
}

fn verdict(results: &Results) -> Vec<String> {
    let work_ms = results.settings.duration("work").as_secs_f64() * 1e3;
    let row = |when: When| results.row(&[("variant", when.name().into())]);
    let Some(beside) = row(When::Beside) else { return Vec::new() };
    let others = [(When::AfterStream, "its stream"), (When::AfterDevice, "the device")];
    let others = others.into_iter().filter_map(|(when, what)| Some((row(when)?, what)));
    others.map(|(after, what)| of_pair(beside, after, what, work_ms)).collect()
}

fn of_pair(beside: &Row, after: &Row, what: &str, work_ms: f64) -> String {
    let times = format!(
        "A round takes {} with {} of work beside the kernel, and {} with the work after a wait for {what}",
        Unit::Milliseconds.text(beside.value("ms")),
        Unit::Milliseconds.text(work_ms),
        Unit::Milliseconds.text(after.value("ms")),
    );
    if !takes_longer(after, beside) {
        return format!("{times}: nothing is gained beside the kernel.");
    }
    // Noise could make it more than the work itself.
    let free = ((after.value("ms") - beside.value("ms")) / work_ms).min(1.0);
    format!("{times}: {} of the work is free beside the kernel.", Unit::Share.text(free))
}
