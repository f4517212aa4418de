//! Counts what a process's file lacks, and explains why in notes.

use super::order::JoinCounts;
use super::state::Process;
use spool::{Chunk, File, Full, Level};
use trace::{Lost, Ns, Sym};

impl Process<'_, '_> {
    /// Counts what was lost, damaged bytes among it, and notes how the process ended.
    pub(super) fn losses(
        &mut self,
        name: &str,
        file: &File<'_>,
        chunks: &[Chunk<'_>],
        damaged: impl Iterator<Item = u64>,
    ) {
        let dropped = total(chunks, |chunk| chunk.dropped()).saturating_add(file.dropped());
        self.dropped(dropped, chunks, file.full());
        let damaged: Vec<u64> = damaged.filter(|bytes| *bytes > 0).collect();
        self.all.trace.meta.lost.records("damaged places in the spool", damaged.len() as u64);
        if !damaged.is_empty() {
            let bytes = damaged.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            self.note(format!("{name}: {bytes} damaged bytes were skipped"));
        }
        self.unjoined();
        self.overwritten(chunks);
        let untracked = file.untracked_threads();
        if untracked > 0 {
            let who = self.who();
            self.note(format!("{who}: {untracked} threads were not recorded: too many ran at once"));
        }
        let unwritten = file.unwritten();
        self.all.trace.meta.lost.records(
            "waits, counts of waits and handlers' calls that came while their thread wrote a record",
            unwritten,
        );
        self.level(file);
        if !file.finished() {
            self.unfinished(file, chunks);
        }
        let unwatched =
            dropped > 0 || untracked > 0 || unwritten > 0 || !damaged.is_empty() || file.driver_slots() == 0;
        self.all.complete &= !unwatched;
    }

    /// Counts what could not be joined by order.
    fn unjoined(&mut self) {
        let JoinCounts { uncertain, without, .. } = self.later.joined;
        let lost = &mut self.all.trace.meta.lost;
        let uncertain = uncertain + self.later.unordered;
        lost.records("operations that one of several calls issued: it is not certain which", uncertain);
        let without = without + self.later.unwritten;
        lost.records(Lost::KERNELS, without);
    }

    /// Counts the records that later ones replaced. They are not lost: the trace begins after them.
    fn overwritten(&mut self, chunks: &[Chunk<'_>]) {
        let count = total(chunks, |chunk| chunk.overwritten());
        if let Some(from) = self.complete_from {
            self.all.trace.meta.leave_out("overwritten by later records (--keep last)", count);
            let ms = self.end().saturating_sub(from).max(0) / 1_000_000;
            let who = self.who();
            self.note(format!(
                "{who}: {count} records were overwritten by later ones: the last {ms} ms are complete; \
                 holdup record --max-size keeps more"
            ));
        }
    }

    /// Counts the records that the spool had no room for.
    fn dropped(&mut self, count: u64, chunks: &[Chunk<'_>], why: Option<Full>) {
        self.all.trace.meta.lost.records("no room left in the spool", count);
        if count > 0 {
            let ms = self.full_at(chunks).saturating_sub(self.first).max(0) / 1_000_000;
            let who = self.who();
            self.note(format!("{who}: the spool had room for {ms} ms; {}", more_room(why)));
        }
    }

    /// When the spool had no more room for the thread that lost most. Other threads may have continued to write into
    /// their chunks, and one that seldom writes until the end. A chunk of waits only does not show when it was full.
    fn full_at(&self, chunks: &[Chunk<'_>]) -> Ns {
        let chunks = chunks.iter().zip(&self.last);
        let full = chunks.filter(|(chunk, last)| chunk.dropped() > 0 && **last > 0);
        full.max_by_key(|(chunk, _)| chunk.dropped()).map_or(self.end(), |(_, last)| *last)
    }

    /// Latest time in the file.
    fn end(&self) -> Ns {
        self.last.iter().copied().max().unwrap_or_default()
    }

    fn level(&mut self, file: &File<'_>) {
        self.valid(file.level().map(|_| ()));
        // If holdup gave up CUPTI in the middle, the process itself recorded a note about it.
        if file.level() == Some(Level::Light) && self.device_of.is_empty() {
            let note = "driver calls and lock waits only (level light): no GPU operations";
            self.note(note.to_owned());
        }
        if file.driver_slots() == 0 {
            let who = self.who();
            self.note(format!("{who}: the driver's locks could not be watched"));
        }
    }

    /// Notes that the process was killed, crashed or ended abruptly, and counts what it could not write.
    fn unfinished(&mut self, file: &File<'_>, chunks: &[Chunk<'_>]) {
        let who = self.who();
        self.note(format!("{who} did not end normally: records that it had not written are missing"));
        let inside = self.inside(chunks);
        // These are already counted; some may have been records of other kinds than calls.
        let dropped = total(chunks, |chunk| chunk.dropped()).saturating_add(file.dropped());
        if file.level() != Some(Level::Calls) && !self.later.has_calls {
            let known = self.later.driver_calls.saturating_add(inside).saturating_add(dropped);
            let begun = total(chunks, |chunk| chunk.calls()).saturating_add(self.later.begun_before);
            let missing = begun.saturating_sub(known);
            let lost = &mut self.all.trace.meta.lost;
            lost.records("driver calls not written before their process ended", missing);
        } else {
            // CUPTI does not record driver calls within runtime calls, but each launch has one record.
            let known = self.launches().saturating_add(dropped);
            let missing = total(chunks, |chunk| chunk.launches()).saturating_sub(known);
            let lost = &mut self.all.trace.meta.lost;
            lost.records(
                "kernel launches not written before their process ended (with their kernels)",
                missing,
            );
        }
    }

    /// Number of this process's launches in the table of calls.
    fn launches(&self) -> u64 {
        let trace = &self.all.trace;
        let names = &trace.calls.name[self.first_call..];
        let launches =
            |name: &str| name.starts_with("cudaLaunchKernel") || name.starts_with("cuLaunchKernel");
        let mut known = rustc_hash::FxHashMap::default();
        let mut is_launch = |name: Sym| *known.entry(name).or_insert_with(|| launches(trace.text(name)));
        names.iter().filter(|name| is_launch(**name)).count() as u64
    }

    /// Notes the calls that never returned, and returns their number.
    fn inside(&mut self, chunks: &[Chunk<'_>]) -> u64 {
        let mut last = rustc_hash::FxHashMap::default();
        for chunk in chunks.iter().filter(|chunk| !chunk.is_lasting()) {
            last.insert(chunk.tid(), chunk.within());
        }
        let mut stuck: Vec<_> = last.into_iter().filter_map(|(tid, within)| Some((tid, within?))).collect();
        stuck.sort_by_key(|(tid, (_, since))| (*since, *tid));
        if let Some((tid, (function, since))) = stuck.first() {
            let function = self.all.trace.text(self.texts.get(*function)).to_owned();
            let ms = self.end().saturating_sub(self.clocks.ns(*since)).max(0) / 1_000_000;
            let (who, more) = (self.who(), stuck.len() - 1);
            let more = if more > 0 { format!("; {more} more threads never returned") } else { String::new() };
            self.note(format!(
                "{who}: thread {tid} never returned from {function}, which began {ms} ms before the end{more}"
            ));
        }
        stuck.len() as u64
    }

    fn who(&self) -> String {
        format!("process {}", self.pid)
    }

    pub(super) fn note(&mut self, note: String) {
        self.all.note(note);
    }
}

/// Why the spool had no more room, and what to do about it.
fn more_room(why: Option<Full>) -> &'static str {
    match why {
        None | Some(Full::Limit) => "holdup record --max-size makes it larger",
        Some(Full::Disk) => "the disk was full: holdup record --spool-dir uses another",
        Some(Full::FileSize) => "the spool reached the largest allowed file size: see ulimit -f",
        Some(Full::Descriptors) => "the process could open no more files: see ulimit -n",
        Some(Full::Gone) => {
            "the process could no longer open its spool: it had changed its user or its root directory"
        }
        Some(Full::Memory) => "the process could map no more memory: see ulimit -v and vm.max_map_count",
        Some(Full::Seccomp) => {
            "the program forbade system calls (seccomp): its filter must allow those that make a file larger and map it"
        }
    }
}

fn total(chunks: &[Chunk<'_>], count: impl Fn(&Chunk<'_>) -> u64) -> u64 {
    chunks.iter().map(count).fold(0, u64::saturating_add)
}
