//! Steps: one table per call, whose verb is a key.

use super::lines::StepLines;
use super::read::{Field, Read, Table, instead};
use super::scope::Scope;
use crate::model::*;

/// The verbs of steps with their further keys; `launch` also has those of its kernel.
pub(super) const VERBS: &[(&str, &[&str])] = &[
    ("allocate", &["stream"]),
    ("free", &["stream"]),
    ("register", &[]),
    ("unregister", &[]),
    ("copy", &["bytes", "offset", "stream"]),
    ("copy-2d", &["width", "height", "from-pitch", "to-pitch", "stream"]),
    ("copy-3d", &["width", "height", "depth", "from-pitch", "to-pitch", "stream"]),
    ("fill", &["value", "stream"]),
    ("check", &["bytes", "value"]),
    ("launch", &["grid", "block", "stream"]),
    ("blas-norm", &["length", "stream"]),
    ("launch-graph", &["stream"]),
    ("record", &["stream"]),
    ("wait", &["stream"]),
    ("query", &[]),
    ("elapsed", &[]),
    ("query-event", &[]),
    ("synchronize", &[]),
    ("synchronize-event", &[]),
    ("create-stream", &[]),
    ("destroy-stream", &[]),
    ("create-event", &[]),
    ("destroy-event", &[]),
    ("sleep", &[]),
    ("work", &[]),
    ("hold", &[]),
    ("meet", &[]),
    ("repeat", &["steps"]),
    ("capture", &["stream", "steps"]),
];

/// Steps that need no table.
const WORDS: [(&str, Call); 2] =
    [("synchronize-context", Call::SynchronizeContext), ("load-module", Call::LoadModule)];

/// Kernels with their arguments.
pub(super) const KERNELS: &[(&str, &[&str])] = &[
    ("empty", &[]),
    ("delay", &["cycles"]),
    ("add-constant", &["from", "to", "value", "length", "rounds"]),
    ("increment", &["buffer", "offset", "length", "rounds"]),
    ("matrix-product", &["a", "b", "c", "rows", "inner", "columns"]),
    ("norm-partial", &["from", "partial", "length"]),
    ("norm-final", &["partial", "to", "length"]),
    ("scale", &["buffer", "length", "by"]),
];

/// Names and buffers that steps may use.
pub struct Scene<'s> {
    pub known: &'s Scope,
    /// The rows of buffers by name.
    pub buffers: &'s [Buffer],
}

/// Steps, and where each begins.
pub type Steps = (Vec<Step>, Vec<StepLines>);

impl Scene<'_> {
    /// An array of steps.
    pub fn steps(&self, field: &Field<'_>) -> Read<Steps> {
        let mut all = Steps::default();
        for field in field.array()? {
            for (step, inside) in self.step(&field)? {
                all.0.push(step);
                all.1.push(StepLines { at: field.at, inside });
            }
        }
        Ok(all)
    }

    /// One step, or one per name of a list.
    fn step(&self, field: &Field<'_>) -> Read<Vec<(Step, Vec<StepLines>)>> {
        if let Some(word) = field.as_text() {
            return Ok(vec![(Step::Call(call_in_a_word(word, field)?), vec![])]);
        }
        let Some(table) = field.any_table() else {
            return Err(field.fail("a step is a table, as in { synchronize = \"s\" }: write it so"));
        };
        let (verb, keys) = verb(&table, field)?;
        let object = table.need(verb)?;
        match verb {
            "repeat" => {
                let (steps, lines) = self.steps(&table.need("steps")?)?;
                Ok(vec![(Step::Loop { times: object.number()?, steps }, lines)])
            }
            "capture" => {
                let (graph, stream) = (self.graph(&object)?, self.stream_of(&table)?);
                let (steps, lines) = self.steps(&table.need("steps")?)?;
                Ok(vec![(Step::Capture { graph, stream, steps }, lines)])
            }
            "copy" => Ok(vec![(Step::Call(self.copy(&object, &table)?), vec![])]),
            "copy-2d" | "copy-3d" => {
                Ok(vec![(Step::Call(self.copy_rows(&object, &table, verb == "copy-3d")?), vec![])])
            }
            "blas-norm" => Ok(vec![(Step::Call(self.blas_norm(&object, &table)?), vec![])]),
            "elapsed" => Ok(vec![(Step::Call(self.elapsed(&object)?), vec![])]),
            "launch" => Ok(vec![(Step::Call(self.launch(&object, &table, keys)?), vec![])]),
            _ => {
                let objects = object.as_array().unwrap_or_else(|| vec![object]);
                objects
                    .iter()
                    .map(|object| Ok((Step::Call(self.call(verb, object, &table)?), vec![])))
                    .collect()
            }
        }
    }

    /// A call with one object.
    fn call(&self, verb: &str, object: &Field<'_>, table: &Table<'_>) -> Read<Call> {
        let stream = || table.get("stream").map(|field| self.stream(&field)).transpose();
        Ok(match verb {
            "allocate" => Call::Allocate { buffer: self.buffer(object)?, stream: stream()? },
            "free" => Call::Free { buffer: self.buffer(object)?, stream: stream()? },
            "register" => Call::Register { buffer: self.buffer(object)? },
            "unregister" => Call::Unregister { buffer: self.buffer(object)? },
            "fill" => Call::Fill {
                buffer: self.buffer(object)?,
                value: table.need("value")?.value()?,
                stream: stream()?,
            },
            "check" => {
                let buffer = self.buffer(object)?;
                let all = self.buffers[buffer].bytes;
                let bytes = table.get("bytes").map_or(Ok(all), |field| field.bytes())?;
                Call::Check { buffer, bytes, value: table.need("value")?.value()? }
            }
            "launch-graph" => {
                Call::LaunchGraph { graph: self.graph(object)?, stream: self.stream_of(table)? }
            }
            "record" => Call::RecordEvent { event: self.event(object)?, stream: self.stream_of(table)? },
            "wait" => Call::WaitEvent { event: self.event(object)?, stream: self.stream_of(table)? },
            "query" => Call::QueryStream { stream: self.stream(object)? },
            "query-event" => Call::QueryEvent { event: self.event(object)? },
            "synchronize" => Call::SynchronizeStream { stream: self.stream(object)? },
            "synchronize-event" => Call::SynchronizeEvent { event: self.event(object)? },
            "create-stream" => Call::CreateStream { stream: self.stream(object)? },
            "destroy-stream" => Call::DestroyStream { stream: self.stream(object)? },
            "create-event" => Call::CreateEvent { event: self.event(object)? },
            "destroy-event" => Call::DestroyEvent { event: self.event(object)? },
            "sleep" => Call::Sleep { ns: object.time()? },
            "work" => Call::Work { ns: object.time()? },
            "hold" => Call::Hold { ns: object.time()? },
            "meet" => Call::Meet { barrier: BarrierId(self.known.barriers.find("barrier", object)?) },
            _ => unreachable!("{verb} is in VERBS and is none of those with steps or several objects"),
        })
    }

    /// Without `bytes`, all of the smaller buffer.
    fn copy(&self, object: &Field<'_>, table: &Table<'_>) -> Read<Call> {
        let ends = object.as_array().unwrap_or_default();
        let [from, to] = ends.as_slice() else {
            return Err(
                object.fail("a copy is from one buffer to another, as in [\"host\", \"device\"]: name two")
            );
        };
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        let smaller = self.buffers[from].bytes.min(self.buffers[to].bytes);
        let offset = table.get("offset").map_or(Ok(Number::Is(0)), |field| field.counted(Field::bytes))?;
        let bytes = match (table.get("bytes"), table.get("offset")) {
            (Some(field), _) => field.bytes()?,
            (None, None) => smaller,
            (None, Some(field)) => return Err(field.fail("an offset without bytes: say how many")),
        };
        let stream = table.get("stream").map(|field| self.stream(&field)).transpose()?;
        Ok(Call::Copy { from, to, offset, bytes, stream })
    }

    /// Without pitches, rows follow without a gap.
    fn copy_rows(&self, object: &Field<'_>, table: &Table<'_>, is_deep: bool) -> Read<Call> {
        let ends = object.as_array().unwrap_or_default();
        let [from, to] = ends.as_slice() else {
            return Err(
                object.fail("a copy is from one buffer to another, as in [\"host\", \"device\"]: name two")
            );
        };
        let width = table.need("width")?.bytes()?;
        let pitch = |key| table.get(key).map_or(Ok(width), |field| field.bytes());
        Ok(Call::CopyRows {
            from: self.buffer(from)?,
            to: self.buffer(to)?,
            width,
            height: table.need("height")?.number()?,
            depth: if is_deep { Some(table.need("depth")?.number()?) } else { None },
            from_pitch: pitch("from-pitch")?,
            to_pitch: pitch("to-pitch")?,
            stream: self.stream_of(table)?,
        })
    }

    fn blas_norm(&self, object: &Field<'_>, table: &Table<'_>) -> Read<Call> {
        let ends = object.as_array().unwrap_or_default();
        let [from, to] = ends.as_slice() else {
            return Err(
                object.fail("a norm is of one buffer into another, as in [\"x\", \"norm\"]: name two")
            );
        };
        Ok(Call::BlasNorm {
            from: self.buffer(from)?,
            to: self.buffer(to)?,
            length: table.need("length")?.number()?,
            stream: self.stream_of(table)?,
        })
    }

    fn elapsed(&self, object: &Field<'_>) -> Read<Call> {
        let ends = object.as_array().unwrap_or_default();
        let [from, to] = ends.as_slice() else {
            return Err(
                object.fail("time is from one event to another, as in [\"start\", \"end\"]: name two")
            );
        };
        Ok(Call::Elapsed { from: self.event(from)?, to: self.event(to)? })
    }

    fn launch(&self, object: &Field<'_>, table: &Table<'_>, keys: &[&str]) -> Read<Call> {
        let name = object.text()?;
        let kernel = KERNELS.iter().find(|(kernel, _)| *kernel == name);
        let Some((_, arguments)) = kernel else {
            let known: Vec<&str> = KERNELS.iter().map(|(kernel, _)| *kernel).collect();
            return Err(object.fail(format!("there is no kernel {name:?}{}", instead(name, &known))));
        };
        table.only(&[&["launch"], keys, arguments].concat())?;
        Ok(Call::Launch {
            kernel: self.kernel(name, table)?,
            grid: table.need("grid")?.number()?,
            block: table.need("block")?.number()?,
            stream: self.stream_of(table)?,
        })
    }

    fn kernel(&self, name: &str, table: &Table<'_>) -> Read<Kernel> {
        let buffer = |key| self.buffer(&table.need(key)?);
        let number = |key| table.need(key)?.number();
        let whole: fn(&Field<'_>) -> Read<u64> = |field| field.number();
        Ok(match name {
            "empty" => Kernel::Empty,
            "delay" => Kernel::Delay { cycles: table.need("cycles")?.number()? },
            "add-constant" => Kernel::AddConstant {
                from: buffer("from")?,
                to: buffer("to")?,
                value: table.need("value")?.counted(whole)?,
                length: number("length")?,
                rounds: number("rounds")?,
            },
            "increment" => Kernel::Increment {
                buffer: buffer("buffer")?,
                offset: table.get("offset").map_or(Ok(Number::Is(0)), |field| field.counted(whole))?,
                length: number("length")?,
                rounds: number("rounds")?,
            },
            "matrix-product" => Kernel::MatrixProduct {
                a: buffer("a")?,
                b: buffer("b")?,
                c: buffer("c")?,
                rows: number("rows")?,
                inner: number("inner")?,
                columns: number("columns")?,
            },
            "norm-partial" => Kernel::NormPartial {
                from: buffer("from")?,
                partial: buffer("partial")?,
                length: number("length")?,
            },
            "norm-final" => Kernel::NormFinal {
                partial: buffer("partial")?,
                to: buffer("to")?,
                length: number("length")?,
            },
            "scale" => {
                Kernel::Scale { buffer: buffer("buffer")?, length: number("length")?, by: buffer("by")? }
            }
            _ => unreachable!("{name} is in KERNELS"),
        })
    }

    fn buffer(&self, field: &Field<'_>) -> Read<BufferId> {
        self.known.buffers.find("buffer", field).map(BufferId)
    }

    fn stream(&self, field: &Field<'_>) -> Read<StreamId> {
        self.known.streams.find("stream", field).map(StreamId)
    }

    fn stream_of(&self, table: &Table<'_>) -> Read<StreamId> {
        self.stream(&table.need("stream")?)
    }

    fn event(&self, field: &Field<'_>) -> Read<EventId> {
        self.known.events.find("event", field).map(EventId)
    }

    fn graph(&self, field: &Field<'_>) -> Read<GraphId> {
        self.known.graphs.find("graph", field).map(GraphId)
    }
}

fn call_in_a_word(word: &str, field: &Field<'_>) -> Read<Call> {
    if let Some((_, call)) = WORDS.iter().find(|(known, _)| *known == word) {
        return Ok(call.clone());
    }
    if VERBS.iter().any(|(verb, _)| *verb == word) {
        return Err(field.fail(format!("{word:?} needs an object: write {{ {word} = … }}")));
    }
    Err(field.fail(format!("there is no step {word:?}{}", instead(word, &all_verbs()))))
}

/// The verb of a step and the keys it takes.
fn verb(table: &Table<'_>, field: &Field<'_>) -> Read<(&'static str, &'static [&'static str])> {
    let mut verbs = VERBS.iter().filter(|(verb, _)| table.get(verb).is_some());
    match (verbs.next(), verbs.next()) {
        (Some((verb, keys)), None) => {
            if *verb != "launch" {
                table.only(&[&[*verb], *keys].concat())?;
            }
            Ok((verb, keys))
        }
        (Some((one, _)), Some((other, _))) => {
            Err(field.fail(format!("{one:?} and {other:?} in one step: make it two")))
        }
        (None, _) => {
            let key = table.entries().first().map_or("", |(key, _)| *key);
            Err(field.fail(format!("no key of this step says what it does{}", instead(key, &all_verbs()))))
        }
    }
}

/// Every verb, and every step that needs no table.
pub(super) fn all_verbs() -> Vec<&'static str> {
    VERBS.iter().map(|(verb, _)| *verb).chain(WORDS.iter().map(|(word, _)| *word)).collect()
}
