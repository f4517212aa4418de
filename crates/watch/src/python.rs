//! Python stacks of a process: its interpreter, its threads, and what its code objects mean.

use crate::file::{Budget, Watched};
use crate::modules::Modules;
use pystack::{Identity, Place, Reading, Remote, ThreadState, Trail, Unreadable};
use rustc_hash::FxHashMap;
use spool::PythonFrame;

/// The most frames of a stack.
pub const MOST_FRAMES: usize = 256;

/// How many code objects are remembered: programs that make code anew all the time do not fill memory.
const MOST_CODES: usize = 100_000;

/// The interpreter of one process.
pub struct Python {
    remote: Remote,
    threads: FxHashMap<u32, Vec<ThreadState>>,
    /// Where each thread's frames were last.
    trails: FxHashMap<u32, Trail>,
    codes: FxHashMap<usize, CodeObject>,
    places: Vec<Place>,
    identities: Vec<Identity>,
    /// Stacks that changed while they were read.
    pub torn: u64,
}

/// A code object that was seen.
struct CodeObject {
    identity: Identity,
    /// Meanings of its places; `None` for one that Python does not show.
    frames: FxHashMap<u64, Option<PythonFrame>>,
}

impl Python {
    /// Finds the interpreter; `None` if no module is one.
    ///
    /// # Errors
    /// The errors of [`Remote::find`].
    pub fn find(pid: i32, modules: &Modules) -> Result<Option<Python>, Unreadable> {
        let Some(module) = modules.interpreter() else { return Ok(None) };
        let remote = Remote::find(pid, &|name| module.symbol(name))?;
        Ok(Some(Python {
            remote,
            threads: FxHashMap::default(),
            trails: FxHashMap::default(),
            codes: FxHashMap::default(),
            places: Vec::new(),
            identities: Vec::new(),
            torn: 0,
        }))
    }

    /// Asks the interpreter for its threads again, and returns those that it did not know before. `lives` tells whether
    /// the process has a thread.
    pub fn refresh(&mut self, lives: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        if !self.remote.threads(&mut found) && found.is_empty() {
            return Vec::new();
        }
        let before = std::mem::take(&mut self.threads);
        for thread in found {
            // The C library's id is right after a fork too, but its place is not documented.
            let [native, own] = thread.native;
            if let Some(tid) = [own, native].into_iter().find(|tid| *tid != 0 && lives(*tid)) {
                self.threads.entry(tid).or_default().push(thread);
            }
        }
        self.trails.retain(|tid, _| self.threads.contains_key(tid));
        self.threads.keys().filter(|tid| !before.contains_key(tid)).copied().collect()
    }

    /// Appends the frames of a thread, innermost first; false if they could not be read.
    pub fn stack(
        &mut self,
        tid: u32,
        file: &mut Watched,
        budget: &Budget,
        frames: &mut Vec<PythonFrame>,
    ) -> bool {
        let Some(states) = self.threads.get(&tid) else { return true };
        // A thread of several interpreters has a state in each.
        for state in states.clone() {
            let trail = self.trails.entry(tid).or_default();
            match self.remote.stack(&state, trail, MOST_FRAMES, &mut self.places) {
                Reading::Nothing => {}
                Reading::Whole if self.places.is_empty() => return true,
                Reading::Whole | Reading::Outer if self.frames(file, budget, frames) => {
                    if self.remote.collects(&state) {
                        frames.insert(0, collecting(file, budget));
                    }
                    return true;
                }
                _ => frames.clear(),
            }
        }
        self.torn += 1;
        false
    }

    /// Appends the frames of the places that were read.
    fn frames(&mut self, file: &mut Watched, budget: &Budget, frames: &mut Vec<PythonFrame>) -> bool {
        if !self.remote.identities(&self.places, &mut self.identities) {
            return false;
        }
        if self.codes.len() > MOST_CODES {
            self.codes.clear();
        }
        for (place, identity) in self.places.iter().zip(&self.identities) {
            let known = self.codes.entry(place.code);
            let known =
                known.or_insert_with(|| CodeObject { identity: *identity, frames: FxHashMap::default() });
            if known.identity != *identity {
                *known = CodeObject { identity: *identity, frames: FxHashMap::default() };
            }
            let frame = match known.frames.get(&place.key()) {
                Some(frame) => *frame,
                None => {
                    let Some(frame) = resolve(&self.remote, *place, file, budget) else { return false };
                    known.frames.insert(place.key(), frame);
                    frame
                }
            };
            frames.extend(frame);
        }
        true
    }
}

/// The interpreter's own function in which it collects garbage: no code object stands for it.
fn collecting(file: &mut Watched, budget: &Budget) -> PythonFrame {
    let [path, function] = ["", "gc_collect_main"].map(|text| file.text(budget, text));
    PythonFrame { file: path, function, line: 0, zero: 0 }
}

/// Meaning of a place; `None` if it cannot be read.
fn resolve(
    remote: &Remote,
    place: Place,
    file: &mut Watched,
    budget: &Budget,
) -> Option<Option<PythonFrame>> {
    let mut found = None;
    let right = remote.resolve(place, &mut |frame| {
        found = Some(PythonFrame {
            file: file.text(budget, &String::from_utf8_lossy(frame.file)),
            function: file.text(budget, &String::from_utf8_lossy(frame.function)),
            line: frame.line,
            zero: 0,
        });
    });
    right.then_some(found)
}
