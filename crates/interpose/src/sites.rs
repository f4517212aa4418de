//! Which libraries are watched, and giving them their replacements.

use crate::elf::{Object, Slot};
use crate::library::Library;
use crate::loader::Loader;
use crate::locks::Replacements;
use crate::visited::VisitedObjects;
use crate::{patch, program};
use std::ops::ControlFlow;

/// Libraries with replacements of their own; further ones share the last.
const SITES: usize = 32;

macro_rules! sites {
    ($($site:literal)*) => { [$(Replacements::of::<$site>(),)*] };
}

static REPLACEMENTS: [Replacements; SITES] =
    sites!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// Replacements of the program and its other libraries, of the library with the interpreter, and of listed ones except for locks.
static OF_PROGRAM: program::Replacements = program::Replacements::of::<{ program::PLAIN }>();
static OF_INTERPRETER: program::Replacements = program::Replacements::of::<{ program::INTERPRETER }>();
static OF_LISTED: program::Replacements = program::Replacements::of::<{ program::LISTED }>();

/// How functions for locks begin.
const OF_LOCKS: [&[u8]; 3] = [b"pthread_mutex_", b"pthread_rwlock_", b"pthread_spin_"];

/// The watched ones.
static WATCHED: VisitedObjects = VisitedObjects::new();

/// How the locks of a library are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// All waits for its locks, by a number below 32. What else it waits for is its own affair.
    Driver(u32),
    /// All waits for its locks, by a number as the driver's; its other waits as those of the program.
    Listed(u32),
    /// As those of the program: long waits of threads that make wrapped calls.
    Program,
    /// As those of the program; it contains Python's interpreter as well.
    Interpreter,
}

impl Site {
    /// The replacement of a function by its name.
    fn find(self, name: &[u8]) -> Option<*mut libc::c_void> {
        if !name.starts_with(b"pthread_") && !name.starts_with(b"sem_") {
            return None;
        }
        let is_lock = OF_LOCKS.iter().any(|start| name.starts_with(start));
        match self {
            Site::Listed(_) if !is_lock => OF_LISTED.find(name),
            Site::Driver(number) | Site::Listed(number) => {
                REPLACEMENTS[(number as usize).min(SITES - 1)].find(name)
            }
            Site::Program => OF_PROGRAM.find(name),
            Site::Interpreter => OF_INTERPRETER.find(name),
        }
    }
}

/// Result of watching.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WatchResult {
    /// How many slots were changed.
    pub changed: usize,
    /// Another thread was loading a library that is wanted: try again.
    pub unfinished: bool,
}

/// Watches the locks that libraries take: those loaded now for which `matches` says how, the same each time it is
/// asked. Those that are watched
/// already are left as they are, so this can be called again when others were loaded. Unless
/// `patient`, a library that looks half loaded is taken as it is: others change slots, too.
pub fn watch(
    loader: &Loader,
    patient: bool,
    matches: &mut dyn FnMut(&Library<'_>) -> Option<Site>,
) -> WatchResult {
    WATCHED.begin(loader);
    let mut watched = WatchResult::default();
    loader.each(&mut |object| {
        if !WATCHED.contains(&object)
            && let Some(site) = matches(&Library::of(&object))
        {
            if !patient || is_finished(&object, site) {
                WATCHED.add(&object);
                watched.changed += replace(loader, &object, site);
            } else {
                watched.unfinished = true;
            }
        }
        ControlFlow::Continue(())
    });
    watched
}

/// In a fork's child: all libraries must be looked through again.
pub fn forget_all() {
    WATCHED.forget();
}

/// Whether the loader is done with all slots of an object that are to be changed: to change one
/// before would have it point anywhere.
fn is_finished(object: &Object<'_>, site: Site) -> bool {
    let mut finished = true;
    object.each_slot(&mut |slot| {
        if finished && site.find(slot.name.to_bytes()).is_some() {
            finished = object.is_finished(&slot);
        }
    });
    finished
}

fn replace(loader: &Loader, object: &Object<'_>, site: Site) -> usize {
    let mut changed = 0;
    object.each_slot(&mut |slot| {
        if let Some(function) = site.find(slot.name.to_bytes())
            && !is_of_old_condition(object, &slot)
        {
            changed += usize::from(object.is_filled(&slot) && patch::put(loader, &slot, function));
        }
    });
    changed
}

/// Whether a slot is for the conditions of glibc before 2.3.2, which are other structures: the replacements call the
/// functions for new ones.
fn is_of_old_condition(object: &Object<'_>, slot: &Slot<'_>) -> bool {
    cfg!(target_arch = "x86_64")
        && slot.name.to_bytes().starts_with(b"pthread_cond_")
        && object.version(slot) == Some(c"GLIBC_2.2.5")
}
