//! The machine the program ran on: its GPUs, and the names of its processes and threads.

use super::{Nsys, thread};
use crate::Problem;
use crate::sqlite::{Filling, Source, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The GPU that a process means by a CUDA device index.
///
/// With `CUDA_VISIBLE_DEVICES`, device 0 of one process may be device 1 of another. Then Nsight Systems' own numbers
/// identify GPUs; if all processes agree, CUDA's numbers do.
pub(super) struct Machine {
    /// GPU by process and CUDA index.
    gpus: FxHashMap<(i64, i64), i64>,
    /// CUDA index by GPU, if all processes agree.
    cuda: FxHashMap<i64, i64>,
    agreed: bool,
}

impl Machine {
    pub(super) fn read(source: &Source) -> Result<Machine, Problem> {
        let mut machine = Machine { gpus: FxHashMap::default(), cuda: FxHashMap::default(), agreed: true };
        let read = |[gpu, cuda, pid]: [Value; 3]| {
            if let (Some(gpu), Some(cuda), Some(pid)) = (gpu.int(), cuda.int(), pid.int()) {
                machine.gpus.insert((pid, cuda), gpu);
            }
            Ok(())
        };
        source.scan("TARGET_INFO_CUDA_DEVICE", ["gpuId", "cudaId", "pid"], read)?.ignore();
        let pairs: FxHashSet<(i64, i64)> =
            machine.gpus.iter().map(|(&(_, cuda), &gpu)| (gpu, cuda)).collect();
        machine.cuda = pairs.iter().copied().collect();
        let cuda_ids: FxHashSet<i64> = pairs.iter().map(|&(_, cuda)| cuda).collect();
        machine.agreed = machine.cuda.len() == pairs.len() && cuda_ids.len() == pairs.len();
        Ok(machine)
    }

    /// The number of a GPU in the trace, from a process's CUDA device index.
    pub(super) fn ordinal(&self, pid: i64, device: i64) -> i64 {
        match self.gpus.get(&(pid, device)) {
            Some(&gpu) if !self.agreed => gpu,
            _ => device,
        }
    }

    /// The same from Nsight Systems' number and the CUDA index that it states with it.
    fn ordinal_of_gpu(&self, gpu: Option<i64>, device: Option<i64>) -> Option<i64> {
        if !self.agreed {
            return gpu;
        }
        gpu.and_then(|gpu| self.cuda.get(&gpu).copied()).or(device).or(gpu)
    }
}

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
