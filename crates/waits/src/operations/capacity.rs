//! How much of a device a kernel uses, by its grid, registers and shared memory: an estimate, because the trace does not
//! record on which multiprocessors blocks ran.

use trace::{DeviceId, OpId, OpKind, Trace};

/// A whole device, in the unit of [`Capacity::share`].
pub const WHOLE: i64 = 1 << 32;

/// The limits of a multiprocessor and of a device from a compute capability on, from the CUDA C++ programming guide,
/// "Technical Specifications per Compute Capability".
struct Limits {
    from: (u32, u32),
    threads: u32,
    blocks: u32,
    registers: u32,
    /// Shared memory, KiB.
    shared: u32,
    /// Kernels that run at the same time.
    kernels: u32,
}

const fn limits(from: (u32, u32), each: [u32; 5]) -> Limits {
    let [threads, blocks, registers, shared, kernels] = each;
    Limits { from, threads, blocks, registers: registers * 1024, shared, kernels }
}

const LIMITS: [Limits; 20] = [
    limits((1, 0), [768, 8, 8, 16, 1]),
    limits((1, 2), [1024, 8, 16, 16, 1]),
    limits((2, 0), [1536, 8, 32, 48, 16]),
    limits((3, 0), [2048, 16, 64, 48, 16]),
    limits((3, 5), [2048, 16, 64, 48, 32]),
    limits((3, 7), [2048, 16, 128, 112, 32]),
    limits((5, 0), [2048, 32, 64, 64, 32]),
    limits((5, 2), [2048, 32, 64, 96, 32]),
    limits((5, 3), [2048, 32, 64, 64, 16]),
    limits((6, 0), [2048, 32, 64, 64, 128]),
    limits((6, 1), [2048, 32, 64, 96, 32]),
    limits((6, 2), [2048, 32, 64, 64, 16]),
    limits((7, 0), [2048, 32, 64, 96, 128]),
    limits((7, 5), [1024, 16, 64, 64, 128]),
    limits((8, 0), [2048, 32, 64, 164, 128]),
    limits((8, 6), [1536, 16, 64, 100, 128]),
    limits((8, 7), [1536, 16, 64, 164, 128]),
    limits((8, 9), [1536, 24, 64, 100, 128]),
    limits((9, 0), [2048, 32, 64, 228, 128]),
    limits((12, 0), [1536, 24, 64, 100, 128]),
];

/// Capacity of a device for kernels that run at the same time.
pub struct Capacity {
    limits: &'static Limits,
    multiprocessors: u32,
}

impl Capacity {
    /// Capacity of a device; `None` if the trace does not record its generation and size.
    pub fn of(trace: &Trace, device: DeviceId) -> Option<Capacity> {
        let row = trace.devices.row(device);
        let compute = (row.compute_major, row.compute_minor);
        let limits = LIMITS.iter().rev().find(|limits| limits.from <= compute)?;
        (row.multiprocessors > 0).then_some(Capacity { limits, multiprocessors: row.multiprocessors })
    }

    /// Kernels that run at the same time.
    pub fn kernels(&self) -> u32 {
        self.limits.kernels
    }

    /// The part of the device that a kernel uses, at most [`WHOLE`]; `None` if its grid is unknown.
    pub fn share(&self, trace: &Trace, op: OpId) -> Option<i64> {
        let (ops, at) = (&trace.ops, op.index());
        if ops.kind[at] != OpKind::Kernel {
            return None;
        }
        let volume = |sides: [u32; 3]| sides.into_iter().map(u128::from).product::<u128>();
        let blocks = volume([ops.grid_x[at], ops.grid_y[at], ops.grid_z[at]]);
        let threads = volume([ops.block_x[at], ops.block_y[at], ops.block_z[at]]);
        if blocks == 0 || threads == 0 {
            return None;
        }
        // A warp has 32 threads.
        let threads = threads.next_multiple_of(32);
        let registers = threads * u128::from(ops.registers[at]);
        let shared = u128::from(ops.static_shared[at]) + u128::from(ops.dynamic_shared[at]);
        let fit = |has: u32, needs: u128| u128::from(has).checked_div(needs).unwrap_or(u128::MAX);
        let limits = self.limits;
        let each = u128::from(limits.blocks)
            .min(fit(limits.threads, threads))
            .min(fit(limits.registers, registers))
            .min(fit(limits.shared * 1024, shared))
            .max(1);
        let most = each * u128::from(self.multiprocessors);
        i64::try_from(blocks.saturating_mul(WHOLE as u128) / most)
            .ok()
            .map_or(Some(WHOLE), |share| Some(share.min(WHOLE)))
    }
}
