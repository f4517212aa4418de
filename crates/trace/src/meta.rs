//! A trace's description: its source, its losses and what a reader must know.

use crate::{Ns, SCHEMA_VERSION};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tool that made a trace. Each importer declares its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Name in files and JSON: `nsys`.
    pub id: &'static str,
    /// Name for people: `Nsight Systems`.
    pub title: &'static str,
}

impl Source {
    /// Recorded or built by holdup.
    pub const HOLDUP: Source = Source { id: "holdup", title: "holdup" };
}

/// Whether host and GPU times can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// One clock: comparisons across host and GPU hold.
    #[default]
    Aligned,
    /// GPU times are on a clock that cannot be compared with the host's: holdup makes no statement across the two.
    Separate,
}

impl Clock {
    /// The name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Clock::Aligned => "aligned",
            Clock::Separate => "separate",
        }
    }
}

/// Losses of a trace. Reports show them: an incomplete trace must not look complete.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    /// Calls that must have caused GPU work (launches, copies) but have none in the trace.
    pub unmatched_calls: u64,
    /// GPU operations whose call is not in the trace.
    pub unmatched_ops: u64,
    /// Records that the source dropped or that could not be read, or not whole.
    pub records: u64,
    /// Why records could not be read, with counts; sums to at most `records`.
    pub reasons: BTreeMap<String, u64>,
    /// Whether the input was cut short.
    pub truncated: bool,
}

/// A trace's description; `meta.json` in a `.holdup` file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Schema of the tables.
    pub schema_version: u32,
    /// [`Source::id`] of the tool that made the trace.
    pub source: String,
    /// [`Source::title`] of that tool; empty in files of holdup 0.1.
    #[serde(default)]
    pub source_title: String,
    /// Version of the source's format, as it states it.
    pub source_version: String,
    /// The traced command.
    pub command: String,
    /// The machine it ran on.
    pub host: String,
    /// The process's number among those of a distributed program, if the source states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
    /// Number of processes of that program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_size: Option<i64>,
    /// GPU driver version.
    pub driver: String,
    /// CUDA runtime version.
    pub runtime: String,
    /// Known versions of other libraries, by name (`cuBLAS`).
    pub libraries: BTreeMap<String, String>,
    /// The trace's time 0 as nanoseconds since the Unix epoch, if known.
    pub epoch_unix_ns: Option<Ns>,
    /// Whether host and GPU times can be compared.
    pub clock: Clock,
    /// How well they agree, as far as the trace shows it; of traces that holdup recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_clock: Option<GpuClock>,
    /// Whether the table of waits holds every wait for a driver lock: a call without one then waited for no lock.
    pub locks_watched: bool,
    /// From when to when everything was recorded, ns, in order and apart; empty where recording was never switched off and
    /// nothing was overwritten. What lies outside is there only as far as it reaches into one of these times: a thread of
    /// which the trace has nothing there was not idle.
    pub recorded: Vec<(Ns, Ns)>,
    /// Whether the source named no threads and the importer inferred them from calls that overlap. Two calls at one
    /// time are from two threads; consecutive calls may be from one thread or several.
    pub threads_inferred: bool,
    /// Losses of the trace.
    pub lost: Lost,
    /// Records skipped because no table holds them (flows, counters …), with counts.
    pub left_out: BTreeMap<String, u64>,
    /// Anything else a reader must know, one sentence each.
    pub notes: Vec<String>,
}

/// How far GPU times can be from the host's, ns: in the second in the middle of those that show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GpuClock {
    /// They are too early by at most this: a synchronization ends after the work that it waits for.
    pub early: Ns,
    /// They are too late by at most this: a call begins before the work that it issues.
    pub late: Ns,
    /// In some second they are off by at least this: work started before its call, or ended after the wait for it. 0 if
    /// that never happened.
    pub wrong: Ns,
}

/// The note in [`Meta::notes`] that marks a part of a trace.
const PART: &str = "a part of a longer trace";

impl Meta {
    /// Whether the trace was cut from a longer one: an event that is not in it may still have happened.
    pub fn is_part(&self) -> bool {
        self.notes.iter().any(|note| note == PART)
    }

    /// Sets the tool that made the trace.
    pub fn set_source(&mut self, source: Source) {
        (self.source, self.source_title) = (source.id.to_owned(), source.title.to_owned());
    }

    /// The tool that made the trace, for people.
    pub fn source_title(&self) -> &str {
        if self.source_title.is_empty() { &self.source } else { &self.source_title }
    }

    /// Whether everything at a time was recorded.
    pub fn is_recorded(&self, at: Ns) -> bool {
        self.recorded.is_empty() || self.recorded.iter().any(|(from, to)| (*from..*to).contains(&at))
    }

    /// How much of `[from, to)` was recorded, ns.
    pub fn recorded_part(&self, from: Ns, to: Ns) -> Ns {
        let part = |since: Ns, until: Ns| until.min(to).saturating_sub(since.max(from)).max(0);
        match self.recorded.is_empty() {
            true => part(from, to),
            false => self.recorded.iter().map(|(since, until)| part(*since, *until)).sum(),
        }
    }

    /// From when to when recording was switched off between two times that were recorded, ns.
    pub fn pauses(&self) -> impl Iterator<Item = (Ns, Ns)> {
        self.recorded.windows(2).map(|pair| (pair[0].1, pair[1].0))
    }

    /// Marks the trace as a part of a longer one.
    pub fn set_part(&mut self) {
        if !self.is_part() {
            self.notes.push(PART.to_owned());
        }
    }
}

impl Default for Meta {
    fn default() -> Self {
        Meta {
            schema_version: SCHEMA_VERSION,
            source: Source::HOLDUP.id.to_owned(),
            source_title: Source::HOLDUP.title.to_owned(),
            source_version: String::new(),
            command: String::new(),
            host: String::new(),
            rank: None,
            world_size: None,
            driver: String::new(),
            runtime: String::new(),
            libraries: BTreeMap::new(),
            epoch_unix_ns: None,
            clock: Clock::default(),
            gpu_clock: None,
            locks_watched: false,
            recorded: Vec::new(),
            threads_inferred: false,
            lost: Lost::default(),
            left_out: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}

impl Lost {
    /// The reason of kernels that were launched while GPU operations were recorded, and whose records are lost.
    pub const KERNELS: &str = "kernel launches without a record of their kernel";

    /// Counts one record that could not be read.
    pub fn record(&mut self, reason: &str) {
        self.records(reason, 1);
    }

    /// Counts `count` records that could not be read; a damaged file may claim any number.
    pub fn records(&mut self, reason: &str, count: u64) {
        if count > 0 {
            self.records = self.records.saturating_add(count);
            self.reason(reason, count);
        }
    }

    /// Adds a reason for `count` records that are counted already.
    pub(crate) fn reason(&mut self, reason: &str, count: u64) {
        add(&mut self.reasons, reason, count);
    }
}

impl Meta {
    /// Counts `count` skipped records.
    pub fn leave_out(&mut self, what: &str, count: u64) {
        if count > 0 {
            add(&mut self.left_out, what, count);
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, what: &str, count: u64) {
    let sum = counts.entry(what.to_owned()).or_default();
    *sum = sum.saturating_add(count);
}

#[cfg(test)]
mod tests {
    use super::{Lost, Meta};

    #[test]
    fn time_between_two_recorded_ones_does_not_count() {
        let mut meta = Meta::default();
        assert_eq!((meta.recorded_part(10, 90), meta.is_recorded(5)), (80, true));
        meta.recorded = vec![(20, 40), (60, 70), (80, 100)];
        assert_eq!(
            [(10, 110), (30, 65), (45, 50)].map(|(from, to)| meta.recorded_part(from, to)),
            [50, 15, 0]
        );
        assert_eq!([19, 20, 40, 99].map(|at| meta.is_recorded(at)), [false, true, false, true]);
    }

    #[test]
    fn any_number_of_records_may_be_lost() {
        let mut lost = Lost::default();
        [u64::MAX, 1, 0].into_iter().for_each(|count| lost.records("no room", count));
        assert_eq!((lost.records, lost.reasons["no room"]), (u64::MAX, u64::MAX));
    }
}
