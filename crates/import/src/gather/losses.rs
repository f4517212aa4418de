//! What a process's file lacks, and what that means.

use super::Process;
use spool::{Chunk, Damage, File, Full, Level};
use trace::{Ns, Sym};

impl Process<'_, '_> {
    /// Counts what was lost and remarks on how the process ended.
    pub(super) fn losses(&mut self, name: &str, file: &File<'_>, chunks: &[Chunk<'_>], between: Damage) {
        let dropped = total(chunks, |chunk| chunk.dropped()).saturating_add(file.dropped());
        self.dropped(dropped, chunks, file.full());
        let damaged: Vec<u64> = chunks
            .iter()
            .flat_map(|chunk| chunk.records().filter_map(Result::err))
            .chain([between])
            .map(|damage| damage.bytes)
            .filter(|bytes| *bytes > 0)
            .collect();
        self.all.trace.meta.lost.records("damaged places in the spool", damaged.len() as u64);
        if !damaged.is_empty() {
            let bytes = damaged.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            self.note(format!("{name}: {bytes} bytes make no sense and were passed over"));
        }
        let untracked = file.untracked_threads();
        if untracked > 0 {
            let who = self.who();
            self.note(format!("{who} had {untracked} threads too many at once to record all of them"));
        }
        self.level(file);
        if !file.finished() {
            self.unfinished(file, chunks);
        }
        let unwatched = dropped > 0 || untracked > 0 || !damaged.is_empty() || file.driver_slots() == 0;
        self.all.complete &= !unwatched;
    }

    /// There was no room for so many records.
    fn dropped(&mut self, count: u64, chunks: &[Chunk<'_>], why: Option<Full>) {
        self.all.trace.meta.lost.records("no room left in the spool", count);
        if count > 0 {
            let ms = self.full_at(chunks).saturating_sub(self.first).max(0) / 1_000_000;
            let who = self.who();
            self.note(format!("{who}: there was room for {ms} ms; {}", more_room(why)));
        }
    }

    /// When there was no more room for the thread that lost most: others may have written on in what they
    /// had, and one that seldom writes until the end. Waits alone do not tell.
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
        // Where CUPTI was given up in the middle, the program's file says so itself.
        if file.level() == Some(Level::Light) && self.device_of.is_empty() {
            let note = "driver calls and lock waits only (level light): no GPU operations";
            self.note(note.to_owned());
        }
        if file.driver_slots() == 0 {
            let who = self.who();
            self.note(format!("{who}: the driver's locks could not be watched"));
        }
    }

    /// The process was killed, crashed or left without a word.
    fn unfinished(&mut self, file: &File<'_>, chunks: &[Chunk<'_>]) {
        let who = self.who();
        self.note(format!("{who} did not end in an orderly way: what it had not written out is missing"));
        let inside = self.inside(chunks);
        // Those are counted already; some may have been of other things than calls.
        let dropped = total(chunks, |chunk| chunk.dropped()).saturating_add(file.dropped());
        if file.level() == Some(Level::Light) && self.device_of.is_empty() {
            let known = self.later.driver_calls.saturating_add(inside).saturating_add(dropped);
            let missing = total(chunks, |chunk| chunk.calls()).saturating_sub(known);
            let lost = &mut self.all.trace.meta.lost;
            lost.records("driver calls that a process did not live to write out", missing);
        } else {
            // CUPTI leaves out driver calls within runtime calls, but each launch has one record.
            let known = self.launches().saturating_add(dropped);
            let missing = total(chunks, |chunk| chunk.launches()).saturating_sub(known);
            let lost = &mut self.all.trace.meta.lost;
            lost.records(
                "kernel launches that a process did not live to write out (with their kernels)",
                missing,
            );
        }
    }

    /// Launches of this process in the table of calls.
    fn launches(&self) -> u64 {
        let trace = &self.all.trace;
        let names = &trace.calls.name[self.first_call..];
        let launches =
            |name: &str| name.starts_with("cudaLaunchKernel") || name.starts_with("cuLaunchKernel");
        let mut known = rustc_hash::FxHashMap::default();
        let mut is_launch = |name: Sym| *known.entry(name).or_insert_with(|| launches(trace.text(name)));
        names.iter().filter(|name| is_launch(**name)).count() as u64
    }

    /// Remarks on calls that never returned; their number.
    fn inside(&mut self, chunks: &[Chunk<'_>]) -> u64 {
        let mut last = rustc_hash::FxHashMap::default();
        for chunk in chunks {
            last.insert(chunk.tid(), chunk.within());
        }
        let mut stuck: Vec<_> = last.into_iter().filter_map(|(tid, within)| Some((tid, within?))).collect();
        stuck.sort_by_key(|(tid, (_, since))| (*since, *tid));
        if let Some((tid, (function, since))) = stuck.first() {
            let function = self.all.trace.text(self.texts.get(*function)).to_owned();
            let ms = self.end().saturating_sub(self.clocks.ns(*since)).max(0) / 1_000_000;
            let (who, more) = (self.who(), stuck.len() - 1);
            let more =
                if more > 0 { format!(", nor did {more} other threads from theirs") } else { String::new() };
            self.note(format!(
                "{who}: thread {tid} never returned from {function}, begun {ms} ms before the end{more}"
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

/// What gave out, and how there will be more of it.
fn more_room(why: Option<Full>) -> &'static str {
    match why {
        None | Some(Full::Limit) => "holdup record --max-size makes more",
        Some(Full::Disk) => "then the disk was full: holdup record --spool-dir takes another",
        Some(Full::FileSize) => "then the spool was as large as a file may be here: ulimit -f says how large",
        Some(Full::Descriptors) => "then it could open no more files: ulimit -n says how many",
        Some(Full::Gone) => {
            "then it could open its spool no more: it had changed its user or its root directory"
        }
        Some(Full::Memory) => "then it could map no more memory: ulimit -v and vm.max_map_count say how much",
    }
}

fn total(chunks: &[Chunk<'_>], count: impl Fn(&Chunk<'_>) -> u64) -> u64 {
    chunks.iter().map(count).fold(0, u64::saturating_add)
}
