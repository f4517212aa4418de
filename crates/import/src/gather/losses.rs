//! What a process's file lacks, and what that means.

use super::Process;
use spool::{Chunk, Damage, File, Level};

impl Process<'_, '_> {
    /// Counts what was lost and remarks on how the process ended.
    pub(super) fn losses(&mut self, name: &str, file: &File<'_>, chunks: &[Chunk<'_>], between: Damage) {
        let dropped = chunks.iter().map(Chunk::dropped).fold(file.dropped(), u64::saturating_add);
        let lost = &mut self.all.trace.meta.lost;
        lost.records("no room left in the spool", dropped);
        let damaged: Vec<u64> = chunks
            .iter()
            .flat_map(|chunk| chunk.records().filter_map(Result::err))
            .chain([between])
            .map(|damage| damage.bytes)
            .filter(|bytes| *bytes > 0)
            .collect();
        lost.records("damaged places in the spool", damaged.len() as u64);
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
            self.unfinished(chunks);
        }
        let unwatched = dropped > 0 || untracked > 0 || !damaged.is_empty() || file.driver_slots() == 0;
        self.all.complete &= !unwatched;
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
    fn unfinished(&mut self, chunks: &[Chunk<'_>]) {
        let who = self.who();
        self.note(format!("{who} did not end in an orderly way: what it had not written out is missing"));
        let begun = chunks.iter().map(Chunk::calls).fold(0, u64::saturating_add);
        let inside = self.inside(chunks);
        // CUPTI records driver calls that are not wrapped as well, so that this is the least.
        let missing = begun.saturating_sub(self.later.driver_calls).saturating_sub(inside);
        let reason = "driver calls that a process did not live to write out (at least)";
        self.all.trace.meta.lost.records(reason, missing);
    }

    /// Remarks on calls that never returned; their number.
    fn inside(&mut self, chunks: &[Chunk<'_>]) -> u64 {
        let mut last = rustc_hash::FxHashMap::default();
        for chunk in chunks {
            last.insert(chunk.tid(), chunk.within());
        }
        let mut stuck: Vec<_> = last.into_iter().filter_map(|(tid, within)| Some((tid, within?))).collect();
        stuck.sort_unstable();
        let who = self.who();
        for (tid, (function, since)) in &stuck {
            let function = self.all.trace.text(self.texts.get(*function)).to_owned();
            let ms = (self.last.saturating_sub(*since)).max(0) / 1_000_000;
            self.note(format!(
                "{who}: thread {tid} never returned from {function}, begun {ms} ms before the end"
            ));
        }
        stuck.len() as u64
    }

    fn who(&self) -> String {
        format!("process {}", self.pid)
    }

    pub(super) fn note(&mut self, note: String) {
        let notes = &mut self.all.trace.meta.notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}
