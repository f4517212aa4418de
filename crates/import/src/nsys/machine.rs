//! Numbers of the GPUs of the machine that the program ran on.

use crate::Problem;
use crate::sqlite::{Source, Value};
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
    pub(super) agreed: bool,
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
    pub(super) fn ordinal_of_gpu(&self, gpu: Option<i64>, device: Option<i64>) -> Option<i64> {
        if !self.agreed {
            return gpu;
        }
        gpu.and_then(|gpu| self.cuda.get(&gpu).copied()).or(device).or(gpu)
    }
}
