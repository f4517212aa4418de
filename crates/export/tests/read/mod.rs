//! Reads the part of Perfetto's format that the export uses, and fails if the output breaks the format's rules. Written
//! from the published `.proto` files, independent of the writer; `check_perfetto.py` does the same with Perfetto's own
//! package.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// A field's value.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Int(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn int(self) -> u64 {
        match self {
            Field::Int(number) => number,
            Field::Bytes(bytes) => panic!("expected a number: {bytes:?}"),
        }
    }

    fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Int(number) => panic!("expected bytes: {number}"),
        }
    }

    fn text(self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("text is UTF-8")
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a whole varint");
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint without an end")
}

/// The fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Field::Int(varint(&mut bytes)),
            wire => {
                let length = if wire == 1 { 8 } else { varint(&mut bytes) as usize };
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                match wire {
                    1 => Field::Int(u64::from_le_bytes(value.try_into().expect("eight bytes"))),
                    2 => Field::Bytes(value),
                    other => panic!("wire type {other}"),
                }
            }
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn all<'a>(fields: &[(u64, Field<'a>)], number: u64) -> impl Iterator<Item = Field<'a>> {
    fields.iter().filter(move |(other, _)| *other == number).map(|(_, value)| *value)
}

fn one<'a>(fields: &[(u64, Field<'a>)], number: u64) -> Option<Field<'a>> {
    all(fields, number).last()
}

/// A track as described.
#[derive(Debug, Default, Clone)]
pub struct Track {
    pub parent: u64,
    pub name: String,
    /// The id of a process or of a thread's process.
    pub pid: Option<i64>,
    pub tid: Option<i64>,
    pub is_counter: bool,
}

/// A slice as drawn.
#[derive(Debug, Clone)]
pub struct Slice {
    pub track: u64,
    pub depth: usize,
    pub name: String,
    pub category: String,
    pub start: u64,
    pub end: u64,
    pub args: Vec<(String, String)>,
    /// (flow, time), at the beginning and at the end.
    pub flows: Vec<(u64, u64)>,
}

/// A thread's stack at a time.
#[derive(Debug, Clone)]
pub struct Sample {
    pub at: u64,
    pub pid: i64,
    pub tid: i64,
    /// Library and function, the outermost first.
    pub frames: Vec<String>,
}

/// A trace as a viewer reads it.
#[derive(Debug, Default)]
pub struct Opened {
    pub tracks: BTreeMap<u64, Track>,
    /// In the order of the file.
    pub order: Vec<u64>,
    pub slices: Vec<Slice>,
    pub counters: BTreeMap<u64, Vec<(u64, f64)>>,
    pub samples: Vec<Sample>,
    /// Name, and pairs of words.
    pub instants: Vec<(String, Vec<(String, String)>)>,
    sequences: HashMap<u64, Sequence>,
}

#[derive(Debug, Default)]
struct Sequence {
    track: u64,
    interned: HashMap<(u64, u64), String>,
    /// Fields of mappings, frames and stacks, as numbers.
    parts: HashMap<(u64, u64), Vec<(u64, u64)>>,
    open: Vec<usize>,
    last: u64,
}

const CATEGORIES: u64 = 1;
const NAMES: u64 = 2;
const KEYS: u64 = 3;
const STRINGS: u64 = 29;
const FUNCTIONS: u64 = 5;
const FRAMES: u64 = 6;
const CALLSTACKS: u64 = 7;
const PATHS: u64 = 17;
const MAPPINGS: u64 = 19;

/// Reads the output of `export::perfetto`.
pub fn open(bytes: &[u8]) -> Opened {
    let mut opened = Opened::default();
    for (number, packet) in fields(bytes) {
        assert_eq!(number, 1, "a trace is packets");
        opened.packet(&fields(packet.bytes()));
    }
    assert!(opened.sequences.values().all(|sequence| sequence.open.is_empty()), "a slice without an end");
    opened
}

impl Sequence {
    fn sample(&self, sample: &[(u64, Field<'_>)], at: u64) -> Sample {
        let part = |kind, iid, field| {
            let parts = self.parts.get(&(kind, iid)).expect("interned before").iter();
            parts.filter(move |(other, _)| *other == field).map(|(_, value)| *value)
        };
        let only = |kind, iid, field| part(kind, iid, field).next().expect("there is one");
        let frame = |iid| {
            let mapping = only(FRAMES, iid, 3);
            let path = &self.interned[&(PATHS, only(MAPPINGS, mapping, 7))];
            format!("{path}!{}", self.interned[&(FUNCTIONS, only(FRAMES, iid, 2))])
        };
        let stack = one(sample, 4).map(Field::int);
        let frames = stack.map_or(Vec::new(), |iid| part(CALLSTACKS, iid, 2).map(frame).collect());
        let number = |field| one(sample, field).expect("a number").int() as i64;
        Sample { at, pid: number(2), tid: number(3), frames }
    }
}

impl Opened {
    fn packet(&mut self, packet: &[(u64, Field<'_>)]) {
        if let Some(track) = one(packet, 60) {
            self.describe(&fields(track.bytes()));
        }
        let Some(number) = one(packet, 10).map(Field::int) else { return };
        let flags = one(packet, 13).expect("flags").int();
        if let Some(defaults) = one(packet, 59) {
            assert_eq!(flags, 1, "what was interned before is gone");
            let event = fields(one(&fields(defaults.bytes()), 11).expect("defaults of events").bytes());
            let track = one(&event, 11).expect("a track").int();
            assert!(self.tracks.contains_key(&track));
            let new = self.sequences.insert(number, Sequence { track, ..Sequence::default() });
            assert!(new.is_none(), "a sequence begins once");
        }
        if one(packet, 87).is_some_and(|first| first.int() == 1) && one(packet, 59).is_none() {
            assert_eq!(flags, 1, "what was interned before is gone");
            assert!(self.sequences.insert(number, Sequence::default()).is_none(), "a sequence begins once");
        }
        let (event, sample) = (one(packet, 11), one(packet, 66));
        if event.is_none() && sample.is_none() {
            return;
        }
        assert_eq!(flags, 2, "what was interned is needed");
        let sequence = self.sequences.get_mut(&number).expect("a sequence that began");
        for data in all(packet, 12) {
            for (kind, entry) in fields(data.bytes()) {
                let entry = fields(entry.bytes());
                if [FRAMES, CALLSTACKS, MAPPINGS].contains(&kind) {
                    let iid = one(&entry, 1).expect("a number").int();
                    let parts = entry.iter().map(|(field, value)| (*field, value.int())).collect();
                    assert!(sequence.parts.insert((kind, iid), parts).is_none(), "interned twice");
                    continue;
                }
                let (iid, text) =
                    (one(&entry, 1).expect("a number").int(), one(&entry, 2).expect("a text").text());
                assert!(sequence.interned.insert((kind, iid), text).is_none(), "interned twice");
            }
        }
        let time = one(packet, 8).expect("a time").int();
        if let Some(sample) = sample {
            let sample = sequence.sample(&fields(sample.bytes()), time);
            return self.samples.push(sample);
        }
        let event = event.expect("an event or a sample");
        assert!(time >= sequence.last && time < 1 << 63, "time goes backwards");
        sequence.last = time;
        self.event(&fields(event.bytes()), time, number);
    }

    fn describe(&mut self, track: &[(u64, Field<'_>)]) {
        let uuid = one(track, 1).expect("an id").int();
        let mut described = Track {
            parent: one(track, 5).map_or(0, Field::int),
            name: one(track, 2).map_or(String::new(), Field::text),
            is_counter: one(track, 8).is_some(),
            ..Track::default()
        };
        assert!(described.parent == 0 || self.tracks.contains_key(&described.parent), "an unknown parent");
        for (number, name) in [(3, 6), (4, 5)] {
            let Some(who) = one(track, number).map(|who| fields(who.bytes())) else { continue };
            described.pid = one(&who, 1).map(|pid| pid.int() as i64);
            described.tid = one(&who, 2).filter(|_| number == 4).map(|tid| tid.int() as i64);
            described.name = one(&who, name).map_or(String::new(), Field::text);
        }
        assert!(described.pid.is_none_or(|pid| (1..1 << 31).contains(&pid)));
        assert!(self.tracks.insert(uuid, described).is_none(), "a track twice");
        self.order.push(uuid);
    }

    fn event(&mut self, event: &[(u64, Field<'_>)], time: u64, number: u64) {
        let sequence = self.sequences.get_mut(&number).expect("a sequence");
        let text = |kind, iid: Field<'_>| sequence.interned[&(kind, iid.int())].clone();
        let value = |note: &[(u64, Field<'_>)]| {
            let items: Vec<_> = all(note, 12).map(|item| fields(item.bytes())).collect();
            let items: Vec<_> =
                items.iter().map(|item| text(STRINGS, one(item, 17).expect("interned"))).collect();
            match () {
                () if !items.is_empty() => format!("[{}]", items.join(", ")),
                () => one(note, 6)
                    .map(Field::text)
                    .or_else(|| one(note, 17).map(|iid| text(STRINGS, iid)))
                    .or_else(|| one(note, 4).map(|int| (int.int() as i64).to_string()))
                    .or_else(|| one(note, 5).map(|real| f64::from_bits(real.int()).to_string()))
                    .or_else(|| one(note, 2).map(|truth| (truth.int() == 1).to_string()))
                    .expect("a value"),
            }
        };
        let args: Vec<_> = all(event, 4)
            .map(|note| {
                let note = fields(note.bytes());
                let key =
                    one(&note, 10).map(Field::text).or_else(|| one(&note, 1).map(|iid| text(KEYS, iid)));
                (key.expect("a key"), value(&note))
            })
            .collect();
        let flows = all(event, 47).map(|flow| (flow.int(), time));
        match one(event, 9).expect("a type").int() {
            1 => {
                let slice = Slice {
                    track: sequence.track,
                    depth: sequence.open.len(),
                    name: text(NAMES, one(event, 10).expect("a name")),
                    category: text(CATEGORIES, one(event, 3).expect("a category")),
                    start: time,
                    end: 0,
                    args,
                    flows: flows.collect(),
                };
                sequence.open.push(self.slices.len());
                self.slices.push(slice);
            }
            2 => {
                let slice = &mut self.slices[sequence.open.pop().expect("an open slice")];
                slice.end = time;
                slice.flows.extend(flows);
            }
            3 => self.instants.push((one(event, 23).expect("a name").text(), args)),
            4 => {
                assert!(self.tracks[&sequence.track].is_counter);
                let real = one(event, 44).map(|value| f64::from_bits(value.int()));
                let value = real.or_else(|| one(event, 30).map(|value| value.int() as f64)).expect("a value");
                self.counters.entry(sequence.track).or_default().push((time, value));
            }
            other => panic!("an event of type {other}"),
        }
    }

    /// Slices of a category.
    pub fn of(&self, category: &str) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(move |slice| slice.category == category)
    }

    /// Everything as text: tracks in order, what they hold below them.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for uuid in &self.order {
            let track = &self.tracks[uuid];
            let parent = self.tracks.get(&track.parent).map_or("", |parent| &parent.name);
            let numbers: Vec<_> =
                [track.pid, track.tid].iter().flatten().map(|number| number.to_string()).collect();
            writeln!(out, "{:?} {} in {parent:?}", track.name, numbers.join("/")).unwrap();
            for slice in self.slices.iter().filter(|slice| slice.track == *uuid) {
                let args: Vec<_> = slice.args.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let flows: Vec<_> = slice.flows.iter().map(|(flow, at)| format!("~{flow}@{at}")).collect();
                let indent = "  ".repeat(slice.depth + 1);
                let (start, end) = (slice.start, slice.end);
                let words = [&args[..], &flows[..]].concat().join(" ");
                writeln!(out, "{indent}{start}–{end} {} {} {words}", slice.category, slice.name).unwrap();
            }
            for (at, value) in self.counters.get(uuid).into_iter().flatten() {
                writeln!(out, "  {at}: {value}").unwrap();
            }
        }
        for Sample { at, pid, tid, frames } in &self.samples {
            writeln!(out, "sample {at} {pid}/{tid} {}", frames.join(" ")).unwrap();
        }
        for (name, pairs) in &self.instants {
            writeln!(out, "{name}").unwrap();
            pairs.iter().for_each(|(key, value)| writeln!(out, "  {key}: {value}").unwrap());
        }
        out
    }
}
