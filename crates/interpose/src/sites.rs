//! Which libraries are watched, and giving them their replacements.

use crate::elf::{self, Object};
use crate::locks::Replacements;
use crate::looked::Looked;
use crate::patch;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};

/// Libraries with replacements of their own; further ones share the last.
const SITES: usize = 32;

macro_rules! sites {
    ($($site:literal)*) => { [$(Replacements::of::<$site>(),)*] };
}

static REPLACEMENTS: [Replacements; SITES] =
    sites!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// The watched ones.
static WATCHED: Looked = Looked::new();
/// A thread looks through libraries.
static BUSY: AtomicBool = AtomicBool::new(false);

/// What came of watching.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watched {
    /// How many slots were changed.
    pub changed: usize,
    /// Another thread was loading a library that is wanted, or watching: try again.
    pub unfinished: bool,
}

/// Watches the locks that libraries take: those loaded now for whose path `matches` gives a number
/// below 32, by which the waits of its threads are recorded; the same each time it is asked. Those that are watched
/// already are left as they are, so this can be called again when others were loaded. Unless
/// `patient`, a library that looks half loaded is taken as it is: others change slots, too.
pub fn watch(patient: bool, matches: &mut dyn FnMut(&[u8]) -> Option<u32>) -> Watched {
    if BUSY.swap(true, AcqRel) {
        return Watched { changed: 0, unfinished: true };
    }
    WATCHED.begin();
    let mut watched = Watched::default();
    elf::each_object(&mut |object| {
        if !WATCHED.contains(&object)
            && let Some(site) = matches(object.path())
        {
            if !patient || is_finished(&object) {
                WATCHED.add(&object);
                watched.changed += replace(&object, site as usize);
            } else {
                watched.unfinished = true;
            }
        }
        ControlFlow::Continue(())
    });
    BUSY.store(false, Release);
    watched
}

/// In a fork's child: the thread that looked through libraries is not here, and all must be looked through again.
pub fn forget_all() {
    WATCHED.forget();
    BUSY.store(false, Release);
}

/// Whether the loader is done with all slots of an object that are to be changed: to change one
/// before would have it point anywhere.
fn is_finished(object: &Object<'_>) -> bool {
    let mut finished = true;
    object.each_slot(&mut |slot| {
        if finished && REPLACEMENTS[0].find(slot.name.to_bytes()).is_some() {
            finished = object.is_finished(&slot);
        }
    });
    finished
}

fn replace(object: &Object<'_>, site: usize) -> usize {
    let replacements = &REPLACEMENTS[site.min(SITES - 1)];
    let mut changed = 0;
    object.each_slot(&mut |slot| {
        if let Some(function) = replacements.find(slot.name.to_bytes()) {
            changed += usize::from(object.is_filled(&slot) && patch::put(&slot, function));
        }
    });
    changed
}
