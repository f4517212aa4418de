//! `[[process]]` and `[[process.thread]]`: their declarations, and their copies.

use super::lines::{Lines, ProcessLines, ThreadLines};
use super::read::{Field, Read, Table};
use super::scope::{Names, Scope};
use super::steps::Scene;
use crate::check::MOST_THREADS;
use crate::model::*;

const PROCESS: &[&str] =
    &["name", "count", "device", "context", "contexts", "streams", "events", "buffers", "graphs", "thread"];

const THREAD: &[&str] = &[
    "name",
    "count",
    "device",
    "context",
    "own-context",
    "delay",
    "repeat",
    "streams",
    "events",
    "buffers",
    "graphs",
    "before",
    "body",
    "after",
];

/// Reads every process.
pub fn read(table: Table<'_>, barriers: &Names, workload: &mut Workload, lines: &mut Lines) -> Read<()> {
    let mut room = MOST_THREADS;
    for field in table.need("process")?.array()? {
        let table = field.table(PROCESS)?;
        for copy in copies(&table)? {
            let (process, its_lines) = Reader::new(table, barriers, &copy)?.read(&mut room)?;
            workload.processes.push(process);
            lines.processes.push(its_lines);
        }
    }
    Ok(())
}

/// One of the `count` copies of a table.
struct Copy {
    name: String,
    number: u32,
}

/// As many copies as the `count` of a table, named with their numbers; without a count, one.
fn copies(table: &Table<'_>) -> Read<Vec<Copy>> {
    let name = table.need("name")?.text()?;
    let Some(field) = table.get("count") else { return Ok(vec![Copy { name: name.to_owned(), number: 0 }]) };
    let count = field.number()?;
    if !(1..=MOST_THREADS as u32).contains(&count) {
        return Err(field.fail(format!("a count of {count}: use 1 to {MOST_THREADS}")));
    }
    Ok((0..count).map(|number| Copy { name: format!("{name}-{number}"), number }).collect())
}

/// The default context.
#[derive(Clone, Copy)]
enum Home {
    /// A device's primary context, created when it is first needed.
    Primary(u32),
    Named(ContextId),
}

/// Reads one process.
struct Reader<'a> {
    table: Table<'a>,
    home: Home,
    process: Process,
    lines: ProcessLines,
    contexts: Names,
    names: Scope,
}

impl<'a> Reader<'a> {
    fn new(table: Table<'a>, barriers: &Names, copy: &Copy) -> Read<Reader<'a>> {
        let process = Process {
            name: copy.name.clone(),
            contexts: vec![],
            streams: vec![],
            events: vec![],
            buffers: vec![],
            graphs: vec![],
            threads: vec![],
        };
        let mut reader = Reader {
            table,
            home: Home::Primary(0),
            process,
            lines: ProcessLines { at: table.at, ..ProcessLines::default() },
            contexts: Names::default(),
            names: Scope { barriers: barriers.clone(), ..Scope::default() },
        };
        reader.contexts(copy)?;
        reader.home = reader.home(&table, copy)?;
        Ok(reader)
    }

    fn read(mut self, room: &mut usize) -> Read<(Process, ProcessLines)> {
        let mut names = std::mem::take(&mut self.names);
        self.things(&self.table.clone(), self.home, "", &mut names)?;
        for field in self.table.get("thread").map_or(Ok(vec![]), |field| field.array())? {
            let table = field.table(THREAD)?;
            for copy in copies(&table)? {
                *room = room.checked_sub(1).ok_or_else(|| {
                    field.fail(format!("more than {MOST_THREADS} threads: use fewer or smaller counts"))
                })?;
                self.thread(&table, &copy, names.clone())?;
            }
        }
        Ok((self.process, self.lines))
    }

    /// The contexts that have names.
    fn contexts(&mut self, copy: &Copy) -> Read<()> {
        let Some(field) = self.table.get("contexts") else { return Ok(()) };
        for (name, field) in field.names()?.entries() {
            let table = field.table(&["device", "own"])?;
            let own = table.get("own").map_or(Ok(false), |field| field.yes())?;
            let device = table.get("device").map_or(Ok(0), |field| device(&field, copy))?;
            self.contexts.set(name, self.process.contexts.len() as u32);
            self.process.contexts.push(Context { device, primary: !own });
            self.lines.contexts.push(field.at);
        }
        Ok(())
    }

    /// The context that a process or thread declares.
    fn home(&self, table: &Table<'_>, copy: &Copy) -> Read<Home> {
        match (table.get("context"), table.get("device")) {
            (Some(_), Some(field)) => {
                Err(field.fail("a context and a device: the context has its own, leave the device out"))
            }
            (Some(field), None) => self.named(&field),
            (None, Some(field)) => Ok(Home::Primary(device(&field, copy)?)),
            (None, None) => Ok(self.home),
        }
    }

    fn named(&self, field: &Field<'_>) -> Read<Home> {
        Ok(Home::Named(ContextId(self.contexts.find("context", field)?)))
    }

    /// The row of a context, which is created if it is a primary one that does not exist yet.
    fn context(&mut self, home: Home) -> ContextId {
        match home {
            Home::Named(id) => id,
            Home::Primary(device) => {
                let id = self.process.primary(device);
                self.lines.contexts.resize(self.process.contexts.len(), self.table.at);
                id
            }
        }
    }

    /// Streams, events, buffers and graphs of a process or thread, whose names follow `owner`.
    fn things(&mut self, table: &Table<'_>, home: Home, owner: &str, names: &mut Scope) -> Read<()> {
        for (name, field) in declared(table, "streams")? {
            let (kind, context) = self.kind(&field, home)?;
            let kind = stream_kind(&kind)?;
            names.streams.set(name, self.process.stream(format!("{owner}{name}"), context, kind).0);
            self.lines.streams.push(field.at);
        }
        for (name, field) in declared(table, "events")? {
            let (kind, context) = self.kind(&field, home)?;
            let name_in_process = format!("{owner}{name}");
            let event = match kind.text()? {
                "plain" => self.process.event(name_in_process, context),
                "timing" => self.process.timing_event(name_in_process, context),
                _ => return Err(kind.fail("an event is \"plain\" or \"timing\": use one of the two")),
            };
            names.events.set(name, event.0);
            self.lines.events.push(field.at);
        }
        for (name, field) in declared(table, "buffers")? {
            let (memory, bytes, context) = self.buffer(&field, home)?;
            names.buffers.set(name, self.process.buffer(format!("{owner}{name}"), context, memory, bytes).0);
            self.lines.buffers.push(field.at);
        }
        for field in table.get("graphs").map_or(Ok(vec![]), |field| field.array())? {
            let name = field.text()?;
            names.graphs.set(name, self.process.graph(format!("{owner}{name}")).0);
            self.lines.graphs.push(field.at);
        }
        Ok(())
    }

    /// A stream or event: its kind, or a table with its kind and context.
    fn kind<'f>(&mut self, field: &Field<'f>, home: Home) -> Read<(Field<'f>, ContextId)> {
        let Some(table) = field.as_table(&["kind", "context"])? else {
            return Ok((*field, self.context(home)));
        };
        let home = table.get("context").map_or(Ok(home), |field| self.named(&field))?;
        Ok((table.need("kind")?, self.context(home)))
    }

    /// A buffer: its memory with its size, and a context.
    fn buffer(&mut self, field: &Field<'_>, home: Home) -> Read<(Memory, u64, ContextId)> {
        let mut keys: Vec<&str> = MEMORIES.iter().map(|(name, _)| *name).collect();
        keys.push("context");
        let table = field.table(&keys)?;
        let home = table.get("context").map_or(Ok(home), |field| self.named(&field))?;
        let mut memories = MEMORIES.iter().filter_map(|(name, memory)| Some((*memory, table.get(name)?)));
        let (Some((memory, bytes)), None) = (memories.next(), memories.next()) else {
            return Err(field
                .fail("a buffer is of one memory with its size, as in { device = \"64 MiB\" }: say it so"));
        };
        Ok((memory, bytes.bytes()?, self.context(home)))
    }

    fn thread(&mut self, table: &Table<'_>, copy: &Copy, mut names: Scope) -> Read<()> {
        let home = self.thread_home(table, copy)?;
        self.things(table, home, &format!("{}.", copy.name), &mut names)?;
        let context = self.context(home);
        let scene = Scene { known: &names, buffers: &self.process.buffers };
        let steps = |key| table.get(key).map_or(Ok(Default::default()), |field| scene.steps(&field));
        let ((before, before_lines), (body, body_lines), (after, after_lines)) =
            (steps("before")?, steps("body")?, steps("after")?);
        let thread = self.process.thread(copy.name.clone(), context);
        thread.delay_ns = table.get("delay").map_or(Ok(0), |field| delay(&field, copy))?;
        thread.repeat = table.get("repeat").map_or(Ok(Repeat::Times(1)), |field| repeat(&field))?;
        (thread.before, thread.body, thread.after) = (before, body, after);
        self.lines.threads.push(ThreadLines {
            at: table.at,
            before: before_lines,
            body: body_lines,
            after: after_lines,
        });
        Ok(())
    }

    /// A thread's context: as for processes, or its own new one.
    fn thread_home(&mut self, table: &Table<'_>, copy: &Copy) -> Read<Home> {
        let home = self.home(table, copy)?;
        let Some(field) = table.get("own-context") else { return Ok(home) };
        if !field.yes()? {
            return Ok(home);
        }
        let device = match home {
            Home::Primary(device) => device,
            Home::Named(_) if table.get("context").is_some() => {
                return Err(field.fail("both an own context and a named one: remove one"));
            }
            Home::Named(id) => self.process.contexts[id].device,
        };
        let id = self.process.own_context(device);
        self.lines.contexts.push(table.at);
        Ok(Home::Named(id))
    }
}

/// The names that a table declares under a key.
fn declared<'a>(table: &Table<'a>, key: &str) -> Read<Vec<(&'a str, Field<'a>)>> {
    Ok(table.get(key).map(|field| field.names()).transpose()?.map_or(vec![], |names| names.entries()))
}

/// Memories by their keys.
pub const MEMORIES: [(&str, Memory); 6] = [
    ("device", Memory::Device),
    ("pool", Memory::Pool),
    ("managed", Memory::Managed),
    ("pinned", Memory::Pinned),
    ("pageable", Memory::Pageable),
    ("fresh", Memory::Fresh),
];

/// Kinds of streams by name.
pub const STREAM_KINDS: [(&str, StreamKind); 3] = [
    ("default", StreamKind::Default),
    ("blocking", StreamKind::Blocking),
    ("non-blocking", StreamKind::NonBlocking),
];

fn stream_kind(field: &Field<'_>) -> Read<StreamKind> {
    let name = field.text()?;
    let kind = STREAM_KINDS.iter().find(|(kind, _)| *kind == name);
    kind.map(|(_, kind)| *kind).ok_or_else(|| {
        field.fail("a stream is \"default\", \"blocking\" or \"non-blocking\": use one of the three")
    })
}

/// A device's ordinal, or `"each"`: the copy's number.
fn device(field: &Field<'_>, copy: &Copy) -> Read<u32> {
    match field.as_text() {
        None => field.number(),
        Some("each") => Ok(copy.number),
        Some(_) => {
            Err(field.fail("a device is its number, or \"each\" for copy number n on device n: use one"))
        }
    }
}

/// A time, or a table with that of the first copy and the increase per copy.
fn delay(field: &Field<'_>, copy: &Copy) -> Read<u64> {
    match field.counted(Field::time)? {
        Number::Is(ns) => Ok(ns),
        Number::Index { first, each } => {
            let delay = each.checked_mul(copy.number.into()).and_then(|more| more.checked_add(first));
            delay.ok_or_else(|| field.fail("a delay of more than 584 years: make it shorter"))
        }
    }
}

/// A number of times, a time, or `"while-others"`.
fn repeat(field: &Field<'_>) -> Read<Repeat> {
    match field.as_text() {
        Some("while-others") => Ok(Repeat::WhileOthers),
        Some(_) => field.time().map(Repeat::For),
        None => field.as_number().map(Repeat::Times).ok_or_else(|| {
            field.fail("\"repeat\" must be a number of times, a time as in \"1 s\", or \"while-others\"")
        }),
    }
}
