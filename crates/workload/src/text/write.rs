//! Writes the text form.

use std::fmt::Write;

use super::processes::{MEMORIES, STREAM_KINDS};
use super::words::{AFFINITIES, LOADINGS, SCHEDULES, name_of};
use crate::error::Part;
use crate::model::*;

/// The text of a workload.
pub fn workload(workload: &Workload) -> String {
    let mut out = format!("name = {}\n", quoted(&workload.name));
    if workload.mps {
        out += "mps = true\n";
    }
    if let Some(connections) = workload.connections {
        out += &format!("connections = {connections}\n");
    }
    if workload.schedule != Schedule::Auto {
        out += &format!("schedule = {:?}\n", name_of(&SCHEDULES, &workload.schedule));
    }
    if workload.affinity != Affinity::Any {
        out += &format!("affinity = {:?}\n", name_of(&AFFINITIES, &workload.affinity));
    }
    if let Some(loading) = &workload.loading {
        out += &format!("module-loading = {:?}\n", name_of(&LOADINGS, loading));
    }
    if !workload.barriers.is_empty() {
        out += &format!("barriers = {}\n", list(workload.barriers.iter().map(|barrier| &barrier.name)));
    }
    for process in &workload.processes {
        Text { workload, process, out: &mut out }.process();
    }
    out
}

/// The text of one process.
struct Text<'w> {
    workload: &'w Workload,
    process: &'w Process,
    out: &'w mut String,
}

impl Text<'_> {
    fn line(&mut self, line: impl AsRef<str>) {
        self.out.push_str(line.as_ref());
        self.out.push('\n');
    }

    fn process(&mut self) {
        let process = self.process;
        self.line(format!("\n[[process]]\nname = {}", quoted(&process.name)));
        if !process.graphs.is_empty() {
            self.line(format!("graphs = {}", list(process.graphs.iter().map(|graph| &graph.name))));
        }
        match *process.contexts.as_slice() {
            [Context { device: 0, primary: true }] => {}
            [Context { device, primary: true }] => self.line(format!("device = {device}")),
            _ => self.contexts(),
        }
        self.things("streams", &process.streams, |stream| {
            let kind =
                STREAM_KINDS.iter().find(|(_, kind)| *kind == stream.kind).expect("every kind has a name").0;
            (&stream.name, format!("kind = {kind:?}"), stream.context)
        });
        self.things("events", &process.events, |event| {
            let kind = if event.timing { "timing" } else { "plain" };
            (&event.name, format!("kind = {kind:?}"), event.context)
        });
        self.things("buffers", &process.buffers, |buffer| {
            let memory = MEMORIES.iter().find(|(_, memory)| *memory == buffer.memory);
            let memory = memory.expect("every memory has a name").0;
            (&buffer.name, format!("{memory} = {}", write_size(buffer.bytes)), buffer.context)
        });
        process.threads.iter().for_each(|thread| self.thread(thread));
    }

    /// Names contexts, the first of which things have that name none.
    fn contexts(&mut self) {
        if self.process.contexts.is_empty() {
            return;
        }
        self.line(format!("context = {:?}", context_name(ContextId(0))));
        self.line("\n[process.contexts]");
        for (row, context) in self.process.contexts.iter().enumerate() {
            let own = if context.primary { "" } else { ", own = true" };
            let name = context_name(ContextId(row as u32));
            self.line(format!("{name} = {{ device = {}{own} }}", context.device));
        }
    }

    /// A table of names, each with what it is and its context.
    fn things<T>(&mut self, key: &str, things: &[T], parts: impl Fn(&T) -> (&String, String, ContextId)) {
        if !things.is_empty() {
            self.line(format!("\n[process.{key}]"));
        }
        for thing in things {
            let (name, what, context) = parts(thing);
            let context =
                other_context(context).map(|name| format!(", context = {name:?}")).unwrap_or_default();
            self.line(format!("{} = {{ {what}{context} }}", key_of(name)));
        }
    }

    fn thread(&mut self, thread: &Thread) {
        self.line(format!("\n[[process.thread]]\nname = {}", quoted(&thread.name)));
        if let Some(context) = other_context(thread.context) {
            self.line(format!("context = {context:?}"));
        }
        if thread.delay_ns != 0 {
            self.line(format!("delay = {}", write_time(thread.delay_ns)));
        }
        match thread.repeat {
            Repeat::Times(1) => {}
            Repeat::Times(times) => self.line(format!("repeat = {times}")),
            Repeat::For(ns) => self.line(format!("repeat = {}", write_time(ns))),
            Repeat::WhileOthers => self.line("repeat = \"while-others\""),
        }
        for part in Part::ALL {
            let steps = part.of(thread);
            if !steps.is_empty() {
                self.line(format!("{} = [", part.name()));
                self.steps(steps, 1);
                self.line("]");
            }
        }
    }

    fn steps(&mut self, steps: &[Step], depth: usize) {
        let indent = "  ".repeat(depth);
        for step in steps {
            match step {
                Step::Call(Call::SynchronizeContext) => {
                    self.line(format!("{indent}\"synchronize-context\","))
                }
                Step::Call(Call::LoadModule) => self.line(format!("{indent}\"load-module\",")),
                Step::Call(call) => {
                    let call = self.call(call);
                    self.line(format!("{indent}{{ {call} }},"));
                }
                Step::Loop { times, steps } => self.inside(&format!("repeat = {times}"), steps, depth),
                Step::Capture { graph, stream, steps } => {
                    let graph = quoted(&self.process.graphs[*graph].name);
                    let stream = self.stream(*stream);
                    self.inside(&format!("capture = {graph}, stream = {stream}"), steps, depth);
                }
            }
        }
    }

    fn inside(&mut self, what: &str, steps: &[Step], depth: usize) {
        let indent = "  ".repeat(depth);
        self.line(format!("{indent}{{ {what}, steps = ["));
        self.steps(steps, depth + 1);
        self.line(format!("{indent}] }},"));
    }

    fn call(&self, call: &Call) -> String {
        match call {
            Call::Allocate { buffer, stream } => self.on("allocate", self.buffer(*buffer), *stream),
            Call::Free { buffer, stream } => self.on("free", self.buffer(*buffer), *stream),
            Call::Register { buffer } => self.on("register", self.buffer(*buffer), None),
            Call::Unregister { buffer } => self.on("unregister", self.buffer(*buffer), None),
            Call::Copy { from, to, offset, bytes, stream } => {
                let offset = match offset {
                    Number::Is(0) => String::new(),
                    offset => format!(", offset = {}", number(*offset, write_size)),
                };
                let what = format!("{}, bytes = {}{offset}", self.ends(*from, *to), write_size(*bytes));
                self.on("copy", what, *stream)
            }
            Call::CopyRows { .. } => self.copy_rows(call),
            Call::BlasNorm { from, to, length, stream } => {
                let what = format!("{}, length = {length}", self.ends(*from, *to));
                self.on("blas-norm", what, Some(*stream))
            }
            Call::Elapsed { from, to } => {
                self.on("elapsed", format!("[{}, {}]", self.event(*from), self.event(*to)), None)
            }
            Call::Fill { buffer, value: of, stream } => {
                self.on("fill", format!("{}, value = {}", self.buffer(*buffer), value(*of)), *stream)
            }
            Call::Check { buffer, bytes, value: of } => {
                let (buffer, bytes) = (self.buffer(*buffer), write_size(*bytes));
                self.on("check", format!("{buffer}, bytes = {bytes}, value = {}", value(*of)), None)
            }
            Call::Launch { kernel, grid, block, stream } => {
                let what = format!("{}, grid = {grid}, block = {block}", self.kernel(kernel));
                self.on("launch", what, Some(*stream))
            }
            Call::LaunchGraph { graph, stream } => {
                self.on("launch-graph", quoted(&self.process.graphs[*graph].name), Some(*stream))
            }
            Call::RecordEvent { event, stream } => self.on("record", self.event(*event), Some(*stream)),
            Call::WaitEvent { event, stream } => self.on("wait", self.event(*event), Some(*stream)),
            Call::QueryEvent { event } => self.on("query-event", self.event(*event), None),
            Call::SynchronizeEvent { event } => self.on("synchronize-event", self.event(*event), None),
            Call::QueryStream { stream } => self.on("query", self.stream(*stream), None),
            Call::SynchronizeStream { stream } => self.on("synchronize", self.stream(*stream), None),
            Call::CreateStream { stream } => self.on("create-stream", self.stream(*stream), None),
            Call::DestroyStream { stream } => self.on("destroy-stream", self.stream(*stream), None),
            Call::CreateEvent { event } => self.on("create-event", self.event(*event), None),
            Call::DestroyEvent { event } => self.on("destroy-event", self.event(*event), None),
            Call::Sleep { ns } => self.on("sleep", write_time(*ns), None),
            Call::Work { ns } => self.on("work", write_time(*ns), None),
            Call::Hold { ns } => self.on("hold", write_time(*ns), None),
            Call::Meet { barrier } => self.on("meet", quoted(&self.workload.barriers[*barrier].name), None),
            Call::SynchronizeContext | Call::LoadModule => unreachable!("these are words, not tables"),
        }
    }

    /// The rows of a copy; the caller has seen that it is one.
    fn copy_rows(&self, call: &Call) -> String {
        let Call::CopyRows { from, to, width, height, depth, from_pitch, to_pitch, stream } = call else {
            return String::new();
        };
        let (verb, deep) = match depth {
            Some(depth) => ("copy-3d", format!(", depth = {depth}")),
            None => ("copy-2d", String::new()),
        };
        let what = format!(
            "{}, width = {}, height = {height}{deep}, from-pitch = {}, to-pitch = {}",
            self.ends(*from, *to),
            write_size(*width),
            write_size(*from_pitch),
            write_size(*to_pitch)
        );
        self.on(verb, what, Some(*stream))
    }

    /// `["from", "to"]`
    fn ends(&self, from: BufferId, to: BufferId) -> String {
        format!("[{}, {}]", self.buffer(from), self.buffer(to))
    }

    fn on(&self, verb: &str, what: String, stream: Option<StreamId>) -> String {
        let stream = stream.map(|stream| format!(", stream = {}", self.stream(stream))).unwrap_or_default();
        format!("{verb} = {what}{stream}")
    }

    fn kernel(&self, kernel: &Kernel) -> String {
        let name = |buffer: &BufferId| self.buffer(*buffer);
        let count = |of: &Number| number(*of, |number| number.to_string());
        match kernel {
            Kernel::Empty => "\"empty\"".to_owned(),
            Kernel::Delay { cycles } => format!("\"delay\", cycles = {cycles}"),
            Kernel::AddConstant { from, to, value, length, rounds } => format!(
                "\"add-constant\", from = {}, to = {}, value = {}, length = {length}, rounds = {rounds}",
                name(from),
                name(to),
                count(value)
            ),
            Kernel::Increment { buffer, offset, length, rounds } => format!(
                "\"increment\", buffer = {}, offset = {}, length = {length}, rounds = {rounds}",
                name(buffer),
                count(offset)
            ),
            Kernel::MatrixProduct { a, b, c, rows, inner, columns } => format!(
                "\"matrix-product\", a = {}, b = {}, c = {}, rows = {rows}, inner = {inner}, columns = {columns}",
                name(a),
                name(b),
                name(c)
            ),
            Kernel::NormPartial { from, partial, length } => {
                format!(
                    "\"norm-partial\", from = {}, partial = {}, length = {length}",
                    name(from),
                    name(partial)
                )
            }
            Kernel::NormFinal { partial, to, length } => {
                format!("\"norm-final\", partial = {}, to = {}, length = {length}", name(partial), name(to))
            }
            Kernel::Scale { buffer, length, by } => {
                format!("\"scale\", buffer = {}, length = {length}, by = {}", name(buffer), name(by))
            }
        }
    }

    fn buffer(&self, id: BufferId) -> String {
        quoted(&self.process.buffers[id].name)
    }

    fn stream(&self, id: StreamId) -> String {
        quoted(&self.process.streams[id].name)
    }

    fn event(&self, id: EventId) -> String {
        quoted(&self.process.events[id].name)
    }
}

/// A context has no name but in the text.
fn context_name(id: ContextId) -> String {
    format!("context{}", id.0)
}

/// The name of a context that is not the process's first.
fn other_context(id: ContextId) -> Option<String> {
    (id != ContextId(0)).then(|| context_name(id))
}

fn number(number: Number, single: fn(u64) -> String) -> String {
    match number {
        Number::Is(number) => single(number),
        Number::Index { first, each } => format!("{{ first = {}, each = {} }}", single(first), single(each)),
    }
}

fn value(value: Value) -> String {
    match value {
        Value::Int(int) => int.to_string(),
        // Always with a point or an exponent, and read back to the same bits.
        Value::Float(float) => format!("{float:?}"),
    }
}

fn list<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.map(|name| quoted(name)).collect();
    format!("[{}]", names.join(", "))
}

/// A name as a key.
fn key_of(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { quoted(name) }
}

/// A name as TOML's basic string.
fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c)).expect("a string takes anything"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A size as TOML.
fn write_size(bytes: u64) -> String {
    format!("\"{}\"", quantity::exact_size(bytes))
}

/// A time as TOML.
fn write_time(ns: u64) -> String {
    format!("\"{}\"", quantity::exact_duration(ns))
}
