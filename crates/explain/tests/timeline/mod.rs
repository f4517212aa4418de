//! Traces written by hand, one line per event, times in µs:
//!
//! ```text
//! A cudaMemcpyAsync 0 900 | copy DtoH device>pageable 67108864 7 50 880
//! B@2 cudaLaunchKernel 10 20 | kernel sin 7 12 14      thread B of process 2
//! C/1 cudaFree 0 50                                    thread C on device 1
//! A cuMemcpyDtoH 0 900 | arguments DtoH device>pageable 4 7   the arguments of a call without operations
//! A cudaLaunchKernel 0 9 | launch k 7                  the kernel of a launch without operations; the stream if known
//! migrate DtoH 65536 0 10 30                           unified memory that no call asked to move, on stream 0
//! B cudaStreamSynchronize 0 900 | sync stream 7        the tracer's record of it; also `context`, `event`, `stream-wait-event`
//! overhead A "Buffer Flush" 10 20                      `-` for no thread
//! os A pthread_rwlock_wrlock 10 20
//! library A cublasSnrm2_v2 10 20
//! range A operator aten::copy_ 0 900
//! wait B 12 880 A                                      B waits for the driver's lock that A holds
//! wait B 12 880 - releaser A library libc10.so         `-` for an unknown holder; also `in -`: B's call unknown,
//!                                                      `released 5`: the releaser's call is the one at 5;
//!                                                      `shared 3`: by three, while B needs it exclusively;
//!                                                      `layer program`: whose lock it is; `kind gil`;
//!                                                      `handoff 3`: the last part of the wait, held by nobody;
//!                                                      `stack main>f`: B was in `f`, called by `main`
//! state A 0 10 5 2 blocked futex                       A ran for 5 of 10 µs and was ready for 2; then the state at the
//!                                                      end and the system call, if known
//! limit 2 0 10 4 1500 6                                process 2 may use 4 processors, 1.5 of them on average, and
//!                                                      was throttled for 6 µs
//! sample A 7 running main work                         A ran `work`, called by `main`
//! sample A 7 running train.py#main torch/a.py#f        A ran `f` of a file's first line, called by the one of another file
//! sample A 7 running main libc.so.6#poll               A ran a function of a native library
//! locks watched
//! threads inferred
//! tracer T                                             T is the tracer's own thread
//! repeat 100 5 10 B cudaLaunchKernel 0 4 | kernel k 7 0 9   calls 5 µs apart, operations 10
//! device 1 1 3                                         device 0 has 1 copy engine, compute capability 1.3
//! device 2 9 0 132                                     and 132 multiprocessors
//! B cudaLaunchKernel 10 20 | kernel sin grid 264 1024 7 12 14   264 blocks of 1024 threads
//! B cudaLaunchKernel 10 20 | kernel nccl bytes 64 7 12 14   64 bytes exchanged
//! recorded 0 100                                       then recording was switched off
//! only 20 40                                           the selected time, before any event
//! only thread A                                        the selected thread; also `range aten::copy_`, `name sin`
//! clock separate
//! source kineto                                        or `holdup`: the scheduler's numbers are sums
//! A cudaStreamSynchronize 10 20 | stack main loss      A was in `loss`, called by `main`
//! ```

use std::collections::HashMap;
use trace::*;

#[derive(Default)]
struct Builder {
    trace: Trace,
    processes: HashMap<i64, ProcessId>,
    threads: HashMap<String, ThreadId>,
    streams: HashMap<(i64, i64, i64), StreamId>,
    stacks: HashMap<Vec<String>, StackId>,
    correlation: i64,
    waits: Vec<Waiting>,
    selection: Selection,
}

/// A wait whose calls are looked up when all calls are known.
struct Waiting {
    wait: Wait,
    in_call: bool,
    /// The time at which the releaser released the lock, ns.
    released: Ns,
}

/// The trace that `text` describes, and its selection.
pub fn parse(text: &str) -> (Trace, Selection) {
    let mut builder = Builder::default();
    for line in text.lines().map(|line| without_comment(line).trim()) {
        let words: Vec<&str> = words(line);
        match words.as_slice() {
            [] => {}
            ["recorded", from, to] => builder.trace.meta.recorded.push((us(from), us(to))),
            ["clock", "separate"] => builder.trace.meta.clock = Clock::Separate,
            ["only", "thread", name] => builder.selection.thread = Some((*name).into()),
            ["only", "name", name] => builder.selection.name = Some((*name).into()),
            ["only", "range", name] => builder.selection.range = Some((*name).into()),
            ["only", from, to] => {
                (builder.selection.from, builder.selection.to) = (Some(us(from)), Some(us(to)))
            }
            ["threads", "inferred"] => builder.trace.meta.threads_inferred = true,
            ["locks", "watched"] => builder.trace.meta.locks_watched = true,
            ["tracer", thread] => {
                let (thread, ..) = builder.thread(thread);
                builder.trace.threads.role[thread.index()] = ThreadRole::Tracer;
            }
            ["device", engines, major, minor, size @ ..] => {
                builder.trace.devices.push(Device {
                    multiprocessors: size.first().map_or(0, |size| size.parse().unwrap()),
                    copy_engines: engines.parse().unwrap(),
                    compute_major: major.parse().unwrap(),
                    compute_minor: minor.parse().unwrap(),
                    ..Device::default()
                });
            }
            ["set", pid, settings @ ..] => {
                let process = builder.process(pid.parse().unwrap());
                builder.trace.processes.settings[process.index()] =
                    builder.trace.strings.intern(&settings.join(" "));
            }
            ["source", name] => builder.trace.meta.source = (*name).into(),
            ["overhead", thread, name, start, end] => {
                builder.range(thread, RangeKind::Overhead, name, start, end)
            }
            ["range", thread, kind, name, start, end] => {
                builder.range(thread, RangeKind::from_name(kind), name, start, end)
            }
            ["os", thread, name, start, end] => {
                builder.call(thread, name, us(start), us(end), Api::Os);
            }
            ["library", thread, name, start, end] => {
                builder.call(thread, name, us(start), us(end), Api::Library);
            }
            ["state", thread, start, end, running, runnable, rest @ ..] => {
                builder.state(thread, [start, end, running, runnable], rest)
            }
            ["limit", pid, start, end, processors, quota, throttled] => {
                let process = builder.process(pid.parse().unwrap());
                builder.trace.limits.push(Limit {
                    start: us(start),
                    end: us(end),
                    process,
                    processors: processors.parse().unwrap(),
                    quota: quota.parse().unwrap(),
                    throttled: us(throttled),
                });
            }
            ["sample", thread, at, state, functions @ ..] => builder.sample(thread, at, state, functions),
            ["repeat", count, calls, ops, rest @ ..] => {
                for round in 0..us(count) / 1000 {
                    builder.line(rest, round * us(calls), round * us(ops));
                }
            }
            line => builder.line(line, 0, 0),
        }
    }
    builder.look_up_waits();
    builder.link_operators();
    builder.trace.join();
    (builder.trace, builder.selection)
}

/// The line up to a `#` that begins a word: names of steps contain others.
fn without_comment(line: &str) -> &str {
    match line.starts_with('#') {
        true => "",
        false => line.split(" #").next().unwrap(),
    }
}

/// The words of a line; a quoted word may contain spaces.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            1 => vec![part],
            _ => part.split_whitespace().collect(),
        })
        .collect()
}

fn us(word: &str) -> Ns {
    (word.parse::<f64>().unwrap_or_else(|_| panic!("not a time: {word}")) * 1000.0) as Ns
}

/// The library a function of that name belongs to.
fn api(name: &str) -> Api {
    if name.starts_with("cu") && !name.starts_with("cuda") { Api::Driver } else { Api::Runtime }
}

impl Builder {
    fn line(&mut self, words: &[&str], call_shift: Ns, op_shift: Ns) {
        if let ["wait", waiter, start, end, holder, rest @ ..] = words {
            return self.wait(waiter, us(start) + call_shift, us(end) + call_shift, holder, rest);
        }
        if let ["migrate", direction, bytes, stream, start, end] = words {
            let stream = self.stream(1, 0, stream.parse().unwrap());
            let (start, end) = (us(start) + op_shift, us(end) + op_shift);
            let copy = CopyKind::from_name(&format!("unified {direction}"));
            let (kind, bytes) = (OpKind::Copy, bytes.parse().unwrap());
            self.trace.ops.push(Op { start, end, stream, kind, copy, bytes, ..Op::default() });
            return;
        }
        let mut parts = words.split(|word| *word == "|");
        let [thread, name, start, end] = parts.next().unwrap() else { panic!("not an event: {words:?}") };
        self.call(thread, name, us(start) + call_shift, us(end) + call_shift, api(name));
        for op in parts {
            self.op(thread, op, op_shift);
        }
    }

    fn process(&mut self, pid: i64) -> ProcessId {
        let processes = &mut self.trace.processes;
        *self.processes.entry(pid).or_insert_with(|| processes.push(Process { pid, ..Process::default() }))
    }

    /// `A`, `A@2` (process 2), `A/1` (device 1).
    fn thread(&mut self, word: &str) -> (ThreadId, i64, i64) {
        let (rest, device) = word.split_once('/').unwrap_or((word, "0"));
        let (name, pid) = rest.split_once('@').unwrap_or((rest, "1"));
        let (pid, device) = (pid.parse().unwrap(), device.parse().unwrap());
        let process = self.process(pid);
        let name = self.trace.strings.intern(name);
        let threads = &mut self.trace.threads;
        let tid = threads.len() as i64 + 100;
        let add = || threads.push(Thread { process, tid, name, ..Thread::default() });
        (*self.threads.entry(rest.to_owned()).or_insert_with(add), pid, device)
    }

    fn call(&mut self, thread: &str, name: &str, start: Ns, end: Ns, api: Api) -> CallId {
        self.correlation += 1;
        let (thread, _, _) = self.thread(thread);
        let name = self.trace.strings.intern(name);
        let correlation = self.correlation;
        self.trace.calls.push(Call { start, end, thread, api, name, correlation, ..Call::default() })
    }

    fn wait(&mut self, waiter: &str, start: Ns, end: Ns, holder: &str, rest: &[&str]) {
        let thread = self.thread(waiter).0;
        let library = self.trace.strings.intern("libcuda.so.1");
        let mut wait =
            Wait { start, end, thread, library, lock: 64, kind: LockKind::RwLock, ..Wait::default() };
        wait.holder = self.party(holder);
        let (mut in_call, mut released) = (true, end - 1);
        for option in rest.chunks(2) {
            match option {
                ["releaser", thread] => wait.releaser = self.party(thread),
                ["library", name] => wait.library = self.trace.strings.intern(name),
                ["lock", number] => wait.lock = number.parse().unwrap(),
                ["released", time] => released = us(time),
                ["in", "-"] => in_call = false,
                ["kind", name] => wait.kind = LockKind::from_name(name),
                ["stack", functions] => wait.stack = self.stack(&functions.split('>').collect::<Vec<_>>()),
                ["handoff", time] => wait.handoff = us(time),
                ["layer", name] => wait.layer = LockLayer::from_name(name),
                ["shared", by] => (wait.mode, wait.holders) = (LockMode::Exclusive, by.parse().unwrap()),
                _ => panic!("not an option of a wait: {option:?}"),
            }
        }
        self.waits.push(Waiting { wait, in_call, released });
    }

    fn state(&mut self, thread: &str, [start, end, running, runnable]: [&str; 4], rest: &[&str]) {
        let thread = self.thread(thread).0;
        let [start, end, running, runnable] = [start, end, running, runnable].map(us);
        let state = rest.first().map_or(ThreadState::Unknown, |name| ThreadState::from_name(name));
        let call = rest.get(1).map_or(Sym::EMPTY, |name| self.trace.strings.intern(name));
        let object = i64::from(!call.is_empty()) * 0x7f00;
        self.trace.states.push(State { start, end, thread, running, runnable, state, call, object });
    }

    fn sample(&mut self, thread: &str, at: &str, state: &str, functions: &[&str]) {
        let thread = self.thread(thread).0;
        let stack = self.stack(functions);
        let state = ThreadState::from_name(state);
        self.trace.samples.push(Sample { at: us(at), thread, stack, state });
    }

    /// The stack of these functions, outermost first.
    fn stack(&mut self, functions: &[&str]) -> StackId {
        let key: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
        let Some((name, callers)) = functions.split_last() else { return StackId::NONE };
        if let Some(known) = self.stacks.get(&key) {
            return *known;
        }
        let caller = self.stack(callers);
        let frame = match name.split_once('#') {
            Some((module, name)) if module.contains(".so") => {
                Frame { module: self.trace.strings.intern(module), ..self.frame(name) }
            }
            Some((file, name)) => {
                Frame { file: self.trace.strings.intern(file), line: 1, ..self.frame(name) }
            }
            None => Frame { module: self.trace.strings.intern("libapp.so"), ..self.frame(name) },
        };
        let frame = self.trace.frames.push(frame);
        let stack = self.trace.stacks.push(Stack { frame, caller });
        self.stacks.insert(key, stack);
        stack
    }

    fn frame(&mut self, function: &str) -> Frame {
        Frame { function: self.trace.strings.intern(function), ..Frame::default() }
    }

    fn party(&mut self, word: &str) -> ThreadId {
        if word == "-" { ThreadId::NONE } else { self.thread(word).0 }
    }

    fn look_up_waits(&mut self) {
        for Waiting { mut wait, in_call, released } in std::mem::take(&mut self.waits) {
            if in_call {
                wait.call = self.innermost(wait.thread, wait.start);
            }
            wait.holder_call = self.innermost(wait.holder, wait.start);
            wait.releaser_call = self.innermost(wait.releaser, released);
            self.trace.waits.push(wait);
        }
    }

    /// The innermost call of a thread at a time.
    fn innermost(&self, thread: ThreadId, time: Ns) -> CallId {
        let calls = &self.trace.calls;
        let holds = |call: &CallId| {
            let row = calls.row(*call);
            row.thread == thread && row.start <= time && time < row.end
        };
        let inside = calls.ids().filter(holds).max_by_key(|call| calls.start[call.index()]);
        inside.unwrap_or(CallId::NONE)
    }

    /// Links calls with the innermost operator around them, as Kineto does.
    fn link_operators(&mut self) {
        let Trace { calls, ranges, .. } = &mut self.trace;
        let operators: Vec<RangeId> =
            ranges.ids().filter(|range| ranges.kind[range.index()] == RangeKind::Operator).collect();
        for at in 0..calls.len() {
            let contains = |range: &&RangeId| {
                let range = range.index();
                ranges.thread[range] == calls.thread[at]
                    && ranges.start[range] <= calls.start[at]
                    && calls.end[at] <= ranges.end[range]
            };
            let innermost = operators.iter().filter(contains).max_by_key(|range| ranges.start[range.index()]);
            calls.range[at] = innermost.copied().unwrap_or(RangeId::NONE);
        }
    }

    fn range(&mut self, thread: &str, kind: RangeKind, name: &str, start: &str, end: &str) {
        let thread = self.party(thread);
        let name = self.trace.strings.intern(name);
        self.trace.ranges.push(Range {
            start: us(start),
            end: us(end),
            thread,
            kind,
            name,
            ..Range::default()
        });
    }

    fn op(&mut self, thread: &str, words: &[&str], shift: Ns) {
        let (_, pid, device) = self.thread(thread);
        if let ["stack", functions @ ..] = words {
            let stack = self.stack(functions);
            *self.trace.calls.stack.last_mut().unwrap() = stack;
            return;
        }
        if let ["arguments", direction, kinds, bytes, stream] = words {
            let stream = self.stream(pid, device, stream.parse().unwrap());
            return self.arguments(direction, kinds, bytes, stream);
        }
        if let ["launch", kernel, of @ ..] = words {
            let call = CallId::new(self.trace.calls.len() - 1);
            let stream = of.first().map(|number| self.stream(pid, device, number.parse().unwrap()));
            let kernel = self.trace.strings.intern(kernel);
            let stream = stream.unwrap_or_default();
            self.trace.arguments.push(Argument { call, kernel, stream, ..Argument::default() });
            return;
        }
        if let ["sync", kind, of @ ..] = words {
            let kind = SyncKind::from_name(&kind.replace('-', " "));
            let stream = of.first().map(|number| self.stream(pid, device, number.parse().unwrap()));
            let (process, correlation) = (self.process(pid), self.correlation);
            let sync = Sync { kind, process, correlation, ..Sync::default() };
            self.trace.syncs.push(Sync { stream: stream.unwrap_or_default(), ..sync });
            return;
        }
        let [.., stream, start, end] = words else { panic!("not an operation: {words:?}") };
        let stream = self.stream(pid, device, stream.parse().unwrap());
        let (start, end, correlation) = (us(start) + shift, us(end) + shift, self.correlation);
        let mut op = Op { start, end, stream, correlation, ..Op::default() };
        match words {
            ["kernel", name, rest @ ..] => {
                (op.kind, op.name) = (OpKind::Kernel, self.trace.strings.intern(name));
                if let ["grid", blocks, threads, ..] = rest {
                    (op.grid_x, op.grid_y, op.grid_z) = (blocks.parse().unwrap(), 1, 1);
                    (op.block_x, op.block_y, op.block_z) = (threads.parse().unwrap(), 1, 1);
                }
                if let ["bytes", bytes, ..] = rest {
                    op.bytes = bytes.parse().unwrap();
                }
                if let ["bytes", _, "among", ranks, ..] = rest {
                    op.communicator = self.trace.strings.intern(ranks);
                }
            }
            ["copy", direction, kinds, bytes, ..] => {
                let (src, dst) = kinds.split_once('>').unwrap();
                op.kind = OpKind::Copy;
                op.copy = CopyKind::from_name(direction);
                (op.src, op.dst) = (MemoryKind::from_name(src), MemoryKind::from_name(dst));
                op.bytes = bytes.parse().unwrap();
            }
            _ => panic!("not an operation: {words:?}"),
        }
        self.trace.ops.push(op);
    }

    fn arguments(&mut self, direction: &str, kinds: &str, bytes: &str, stream: StreamId) {
        let (src, dst) = kinds.split_once('>').unwrap();
        self.trace.arguments.push(Argument {
            call: CallId::new(self.trace.calls.len() - 1),
            bytes: bytes.parse().unwrap(),
            copy: CopyKind::from_name(direction),
            src: MemoryKind::from_name(src),
            dst: MemoryKind::from_name(dst),
            stream,
            ..Argument::default()
        });
    }

    fn stream(&mut self, pid: i64, device: i64, number: i64) -> StreamId {
        let process = self.process(pid);
        let trace = &mut self.trace;
        *self.streams.entry((pid, device, number)).or_insert_with(|| {
            let known = trace.devices.ids().find(|id| trace.devices.row(*id).ordinal == device);
            let row = Device { ordinal: device, ..Device::default() };
            let device = known.unwrap_or_else(|| trace.devices.push(row));
            let row = Context { process, device, number: 1 };
            let known = trace.contexts.ids().find(|id| trace.contexts.row(*id) == row);
            let context = known.unwrap_or_else(|| trace.contexts.push(row));
            trace.streams.push(Stream { context, number })
        })
    }
}
