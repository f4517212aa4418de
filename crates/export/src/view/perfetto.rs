//! Perfetto's native format, according to its documentation of synthetic track events.
//!
//! Each lane and each counter has its own sequence of packets: the sequence's defaults name the track once, and names
//! are interned within it. Field numbers are those of Perfetto's published `.proto` files; `tests/check_perfetto.py`
//! checks them with Perfetto's own Python package.

use super::about::About;
use super::callstacks::Callstacks;
use super::event::{Category, Detail, Flow, Key, Slice, Value};
use super::names::{Name, Names};
use super::proto::{Message, intern};
use super::samples::Samples;
use super::viewer::{Counter, Lane, View};
use super::who::{Group, Owner};
use std::io::{self, Write};
use trace::Ns;

/// Field numbers, by message.
mod field {
    /// `Trace`.
    pub const PACKET: u32 = 1;

    /// `TracePacket`.
    pub mod packet {
        pub const CLOCK_SNAPSHOT: u32 = 6;
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const INTERNED_DATA: u32 = 12;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const DEFAULTS: u32 = 59;
        pub const TRACK_DESCRIPTOR: u32 = 60;
        pub const PERF_SAMPLE: u32 = 66;
        pub const FIRST_ON_SEQUENCE: u32 = 87;
        pub const ATTRIBUTES: u32 = 126;
    }

    /// `TracePacketDefaults`.
    pub const DEFAULTS_TRACK_EVENT: u32 = 11;

    /// `TrackEventDefaults`.
    pub const DEFAULTS_TRACK: u32 = 11;

    /// `TrackDescriptor`.
    pub mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const THREAD: u32 = 4;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
        pub const CHILD_ORDERING: u32 = 11;
        pub const SIBLING_RANK: u32 = 12;
    }

    /// `ProcessDescriptor`.
    pub mod process {
        pub const PID: u32 = 1;
        pub const NAME: u32 = 6;
        pub const LABELS: u32 = 8;
    }

    /// `ThreadDescriptor`.
    pub mod thread {
        pub const PID: u32 = 1;
        pub const TID: u32 = 2;
        pub const NAME: u32 = 5;
    }

    /// `CounterDescriptor`.
    pub mod counter {
        pub const UNIT: u32 = 3;
        pub const UNIT_NAME: u32 = 6;
    }

    /// `TrackEvent`.
    pub mod event {
        pub const CATEGORY_IIDS: u32 = 3;
        pub const ANNOTATIONS: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const NAME_IID: u32 = 10;
        pub const NAME: u32 = 23;
        pub const COUNTER_INT: u32 = 30;
        pub const COUNTER_DOUBLE: u32 = 44;
        pub const FLOW_IDS: u32 = 47;
    }

    /// `DebugAnnotation`.
    pub mod annotation {
        pub const NAME_IID: u32 = 1;
        pub const BOOL: u32 = 2;
        pub const INT: u32 = 4;
        pub const DOUBLE: u32 = 5;
        pub const STRING: u32 = 6;
        pub const NAME: u32 = 10;
        pub const ARRAY: u32 = 12;
        pub const STRING_IID: u32 = 17;
    }

    /// `InternedData`.
    pub mod interned {
        pub const CATEGORIES: u32 = 1;
        pub const EVENT_NAMES: u32 = 2;
        pub const ANNOTATION_NAMES: u32 = 3;
        pub const STRINGS: u32 = 29;
    }

    /// `PerfSample`.
    pub mod sample {
        pub const PID: u32 = 2;
        pub const TID: u32 = 3;
        pub const CALLSTACK_IID: u32 = 4;
    }

    /// `TraceAttributes`, and `Attribute` within.
    pub mod attributes {
        pub const ATTRIBUTE: u32 = 1;
        pub const KEY: u32 = 1;
        pub const LONG: u32 = 2;
        pub const STRING: u32 = 3;
    }
}

/// `TracePacket.SequenceFlags`: nothing of this sequence was interned before.
const STATE_CLEARED: u64 = 1;
/// `TracePacket.SequenceFlags`: the packet uses what was interned.
const NEEDS_STATE: u64 = 2;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// `CounterDescriptor.Unit`: a count.
const UNIT_COUNT: u64 = 2;
/// `TrackDescriptor.ChildTracksOrdering`: by the rank that each child states.
const EXPLICIT: u64 = 3;
/// Builtin clocks of `ClockSnapshot`; times of packets are on the second unless a packet names another.
const CLOCK_REALTIME: u64 = 1;
const CLOCK_BOOTTIME: u64 = 6;

/// Writes packets.
pub(super) struct Perfetto<W> {
    to: W,
    shift: Ns,
    /// The current sequence, from 1; 0 before the first.
    sequence: u64,
    uuids: u64,
    group_uuids: Vec<u64>,
    /// The track of the last thread.
    thread_uuid: u64,
    known: InternedNames,
    packet: Message,
    event: Message,
    interned: Message,
    frame: Message,
}

/// The last sequence that interned each name.
struct InternedNames {
    categories: [u64; Category::COUNT],
    keys: [u64; Key::COUNT],
    names: Vec<u64>,
    values: Vec<u64>,
}

impl<W: Write> Perfetto<W> {
    pub fn new(to: W) -> Perfetto<W> {
        Perfetto {
            to,
            shift: 0,
            sequence: 0,
            uuids: 0,
            group_uuids: Vec::new(),
            thread_uuid: 0,
            known: InternedNames {
                categories: [0; Category::COUNT],
                keys: [0; Key::COUNT],
                names: Vec::new(),
                values: Vec::new(),
            },
            packet: Message::default(),
            event: Message::default(),
            interned: Message::default(),
            frame: Message::default(),
        }
    }

    /// An id that no other track of this export has and that probably no other producer uses: consecutive numbers,
    /// spread over 64 bits by an invertible multiplication.
    fn uuid(&mut self) -> u64 {
        self.uuids += 1;
        self.uuids.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Writes the current packet.
    fn write(&mut self) -> io::Result<()> {
        self.frame.clear();
        self.frame.raw(field::PACKET, self.packet.bytes());
        self.packet.clear();
        self.to.write_all(self.frame.bytes())
    }

    fn descriptor(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.message(field::packet::TRACK_DESCRIPTOR, fill);
        self.write()
    }

    /// Begins the sequence of a track's events.
    fn begin_sequence(&mut self, uuid: u64) -> io::Result<()> {
        self.sequence += 1;
        self.packet.uint(field::packet::SEQUENCE, self.sequence);
        self.packet.uint(field::packet::SEQUENCE_FLAGS, STATE_CLEARED);
        self.packet.uint(field::packet::FIRST_ON_SEQUENCE, 1);
        self.packet.message(field::packet::DEFAULTS, |defaults| {
            defaults.message(field::DEFAULTS_TRACK_EVENT, |event| event.uint(field::DEFAULTS_TRACK, uuid));
        });
        self.write()
    }

    /// Writes the current event, with the entries that were interned for it.
    fn write_event(&mut self, at: Ns) -> io::Result<()> {
        self.write_as(field::packet::TRACK_EVENT, at)
    }

    /// Writes the current event as that field of a packet.
    fn write_as(&mut self, field: u32, at: Ns) -> io::Result<()> {
        self.packet.uint(field::packet::TIMESTAMP, (at + self.shift) as u64);
        self.packet.uint(field::packet::SEQUENCE, self.sequence);
        self.packet.uint(field::packet::SEQUENCE_FLAGS, NEEDS_STATE);
        if !self.interned.is_empty() {
            self.packet.raw(field::packet::INTERNED_DATA, self.interned.bytes());
            self.interned.clear();
        }
        self.packet.raw(field, self.event.bytes());
        self.event.clear();
        self.write()
    }

    fn add_value(&mut self, key: Key, value: &Value<'_>, names: &Names<'_>) {
        let Perfetto { event, interned, known, sequence, .. } = self;
        if is_new(&mut known.keys[key as usize], *sequence) {
            intern(interned, field::interned::ANNOTATION_NAMES, key as u64 + 1, key.text());
        }
        let mut intern_value = |name: Name| {
            let at = names.index(name);
            if is_new(&mut known.values[at], *sequence) {
                intern(interned, field::interned::STRINGS, at as u64 + 1, names.text(name));
            }
            at as u64 + 1
        };
        event.message(field::event::ANNOTATIONS, |annotation| {
            annotation.uint(field::annotation::NAME_IID, key as u64 + 1);
            match value {
                Value::Int(number) => annotation.int(field::annotation::INT, *number),
                Value::Real(number) => annotation.double(field::annotation::DOUBLE, *number),
                Value::Text(text) => annotation.text(field::annotation::STRING, text),
                Value::Made(text) => annotation.text(field::annotation::STRING, text),
                Value::Name(name) => annotation.uint(field::annotation::STRING_IID, intern_value(*name)),
                Value::List(list) => {
                    for name in list {
                        let iid = intern_value(*name);
                        annotation.message(field::annotation::ARRAY, |item| {
                            item.uint(field::annotation::STRING_IID, iid)
                        });
                    }
                }
            }
        });
    }
}

/// Whether this is the first use of an entry in a sequence.
fn is_new(known: &mut u64, sequence: u64) -> bool {
    std::mem::replace(known, sequence) != sequence
}

impl<W: Write> View for Perfetto<W> {
    fn about(&mut self, about: &About) -> io::Result<()> {
        self.shift = about.shift;
        self.clocks(about)?;
        self.attributes(about)?;
        let uuid = self.uuid();
        self.descriptor(|track| {
            track.uint(field::track::UUID, uuid);
            track.text(field::track::NAME, "holdup");
        })?;
        self.begin_sequence(uuid)?;
        let findings = about.findings.iter().enumerate();
        let findings: Vec<_> =
            findings.map(|(at, line)| (format!("H{}", at + 1), line.as_str().into())).collect();
        self.instant("findings", &findings)?;
        self.instant("about this trace", &about.facts)?;
        if about.lost {
            let lost: Vec<_> =
                about.facts.iter().filter(|(key, _)| key.starts_with("lost.")).cloned().collect();
            self.instant("records were lost", &lost)?;
        }
        Ok(())
    }

    fn group(&mut self, _: usize, group: &Group) -> io::Result<()> {
        let uuid = self.uuid();
        self.group_uuids.push(uuid);
        self.descriptor(|track| {
            track.uint(field::track::UUID, uuid);
            track.message(field::track::PROCESS, |process| {
                process.int(field::process::PID, group.pid);
                process.text(field::process::NAME, &group.name);
                group.labels.iter().for_each(|label| process.text(field::process::LABELS, label));
            });
            if group.device.is_some() {
                track.uint(field::track::CHILD_ORDERING, EXPLICIT);
            }
        })
    }

    /// The first lane of a thread is the thread, and its states are below it. Its other lanes, and those of a stream, share
    /// a name and a parent; the viewer draws them as one track.
    fn lane(&mut self, lane: &Lane<'_>) -> io::Result<()> {
        let (uuid, group) = (self.uuid(), self.group_uuids[lane.group_at]);
        let thread = self.thread_uuid;
        self.descriptor(|track| {
            track.uint(field::track::UUID, uuid);
            match (lane.track.what, lane.number) {
                (Owner::Thread(_), 0) => {
                    track.uint(field::track::PARENT, group);
                    track.message(field::track::THREAD, |thread| {
                        thread.int(field::thread::PID, lane.group.pid);
                        thread.int(field::thread::TID, lane.tid);
                        if !lane.track.name.is_empty() {
                            thread.text(field::thread::NAME, &lane.track.name);
                        }
                    });
                }
                (Owner::Thread(_) | Owner::States(_), _) => {
                    let states = matches!(lane.track.what, Owner::States(_));
                    track.uint(field::track::PARENT, thread);
                    track.text(field::track::NAME, if states { "state" } else { "overlapping" });
                }
                (Owner::Engine(..) | Owner::Stream(_), _) => {
                    track.uint(field::track::PARENT, group);
                    track.text(field::track::NAME, &lane.track.name);
                    track.int(field::track::SIBLING_RANK, 2 * lane.rank as i64);
                }
            }
        })?;
        if matches!((lane.track.what, lane.number), (Owner::Thread(_), 0)) {
            self.thread_uuid = uuid;
        }
        self.begin_sequence(uuid)
    }

    fn slice(&mut self, slice: &Slice, detail: &Detail<'_>, names: &Names<'_>) -> io::Result<()> {
        if self.known.names.is_empty() {
            self.known.names = vec![0; names.len()];
            self.known.values = vec![0; names.len()];
        }
        let (name, category) = (names.index(slice.name), slice.category as u64 + 1);
        if is_new(&mut self.known.categories[slice.category as usize], self.sequence) {
            intern(&mut self.interned, field::interned::CATEGORIES, category, slice.category.text());
        }
        if is_new(&mut self.known.names[name], self.sequence) {
            intern(&mut self.interned, field::interned::EVENT_NAMES, name as u64 + 1, names.text(slice.name));
        }
        self.event.uint(field::event::TYPE, SLICE_BEGIN);
        self.event.uint(field::event::CATEGORY_IIDS, category);
        self.event.uint(field::event::NAME_IID, name as u64 + 1);
        for flow in detail.flows.iter().filter(|flow| flow.at <= slice.start) {
            self.event.fixed(field::event::FLOW_IDS, flow.id);
        }
        for (key, value) in &detail.args {
            self.add_value(*key, value, names);
        }
        self.write_event(slice.start)
    }

    /// The viewer uses the earliest event of a flow as its start, so a flow that began within the slice ends with it.
    fn end(&mut self, at: Ns, late: &[Flow]) -> io::Result<()> {
        self.event.uint(field::event::TYPE, SLICE_END);
        for flow in late {
            self.event.fixed(field::event::FLOW_IDS, flow.id);
        }
        self.write_event(at)
    }

    fn counter(&mut self, counter: &Counter<'_>) -> io::Result<()> {
        let (uuid, group) = (self.uuid(), self.group_uuids[counter.group_at]);
        self.descriptor(|track| {
            track.uint(field::track::UUID, uuid);
            track.uint(field::track::PARENT, group);
            track.text(field::track::NAME, &counter.name);
            track.message(field::track::COUNTER, |described| match counter.points.whole {
                true => described.uint(field::counter::UNIT, UNIT_COUNT),
                false => described.text(field::counter::UNIT_NAME, counter.points.unit),
            });
            track.int(field::track::SIBLING_RANK, 2 * counter.rank as i64 + 1);
        })?;
        self.begin_sequence(uuid)?;
        for (at, value) in &counter.points.values {
            self.event.uint(field::event::TYPE, COUNTER);
            match counter.points.whole {
                true => self.event.int(field::event::COUNTER_INT, *value as i64),
                false => self.event.double(field::event::COUNTER_DOUBLE, *value),
            }
            self.write_event(*at)?;
        }
        Ok(())
    }

    /// Writes samples as those of `perf`, which is the only kind that has the time in nanoseconds and the thread. They
    /// share a sequence, in which each frame and stack is interned once.
    fn samples(&mut self, samples: &Samples<'_>, names: &Names<'_>) -> io::Result<()> {
        let trace = samples.trace;
        if trace.samples.is_empty() {
            return Ok(());
        }
        self.sequence += 1;
        self.packet.uint(field::packet::SEQUENCE, self.sequence);
        self.packet.uint(field::packet::SEQUENCE_FLAGS, STATE_CLEARED);
        self.packet.uint(field::packet::FIRST_ON_SEQUENCE, 1);
        self.write()?;
        let mut known = Callstacks::new(trace);
        for sample in samples.ids() {
            let row = trace.samples.row(sample);
            let (pid, tid) = samples.shown(sample);
            self.event.int(field::sample::PID, pid);
            self.event.int(field::sample::TID, tid);
            if let Some(iid) = known.intern(samples, row.stack, names, &mut self.interned) {
                self.event.uint(field::sample::CALLSTACK_IID, iid);
            }
            self.write_as(field::packet::PERF_SAMPLE, row.at)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Perfetto<W> {
    /// Relates the trace's time to the wall clock, if that is known.
    fn clocks(&mut self, about: &About) -> io::Result<()> {
        let Some(unix) = about.epoch_unix_ns.filter(|unix| *unix > 0) else { return Ok(()) };
        self.packet.uint(field::packet::TIMESTAMP, self.shift as u64);
        self.packet.message(field::packet::CLOCK_SNAPSHOT, |snapshot| {
            for (clock, time) in [(CLOCK_BOOTTIME, self.shift), (CLOCK_REALTIME, unix)] {
                snapshot.message(1, |entry| {
                    entry.uint(1, clock);
                    entry.uint(2, time as u64);
                });
            }
        });
        self.write()
    }

    /// Writes the attributes that the viewer lists in the trace's information.
    fn attributes(&mut self, about: &About) -> io::Result<()> {
        self.packet.message(field::packet::ATTRIBUTES, |attributes| {
            for (key, value) in &about.facts {
                attributes.message(field::attributes::ATTRIBUTE, |attribute| {
                    attribute.text(field::attributes::KEY, &format!("holdup.{key}"));
                    match value.as_i64() {
                        Some(number) => attribute.int(field::attributes::LONG, number),
                        None => attribute.text(field::attributes::STRING, &plain(value)),
                    }
                });
            }
        });
        self.write()
    }

    /// Writes an instant event at the trace's start whose arguments are `facts`.
    fn instant(&mut self, name: &str, facts: &[(String, serde_json::Value)]) -> io::Result<()> {
        let category = Category::About;
        if is_new(&mut self.known.categories[category as usize], self.sequence) {
            intern(&mut self.interned, field::interned::CATEGORIES, category as u64 + 1, category.text());
        }
        self.event.uint(field::event::TYPE, INSTANT);
        self.event.uint(field::event::CATEGORY_IIDS, category as u64 + 1);
        self.event.text(field::event::NAME, name);
        for (key, value) in facts {
            self.event.message(field::event::ANNOTATIONS, |annotation| {
                annotation.text(field::annotation::NAME, key);
                match (value.as_bool(), value.as_i64()) {
                    (Some(truth), _) => annotation.uint(field::annotation::BOOL, truth.into()),
                    (_, Some(number)) => annotation.int(field::annotation::INT, number),
                    _ => annotation.text(field::annotation::STRING, &plain(value)),
                }
            });
        }
        self.write_event(0)
    }
}

/// Text without the quotes of JSON.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
