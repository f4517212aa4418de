//! Traces as PyTorch's profiler writes them, of two ranks that train with `DistributedDataParallel`: each a file with a clock of
//! its own. In each step a rank may compute on the host (`ddp.py(31): augment`) before it launches the forward pass; backward
//! reduces its gradients in two buckets, the first while it goes on, and `.item()` waits for the loss.

use serde_json::{Value, json};

/// Parameters of a pair of traces.
pub struct Pair {
    pub steps: usize,
    /// Time that each rank computes on the host in a step, µs.
    pub computes: [f64; 2],
    /// Length of each rank's kernels, µs.
    pub kernel: [f64; 2],
    /// How far the clock of the second rank is ahead of that of the first, µs.
    pub ahead: f64,
    /// How much later the kernels of the second rank end, µs.
    pub apart: f64,
    /// Collectives that the second trace lacks at its start.
    pub missing: usize,
}

impl Pair {
    /// Two ranks that do the same, of which the second computes as long on the host.
    pub fn late_by(us: f64) -> Pair {
        let (computes, kernel) = ([0.0, us], [300.0, 300.0]);
        Pair { steps: 12, computes, kernel, ahead: 180.0, apart: 4.0, missing: 0 }
    }

    /// The two traces.
    pub fn traces(&self) -> [String; 2] {
        let mut ranks = [0, 1].map(Rank::new);
        for step in 0..self.steps {
            self.step(&mut ranks, step);
        }
        ranks.map(|rank| self.file(rank).to_string())
    }

    /// The two ranks as threads of one process with two GPUs, in one trace.
    pub fn together(&self) -> String {
        let mut ranks = [0, 1].map(Rank::new);
        for step in 0..self.steps {
            self.step(&mut ranks, step);
        }
        let [first, mut second] = ranks;
        for event in &mut second.events {
            if event["pid"] == 4001 {
                event["pid"] = json!(4000);
            }
            if let Some(correlation) = event["args"]["correlation"].as_i64() {
                event["args"]["correlation"] = json!(correlation + first.correlation);
            }
        }
        let events = [first.events, second.events].concat();
        let mut file = Pair { ahead: 0.0, ..*self }.file(Rank { events, ..Rank::new(0) });
        file.as_object_mut().unwrap().remove("distributedInfo");
        file.to_string()
    }

    fn step(&self, ranks: &mut [Rank; 2], step: usize) {
        let begun = ranks.each_ref().map(|rank| rank.now);
        for (at, rank) in ranks.iter_mut().enumerate() {
            rank.augment(self.computes[at]);
            (0..4).for_each(|_| rank.compute(Rank::MAIN, "sm90_xmma_gemm_f32f32_tf32f32", self.kernel[at]));
            (0..2).for_each(|_| rank.compute(Rank::AUTOGRAD, "sm90_xmma_gemm_backward", self.kernel[at]));
        }
        self.reduce(ranks, step * 2);
        for (at, rank) in ranks.iter_mut().enumerate() {
            (0..2).for_each(|_| rank.compute(Rank::AUTOGRAD, "sm90_xmma_gemm_backward", self.kernel[at]));
        }
        self.reduce(ranks, step * 2 + 1);
        for (rank, begun) in ranks.iter_mut().zip(begun) {
            // The optimizer waits for the communication.
            rank.free[0] = rank.free[0].max(rank.free[1] + 5.0);
            rank.compute(Rank::MAIN, "multi_tensor_apply_kernel", 60.0);
            rank.item();
            let (main, end) = (Rank::MAIN, rank.now);
            rank.host(
                "python_function",
                "ddp.py(44): train",
                main,
                begun + 0.5,
                end - begun - 1.0,
                json!({}),
            );
            let step = format!("ProfilerStep#{step}");
            rank.host("user_annotation", &step, main, begun + 0.2, end - begun - 0.4, json!({}));
        }
    }

    /// All ranks reduce a bucket: nothing ends before the last has begun.
    fn reduce(&self, ranks: &mut [Rank; 2], number: usize) {
        let starts = ranks.each_mut().map(Rank::reduce);
        let end = starts[0].max(starts[1]) + 250.0;
        for (at, rank) in ranks.iter_mut().enumerate() {
            let end = end + if at == 1 { self.apart * (number % 3) as f64 } else { 0.0 };
            let is_missing = at == 1 && number < self.missing;
            rank.reduced(starts[at], end, is_missing);
        }
    }

    fn file(&self, rank: Rank) -> Value {
        let number = rank.number;
        let group = json!({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]});
        let ahead = if number == 1 { self.ahead } else { 0.0 };
        let events: Vec<Value> = rank.events.into_iter().map(|event| later(event, ahead)).collect();
        let device = |id| json!({"id": id, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000i64, "computeMajor": 9, "computeMinor": 0, "numSms": 132});
        json!({
            "schemaVersion": 1,
            "deviceProperties": [device(0), device(1)],
            "distributedInfo": {"backend": "nccl", "rank": number, "world_size": 2, "pg_count": 1, "pg_config": [group], "nccl_version": "2.27.3"},
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 1_790_000_000_000_000_000i64,
            "traceEvents": events,
        })
    }
}

fn later(mut event: Value, us: f64) -> Value {
    if let Some(start) = event["ts"].as_f64() {
        event["ts"] = json!(((start + us) * 1000.0).round() / 1000.0);
    }
    event
}

const NCCL: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

struct Rank {
    number: i64,
    /// Its threads' time, µs.
    now: f64,
    /// When the streams of kernels and of communication are free, µs.
    free: [f64; 2],
    correlation: i64,
    /// The bucket's event.
    events: Vec<Value>,
}

impl Rank {
    const MAIN: i64 = 0;
    const AUTOGRAD: i64 = 1;

    fn new(number: i64) -> Rank {
        let pid = 4000 + number;
        let name = |tid: i64, name: &str| json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}});
        let events = vec![name(pid, "python3"), name(pid + 500, "pt_autograd_0")];
        Rank { number, now: 1000.0, free: [0.0; 2], correlation: 0, events }
    }

    fn host(&mut self, category: &str, name: &str, thread: i64, start: f64, length: f64, args: Value) {
        let pid = 4000 + self.number;
        self.events.push(json!({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": pid + 500 * thread, "ts": start, "dur": length, "args": args}));
    }

    fn call(&mut self, thread: i64, name: &str, length: f64) {
        self.correlation += 1;
        let args = json!({"correlation": self.correlation, "cbid": 211});
        self.host("cuda_runtime", name, thread, self.now, length, args);
        self.now += length;
    }

    fn op(&mut self, category: &str, name: &str, stream: i64, (start, end): (f64, f64), more: Value) {
        let mut args =
            json!({"device": self.number, "context": 1, "stream": stream, "correlation": self.correlation});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let number = self.number;
        self.events.push(json!({"ph": "X", "cat": category, "name": name, "pid": number, "tid": stream, "ts": start, "dur": end - start, "args": args}));
    }

    fn augment(&mut self, us: f64) {
        if us > 0.0 {
            self.host(
                "python_function",
                "ddp.py(31): augment",
                Rank::MAIN,
                self.now + 1.0,
                us - 2.0,
                json!({}),
            );
            self.now += us;
        }
    }

    /// A kernel in the stream of kernels.
    fn compute(&mut self, thread: i64, name: &str, length: f64) {
        self.host("cpu_op", "aten::mm", thread, self.now, 12.0, json!({"External id": 1}));
        self.now += 4.0;
        self.call(thread, "cudaLaunchKernel", 5.0);
        let start = self.free[0].max(self.now + 3.0);
        self.free[0] = start + length;
        let grid = json!({"grid": [264, 1, 1], "block": [128, 1, 1], "registers per thread": 64, "shared memory": 0});
        self.op("kernel", name, 7, (start, self.free[0]), grid);
        self.now += 4.0;
    }

    /// Launches a bucket's kernel; returns when it starts.
    fn reduce(&mut self) -> f64 {
        let thread = Rank::AUTOGRAD;
        let comms = json!({"Collective name": "allreduce", "Group size": 2, "Process Group Name": "0"});
        self.host("cpu_op", "record_param_comms", thread, self.now, 30.0, comms);
        self.now += 5.0;
        self.call(thread, "cudaStreamWaitEvent", 2.0);
        self.now += 5.0;
        self.call(thread, "cudaLaunchKernelExC", 8.0);
        let start = self.free[0].max(self.free[1]).max(self.now + 3.0);
        self.now += 12.0;
        start
    }

    fn reduced(&mut self, start: f64, end: f64, is_missing: bool) {
        self.free[1] = end;
        let args = json!({"Collective name": "allreduce", "Group size": 2, "Process Group Ranks": "[0, 1]", "grid": [16, 1, 1], "block": [544, 1, 1], "registers per thread": 96, "shared memory": 0});
        if !is_missing {
            // The correlation is that of the launch, which is the last call so far.
            self.op("kernel", NCCL, 20, (start, end), args);
        }
    }

    /// `.item()`: a copy of 4 bytes, and a wait for it.
    fn item(&mut self) {
        let begun = self.now;
        self.now += 3.0;
        self.call(Rank::MAIN, "cudaMemcpyAsync", 9.0);
        let start = self.free[0].max(self.now);
        self.free[0] = start + 2.0;
        self.op(
            "gpu_memcpy",
            "Memcpy DtoH (Device -> Pageable)",
            7,
            (start, start + 2.0),
            json!({"bytes": 4}),
        );
        self.now += 1.0;
        let wait = (self.free[0] + 8.0 - self.now).max(4.0);
        self.call(Rank::MAIN, "cudaStreamSynchronize", wait);
        self.host(
            "cpu_op",
            "aten::item",
            Rank::MAIN,
            begun,
            self.now - begun + 1.0,
            json!({"External id": 2}),
        );
        self.now += 20.0;
    }
}
