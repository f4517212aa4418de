//! How Kineto writes a trace: PyTorch 2.11's text, blank for blank.

use super::program::{Event, Flow, Ns, Span, WORKERS};
use std::ops::AddAssign;

/// The process id in the trace.
const PID: u64 = 48_213;
/// The program's start, in nanoseconds from the trace's base time.
const START: Ns = 4_363_757_670_855_299;

/// Which part of the trace is being written: Kineto writes all operators before all calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    /// Operators and Python functions.
    Host,
    /// Calls, GPU operations, flows and overhead.
    Cuda,
}

/// How many records of each category were written.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) cpu_op: u64,
    pub(crate) python_function: u64,
    pub(crate) cuda_runtime: u64,
    pub(crate) kernel: u64,
    pub(crate) gpu_memcpy: u64,
    pub(crate) gpu_memset: u64,
    pub(crate) ac2g: u64,
    pub(crate) overhead: u64,
}

impl Counts {
    /// The categories with their counts.
    pub(crate) fn rows(&self) -> [(&'static str, u64); 8] {
        [
            ("cpu_op", self.cpu_op),
            ("python_function", self.python_function),
            ("cuda_runtime", self.cuda_runtime),
            ("kernel", self.kernel),
            ("gpu_memcpy", self.gpu_memcpy),
            ("gpu_memset", self.gpu_memset),
            ("ac2g", self.ac2g),
            ("overhead", self.overhead),
        ]
    }
}

/// Writes records as text.
pub(crate) struct Layout<'a> {
    pub(crate) text: Text,
    pub(crate) counts: Counts,
    kernels: &'a [String],
    /// Whether operators, flows and most arguments are left out.
    dense: bool,
}

/// Name, thread and time, with which every record with a duration begins.
struct Head<'a> {
    category: &'static str,
    name: &'a str,
    pid: &'static str,
    tid: u64,
    span: Span,
}

const ARGS: &str = ",\n    \"args\": {\n";
const HOST: &str = "48213";
const DEVICE: &str = "0";

impl<'a> Layout<'a> {
    pub(crate) fn new(kernels: &'a [String], dense: bool) -> Layout<'a> {
        Layout { text: Text(Vec::new()), counts: Counts::default(), kernels, dense }
    }

    /// Everything before the first record.
    pub(crate) fn header(&mut self) {
        self.text.s(HEADER);
    }

    /// The record of `event`, if it belongs into `section`.
    pub(crate) fn event(&mut self, event: &Event, section: Section) {
        match event {
            Event::Operator { .. } | Event::Function { .. } if section == Section::Cuda || self.dense => {}
            Event::Operator { .. } | Event::Function { .. } => self.host(event),
            _ if section == Section::Cuda => self.cuda(event),
            _ => {}
        }
    }

    fn host(&mut self, event: &Event) {
        match *event {
            Event::Operator { span, tid, name, external, index } => {
                self.head(Head { category: "cpu_op", name, pid: HOST, tid, span });
                self.text
                    .s(ARGS)
                    .s("      \"External id\": ")
                    .n(external)
                    .s(",\"Record function id\": 0, \"Ev Idx\": ");
                self.text.n(index).s("\n    }\n  },\n");
                self.counts.cpu_op.add_assign(1);
            }
            Event::Function { span, tid, name, id, parent, index } => {
                self.head(Head { category: "python_function", name, pid: HOST, tid, span });
                self.text.s(ARGS).s("      \"Python parent id\": ");
                match parent {
                    Some(parent) => self.text.n(parent),
                    None => self.text.s("null"),
                };
                self.text.s(", \"Python id\": ").n(id).s(", \"Ev Idx\": ").n(index).s("\n    }\n  },\n");
                self.counts.python_function.add_assign(1);
            }
            _ => {}
        }
    }

    fn cuda(&mut self, event: &Event) {
        match *event {
            Event::Call { span, tid, api, external, correlation } => {
                self.head(Head { category: "cuda_runtime", name: api.name, pid: HOST, tid, span });
                self.args(external).s("\"cbid\": ").n(api.callback);
                self.text.s(", \"correlation\": ").n(correlation).s("\n    }\n  },\n");
                self.flow(api.flow, correlation, HOST, tid, span.start);
                self.counts.cuda_runtime.add_assign(1);
            }
            Event::Kernel { .. } => self.kernel(event),
            Event::Copy { span, stream, name, bytes, external, correlation } => {
                self.head(Head { category: "gpu_memcpy", name, pid: DEVICE, tid: stream, span });
                self.transfer(span, stream, bytes, external, correlation);
                self.counts.gpu_memcpy.add_assign(1);
            }
            Event::Fill { span, stream, bytes, external, correlation } => {
                let name = "Memset (Device)";
                self.head(Head { category: "gpu_memset", name, pid: DEVICE, tid: stream, span });
                self.transfer(span, stream, bytes, external, correlation);
                self.counts.gpu_memset.add_assign(1);
            }
            Event::Overhead { span, name } => {
                self.head(Head { category: "overhead", name, pid: "-1", tid: 0, span });
                self.text.s("\n  },\n");
                self.counts.overhead.add_assign(1);
            }
            Event::Operator { .. } | Event::Function { .. } => {}
        }
    }

    fn kernel(&mut self, event: &Event) {
        let &Event::Kernel { span, stream, name, blocks, threads, external, correlation } = event else {
            return;
        };
        let name = &self.kernels[name];
        self.head(Head { category: "kernel", name, pid: DEVICE, tid: stream, span });
        self.args(external).s("\"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": ");
        self.text.n(stream).s(", \"correlation\": ").n(correlation);
        self.text.s(",      \"registers per thread\": ").n(16 + threads % 48);
        if !self.dense {
            self.text.s(",      \"shared memory\": ").n(threads * 4 % 1024);
            self.text.s(",      \"blocks per SM\": ").millionths(blocks * 1_000_000 / 132);
            self.text.s(",      \"warps per SM\": ").millionths(blocks * (threads / 32) * 1_000_000 / 132);
        }
        self.text.s(",      \"grid\": [").n(blocks).s(", 1, 1],      \"block\": [").n(threads);
        self.text.s(", 1, 1]");
        if !self.dense {
            self.text.s(",      \"est. achieved occupancy %\": ").n((blocks * threads / 2703).min(100));
        }
        self.text.s("\n    }\n  },\n");
        self.flow(Flow::In, correlation, DEVICE, stream, span.start);
        self.counts.kernel.add_assign(1);
    }

    /// The arguments and the flow of a copy or a fill.
    fn transfer(&mut self, span: Span, stream: u64, bytes: u64, external: u64, correlation: u64) {
        self.args(external).s("\"device\": 0, \"context\": 1,      \"stream\": ").n(stream);
        self.text.s(", \"correlation\": ").n(correlation).s(",      \"bytes\": ").n(bytes);
        let bandwidth = bytes as f64 / (span.end - span.start) as f64;
        self.text.s(", \"memory bandwidth (GB/s)\": ").s(&bandwidth.to_string()).s("\n    }\n  },\n");
        self.flow(Flow::In, correlation, DEVICE, stream, span.start);
    }

    fn head(&mut self, head: Head) {
        let text = &mut self.text;
        text.s("  {\n    \"ph\": \"X\", \"cat\": \"").s(head.category).s("\", \"name\": \"").s(head.name);
        text.s("\", \"pid\": ").s(head.pid).s(", \"tid\": ").n(head.tid).s(",\n    \"ts\": ");
        text.instant(head.span.start).s(", \"dur\": ").micros(head.span.end - head.span.start);
    }

    /// Begins the arguments with the operator's id.
    fn args(&mut self, external: u64) -> &mut Text {
        self.text.s(ARGS).external(if self.dense { 0 } else { external })
    }

    /// An end of a flow arrow.
    fn flow(&mut self, flow: Flow, correlation: u64, pid: &str, tid: u64, at: Ns) {
        if self.dense {
            return;
        }
        let (phase, tail) = match flow {
            Flow::Out => ("s", "\n  },\n"),
            Flow::In => ("f", ", \"bp\": \"e\"\n  },\n"),
        };
        let text = &mut self.text;
        text.s("  {\n    \"ph\": \"").s(phase).s("\", \"id\": ").n(correlation).s(", \"pid\": ").s(pid);
        text.s(", \"tid\": ").n(tid).s(", \"ts\": ").instant(at);
        text.s(",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"").s(tail);
        self.counts.ac2g.add_assign(1);
    }

    /// Names of processes, threads and streams, the trace's own span, and the end of the file.
    pub(crate) fn footer(&mut self, end: Ns) {
        self.process(PID, "CPU", PID);
        for gpu in 0..16 {
            self.process(gpu, &format!("GPU {gpu}"), 5_000_000 + gpu);
        }
        for (tid, stream) in WORKERS {
            self.metadata("thread_name", 0, stream, &format!("\"name\": \"stream {stream} \""));
            self.metadata("thread_sort_index", 0, stream, &format!("\"sort_index\": {stream}"));
            self.metadata("thread_name", PID, tid, &format!("\"name\": \"thread {tid} (python3)\""));
            self.metadata("thread_sort_index", PID, tid, &format!("\"sort_index\": {tid}"));
        }
        self.profiler_span(end);
    }

    fn process(&mut self, pid: u64, label: &str, order: u64) {
        self.metadata("process_name", pid, 0, "\"name\": \"python3\"");
        self.metadata("process_labels", pid, 0, &format!("\"labels\": \"{label}\""));
        self.metadata("process_sort_index", pid, 0, &format!("\"sort_index\": {order}"));
    }

    fn metadata(&mut self, name: &str, pid: u64, tid: u64, args: &str) {
        let text = &mut self.text;
        text.s("  {\n    \"name\": \"").s(name).s("\", \"ph\": \"M\", \"ts\": ").instant(0);
        text.s(", \"pid\": ").n(pid).s(", \"tid\": ").n(tid);
        text.s(",\n    \"args\": {\n      ").s(args).s("\n    }\n  },\n");
    }

    fn profiler_span(&mut self, end: Ns) {
        let text = &mut self.text;
        text.s("  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ")
            .instant(0)
            .s(", \"dur\": ")
            .micros(end);
        text.s(",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\"");
        text.s(",\n    \"args\": {\n      \"Op count\": ").n(self.counts.cpu_op).s("\n    }\n  },\n");
        text.s("  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ").instant(0);
        text.s(",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n");
        text.s("  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n");
        text.s("    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ")
            .instant(0)
            .s("\n  },\n");
        text.s("  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\"");
        text.s(", \"ts\": ").instant(end).s("\n  }\n  ],\n  \"traceName\": \"generated.json\"\n}");
    }
}

/// Text being put together.
pub(crate) struct Text(pub(crate) Vec<u8>);

impl Text {
    fn s(&mut self, text: &str) -> &mut Text {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// A whole number.
    fn n(&mut self, mut number: u64) -> &mut Text {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
        self
    }

    /// Nanoseconds as microseconds with three decimals.
    fn micros(&mut self, ns: Ns) -> &mut Text {
        let (whole, rest) = (ns as u64 / 1_000, ns as u64 % 1_000);
        self.n(whole);
        self.0.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
        self
    }

    /// A time of the program as the trace states it.
    fn instant(&mut self, ns: Ns) -> &mut Text {
        self.micros(START + ns)
    }

    /// A number of millionths with its decimals, without trailing zeros, as `%g` has them.
    fn millionths(&mut self, number: u64) -> &mut Text {
        self.n(number / 1_000_000);
        let (mut rest, mut digits) = (number % 1_000_000, 6);
        if rest == 0 {
            return self;
        }
        while rest % 10 == 0 {
            (rest, digits) = (rest / 10, digits - 1);
        }
        self.s(".");
        for power in (0..digits).rev() {
            self.0.push(digit(rest / 10u64.pow(power)));
        }
        self
    }

    /// The `External id` argument; left out for 0, as Kineto does.
    fn external(&mut self, external: u64) -> &mut Text {
        match external {
            0 => self.s("            "),
            _ => self.s("      \"External id\": ").n(external).s(",      "),
        }
    }
}

/// The last digit of a number.
fn digit(number: u64) -> u8 {
    b'0' + (number % 10) as u8
}

const HEADER: &str = r#"
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }
    ],
      "trace_id": "00000000000000000000000000000001",
      "cuda_driver_version": 13000,
      "cuda_runtime_version": 13000,
      "cupti_version": 130001,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"#;

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn numbers_read_as_kineto_writes_them() {
        let mut text = Text(Vec::new());
        text.n(0).s(" ").n(48_213).s(" ").micros(40_394).s(" ").micros(7).s(" ").instant(0).s(" ");
        text.millionths(7_576)
            .s(" ")
            .millionths(75_851_852)
            .s(" ")
            .millionths(3_500_000)
            .s(" ")
            .millionths(2_000_000);
        let text = String::from_utf8(text.0).unwrap();
        assert_eq!(text, "0 48213 40.394 0.007 4363757670855.299 0.007576 75.851852 3.5 2");
    }
}
