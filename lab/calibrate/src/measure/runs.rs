//! Runs of workloads for a measurement, and the parts that workloads share.

use crate::draft::Draft;
use crate::sections::{Label, Script, Sections};
use crate::{Bench, Facts, Ran};
use workload::{ContextId, Process, StreamKind, Thread, Workload};

/// Machine, facts and draft that a measurement works with.
pub(super) struct Runs<'a> {
    pub bench: &'a dyn Bench,
    pub facts: &'a Facts,
    pub draft: &'a mut Draft,
}

impl Runs<'_> {
    /// Runs a workload. How long its contexts took is kept.
    pub fn run(&mut self, workload: &Workload) -> Result<Ran, String> {
        let ran = self.bench.run(workload)?;
        self.draft.contexts_ns.extend(&ran.contexts_ns);
        Ok(ran)
    }

    /// Runs a workload, and reads the sections of its first thread into the draft.
    pub fn read(
        &mut self,
        (workload, labels): (Workload, Vec<Label>),
        readers: &[fn(&Sections<'_>, &mut Draft)],
    ) -> Result<(), String> {
        let ran = self.run(&workload)?;
        let sections = Sections::of(&ran.trace, 0, &labels);
        readers.iter().for_each(|read| read(&sections, self.draft));
        Ok(())
    }

    /// The median time of a launch, ns.
    pub fn launch_ns(&self) -> i64 {
        let launch = &self.draft.model.calls.launch;
        (launch.before_ns + launch.held_ns + launch.after_ns).max(1)
    }

    /// The clock cycles of that time on the device.
    pub fn cycles(&self, ns: i64) -> u64 {
        (ns.max(1) as u64).saturating_mul(self.draft.model.device.clock_mhz) / 1000
    }
}

/// A workload of one process on the first device, with what `fill` adds to it.
pub(super) fn workload<R>(name: &str, fill: impl FnOnce(&mut Process, ContextId) -> R) -> (Workload, R) {
    let mut workload = Workload::new(name);
    let process = workload.process("calibrate");
    let context = process.primary(0);
    let result = fill(process, context);
    (workload, result)
}

/// Writes the script of a thread. Returns its labels.
pub(super) fn script(thread: &mut Thread, write: impl FnOnce(&mut Script<'_>)) -> Vec<Label> {
    let mut script = Script::new(thread);
    write(&mut script);
    script.end()
}

/// The kind of the streams of measurements: they wait for no other stream.
pub(super) const STREAM: StreamKind = StreamKind::NonBlocking;
