//! Names and sizes of the machine's GPUs, and names of its processes and threads.

use super::reader::{Nsys, thread};
use crate::Problem;
use crate::sqlite::{Filling, Value};

impl Nsys<'_> {
    /// Names and sizes of the GPUs, processes and threads that the events named.
    pub(super) fn describe_machine(&mut self) -> Result<(), Problem> {
        self.gpus()?;
        self.process_names()?;
        self.thread_names()
    }

    fn gpus(&mut self) -> Result<(), Problem> {
        let Nsys { rows: Filling { source, names, ids, trace, .. }, machine, .. } = self;
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
        let read = |[gpu, device, name, processors, engines, memory, major, minor]: [Value; 8]| {
            let ordinal = machine.ordinal_of_gpu(gpu.int(), device.int()).ok_or("no id")?;
            let row = ids.device(trace, ordinal).index();
            let devices = &mut trace.devices;
            devices.name[row] = names.sym_or_empty(&mut trace.strings, name)?;
            devices.multiprocessors[row] = processors.size();
            devices.copy_engines[row] = engines.size();
            devices.memory_bytes[row] = memory.int().unwrap_or(0);
            devices.compute_major[row] = major.size();
            devices.compute_minor[row] = minor.size();
            Ok(())
        };
        source.scan("TARGET_INFO_GPU", columns, read)?.ignore();
        if !machine.agreed {
            trace.meta.notes.push(
                "The processes number the GPUs differently; devices carry Nsight Systems' numbers."
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn process_names(&mut self) -> Result<(), Problem> {
        let Filling { source, names, ids, trace, .. } = &mut self.rows;
        let read = |[global, pid, name]: [Value; 3]| {
            let pid = pid.int().or(thread(global).ok().map(|(pid, _)| pid)).ok_or("no process id")?;
            // Every process of the machine is listed; most have nothing to do with the trace.
            if let Some(process) = ids.known_process(pid) {
                trace.processes.name[process.index()] = names.sym_or_empty(&mut trace.strings, name)?;
            }
            Ok(())
        };
        source.scan("PROCESSES", ["globalPid", "pid", "name"], read)?.ignore();
        Ok(())
    }

    fn thread_names(&mut self) -> Result<(), Problem> {
        let Filling { source, names, ids, trace, .. } = &mut self.rows;
        let read = |[global, name]: [Value; 2]| {
            let (pid, tid) = thread(global)?;
            if let Some(row) = ids.known_thread(pid, tid) {
                trace.threads.name[row.index()] = names.sym_or_empty(&mut trace.strings, name)?;
            }
            Ok(())
        };
        source.scan("ThreadNames", ["globalTid", "nameId"], read)?.ignore();
        Ok(())
    }
}
