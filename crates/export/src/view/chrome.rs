//! The JSON of Chrome's trace viewer: complete events, arrows, counters and names of processes and threads.
//!
//! Its times are microseconds; three decimals keep them exact. The key `holdupExport` comes before the events: the
//! importer recognizes an export by it.

use super::about::About;
use super::event::{Category, Detail, Flow, Slice, Value};
use super::names::Names;
use super::samples::Samples;
use super::viewer::{Counter, Lane, View};
use super::who::{Group, Owner};
use serde_json::json;
use std::io::{self, Write};
use trace::{Ns, ThreadState};

/// The value of the key `holdupExport`: the version of the export's format.
const FORM: u32 = 1;

/// Writes events.
pub(super) struct Chrome<W> {
    to: W,
    shift: Ns,
    /// Whether an event was written.
    begun: bool,
    /// The process id of the current lane.
    pid: i64,
    tid: i64,
    /// The current event.
    line: Vec<u8>,
}

impl<W: Write> Chrome<W> {
    pub fn new(to: W) -> Chrome<W> {
        Chrome { to, shift: 0, begun: false, pid: 0, tid: 0, line: Vec::new() }
    }

    /// Begins an event with a phase.
    fn begin(&mut self, phase: char, pid: i64) {
        self.line.extend_from_slice(if self.begun { b",\n" } else { b"\n" });
        self.begun = true;
        self.push(format_args!("{{\"ph\":\"{phase}\",\"pid\":{pid}"));
    }

    /// Writes the current event.
    fn write(&mut self) -> io::Result<()> {
        self.line.push(b'}');
        self.to.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.line.write_fmt(text).expect("memory takes all");
    }

    fn push_text(&mut self, text: &str) {
        serde_json::to_writer(&mut self.line, text).expect("text always serializes");
    }

    fn push_named(&mut self, name: &str, category: Category) {
        let (tid, category) = (self.tid, category.text());
        self.push(format_args!(",\"tid\":{tid},\"cat\":\"{category}\",\"name\":"));
        self.push_text(name);
    }

    /// Adds a time or a duration.
    fn push_micros(&mut self, key: &str, ns: Ns) {
        self.push(format_args!(",\"{key}\":{}.{:03}", ns / 1000, ns % 1000));
    }

    fn push_value(&mut self, value: &Value<'_>, names: &Names<'_>) {
        match value {
            Value::Int(number) => self.push(format_args!("{number}")),
            Value::Real(number) => self.push(format_args!("{}", json!(number))),
            Value::Text(text) => self.push_text(text),
            Value::Made(text) => self.push_text(text),
            Value::Name(name) => self.push_text(names.text(*name)),
            Value::List(list) => {
                for (at, name) in list.iter().enumerate() {
                    self.line.push(if at == 0 { b'[' } else { b',' });
                    self.push_text(names.text(*name));
                }
                self.line.extend_from_slice(if list.is_empty() { b"[]" } else { b"]" });
            }
        }
    }

    /// Writes an end of an arrow, bound to the slice around it.
    fn flow(&mut self, flow: &Flow, names: &Names<'_>) -> io::Result<()> {
        self.begin(if flow.is_start { 's' } else { 'f' }, self.pid);
        self.push_named(names.text(flow.name), flow.category);
        self.push_micros("ts", flow.at + self.shift);
        self.push(format_args!(",\"id\":{}{}", flow.id, if flow.is_start { "" } else { ",\"bp\":\"e\"" }));
        self.write()
    }

    /// Writes the name or the position of a process or thread.
    fn metadata(
        &mut self,
        pid: i64,
        tid: Option<i64>,
        what: &str,
        value: serde_json::Value,
    ) -> io::Result<()> {
        self.begin('M', pid);
        if let Some(tid) = tid {
            self.push(format_args!(",\"tid\":{tid}"));
        }
        let key =
            if what.ends_with("sort_index") { "sort_index" } else { what.rsplit('_').next().unwrap_or(what) };
        self.push(format_args!(",\"name\":\"{what}\",\"args\":{{\"{key}\":{value}}}"));
        self.write()
    }
}

impl<W: Write> Chrome<W> {
    /// Writes the dictionary of the stacks that samples use: each has the name of its innermost frame and its caller.
    fn stack_frames(&mut self, samples: &Samples<'_>, used: &[bool], names: &Names<'_>) -> io::Result<()> {
        let mut written = false;
        for stack in samples.trace.stacks.ids().filter(|stack| used[stack.index()]) {
            let mut frames = samples.frames(stack);
            let Some((_, frame)) = frames.next() else { continue };
            let lead = if written { ",\n" } else { ",\"stackFrames\":{\n" };
            self.push(format_args!("{lead}\"{}\":{{\"name\":", stack.index()));
            self.push_text(names.text(names.of_frame(frame)));
            if let Some((caller, _)) = frames.next().filter(|(caller, _)| used[caller.index()]) {
                self.push(format_args!(",\"parent\":\"{}\"", caller.index()));
            }
            self.write()?;
            written = true;
        }
        self.to.write_all(if written { b"\n}" } else { b"" })
    }
}

impl<W: Write> View for Chrome<W> {
    fn about(&mut self, about: &About) -> io::Result<()> {
        self.shift = about.shift;
        let facts: serde_json::Map<_, _> = about.facts.iter().cloned().collect();
        let other = json!({ "findings": about.findings, "trace": facts });
        write!(
            self.to,
            "{{\"displayTimeUnit\":\"ns\",\"holdupExport\":{FORM},\"otherData\":{other},\"traceEvents\":["
        )
    }

    fn group(&mut self, at: usize, group: &Group) -> io::Result<()> {
        self.metadata(group.pid, None, "process_name", json!(group.name))?;
        if !group.labels.is_empty() {
            self.metadata(group.pid, None, "process_labels", json!(group.labels.join(", ")))?;
        }
        self.metadata(group.pid, None, "process_sort_index", json!(at))
    }

    fn lane(&mut self, lane: &Lane<'_>) -> io::Result<()> {
        (self.pid, self.tid) = (lane.group.pid, lane.tid);
        let name = match (lane.track.what, lane.track.name.as_str()) {
            (Owner::Thread(_), "") => format!("thread {}", lane.track.tid),
            (_, name) => name.to_owned(),
        };
        let name = if lane.number == 0 { name } else { format!("{name} ({})", lane.number + 1) };
        self.metadata(self.pid, Some(self.tid), "thread_name", json!(name))?;
        self.metadata(self.pid, Some(self.tid), "thread_sort_index", json!(lane.rank))
    }

    fn slice(&mut self, slice: &Slice, detail: &Detail<'_>, names: &Names<'_>) -> io::Result<()> {
        self.begin('X', self.pid);
        self.push_named(names.text(slice.name), slice.category);
        self.push_micros("ts", slice.start + self.shift);
        self.push_micros("dur", slice.end - slice.start);
        for (at, (key, value)) in detail.args.iter().enumerate() {
            self.push(format_args!("{}\"{}\":", if at == 0 { ",\"args\":{" } else { "," }, key.text()));
            self.push_value(value, names);
        }
        if !detail.args.is_empty() {
            self.line.push(b'}');
        }
        self.write()?;
        detail.flows.iter().try_for_each(|flow| self.flow(flow, names))
    }

    fn end(&mut self, _: Ns, _: &[Flow]) -> io::Result<()> {
        Ok(())
    }

    fn counter(&mut self, counter: &Counter<'_>) -> io::Result<()> {
        for (at, value) in &counter.points.values {
            self.begin('C', counter.group.pid);
            self.push(format_args!(",\"cat\":\"{}\",\"name\":", Category::Counter.text()));
            self.push_text(&counter.name);
            self.push_micros("ts", at + self.shift);
            let value = if counter.points.whole { json!(*value as i64) } else { json!(value) };
            self.push(format_args!(",\"args\":{{\"{}\":{value}}}", counter.points.unit));
            self.write()?;
        }
        Ok(())
    }

    /// Writes sample events; their stacks are in the dictionary `stackFrames` after all events.
    fn samples(&mut self, samples: &Samples<'_>, names: &Names<'_>) -> io::Result<()> {
        let trace = samples.trace;
        let mut used = vec![false; trace.stacks.len()];
        for sample in samples.ids() {
            let row = trace.samples.row(sample);
            let (pid, tid) = samples.shown(sample);
            self.begin('P', pid);
            self.tid = tid;
            self.push_named("sample", Category::Sample);
            self.push_micros("ts", row.at + self.shift);
            if let Some((innermost, _)) = samples.frames(row.stack).next() {
                self.push(format_args!(",\"sf\":{}", innermost.index()));
            }
            if row.state != ThreadState::Unknown {
                self.push(format_args!(",\"args\":{{\"state\":\"{}\"}}", row.state));
            }
            self.write()?;
            for (stack, _) in samples.frames(row.stack) {
                if std::mem::replace(&mut used[stack.index()], true) {
                    break;
                }
            }
        }
        self.to.write_all(b"\n]")?;
        self.stack_frames(samples, &used, names)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.write_all(b"}\n")
    }
}
