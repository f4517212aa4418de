//! Names and sizes of the machine's GPUs, and names of its processes and threads.

use super::reader::{Nsys, thread};
use crate::Problem;
use crate::sqlite::{Builder, Value};

impl Nsys<'_> {
    /// Names and sizes of the GPUs, processes and threads that the events named.
    pub(super) fn describe_machine(&mut self) -> Result<(), Problem> {
        self.gpus()?;
        self.process_names()?;
        self.thread_names()
    }

    fn gpus(&mut self) -> Result<(), Problem> {
        let Nsys { rows, machine, .. } = self;
        let columns = [
            "id",
            "cuDevice",
            "name",
            "smCount",
            "asyncEngines",
            "totalMemory",
            "computeMajor",
            "computeMinor",
        ];
        let ordinal = |gpu, device| machine.ordinal_of_gpu(gpu, device);
        rows.devices("TARGET_INFO_GPU", columns, ordinal)?;
        if !machine.agreed {
            rows.trace.meta.notes.push(
                "The processes number the GPUs differently; devices carry Nsight Systems' numbers."
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn process_names(&mut self) -> Result<(), Problem> {
        let Builder { source, names, ids, trace, .. } = &mut self.rows;
        let read = |[global, pid, name]: [Value; 3]| {
            let pid = pid.int().or(thread(global).ok().map(|(pid, _)| pid)).ok_or("no process id")?;
            // Every process of the machine is listed; most have nothing to do with the trace.
            if let Some(process) = ids.known_process(pid) {
                trace.processes.name[process] = names.sym_or_empty(&mut trace.strings, name)?;
            }
            Ok(())
        };
        source.scan("PROCESSES", ["globalPid", "pid", "name"], read)?.ignore();
        Ok(())
    }

    fn thread_names(&mut self) -> Result<(), Problem> {
        let Builder { source, names, ids, trace, .. } = &mut self.rows;
        let read = |[global, name]: [Value; 2]| {
            let (pid, tid) = thread(global)?;
            if let Some(row) = ids.known_thread(pid, tid) {
                trace.threads.name[row] = names.sym_or_empty(&mut trace.strings, name)?;
            }
            Ok(())
        };
        source.scan("ThreadNames", ["globalTid", "nameId"], read)?.ignore();
        Ok(())
    }
}
