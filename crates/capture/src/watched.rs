//! The libraries whose locks are watched: the driver, and the listed ones.

use crate::writer::Writer;
use crate::{listed, process, texts};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Libraries that had been loaded when they were last looked through.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// How often a library may be found half loaded until it is taken as it is.
const PATIENCE: u32 = 16;
static UNFINISHED: AtomicU32 = AtomicU32::new(0);
/// Most different libraries whose locks are watched.
const MOST_SITES: usize = 32;
/// The names of watched libraries as texts, by site.
static SITES: [AtomicU32; MOST_SITES] = [const { AtomicU32::new(0) }; MOST_SITES];
static SITE_COUNT: AtomicU32 = AtomicU32::new(0);

/// Looks through libraries that were loaded since the last time.
pub fn look_through(writer: &mut Writer) {
    let (loaded, _) = interpose::loaded();
    if SEEN.load(Relaxed) == loaded {
        return;
    }
    let patient = UNFINISHED.load(Relaxed) < PATIENCE;
    let (watched, wrapped) = (watch_locks(writer, patient), interpose::wrap_late_imports(patient));
    if !patient || watched && wrapped {
        UNFINISHED.store(0, Relaxed);
        SEEN.store(loaded, Relaxed);
    } else {
        UNFINISHED.fetch_add(1, Relaxed);
    }
}

/// Watches the locks of the driver and the listed libraries, as far as they are loaded; false where one is half
/// loaded.
pub fn watch_locks(writer: &mut Writer, patient: bool) -> bool {
    let driver = interpose::watch(patient, &mut |path: &[u8]| {
        let name = file_name(path);
        name.starts_with(b"libcuda.so").then(|| site(texts::intern(writer, name)))
    });
    process::driver_watched(driver.changed as u64);
    let others = interpose::watch(patient, &mut |path: &[u8]| {
        let name = file_name(path);
        listed::is_listed(name).then(|| site(texts::intern(writer, name)))
    });
    !driver.unfinished && !others.unfinished
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// The number of the library with that name: the same when it is loaded again.
fn site(name: u32) -> u32 {
    let count = SITE_COUNT.load(Relaxed).min(MOST_SITES as u32);
    if let Some(known) = SITES.iter().take(count as usize).position(|site| site.load(Relaxed) == name) {
        return known as u32;
    }
    let site = SITE_COUNT.fetch_add(1, Relaxed).min(MOST_SITES as u32 - 1);
    if let Some(place) = SITES.get(site as usize) {
        place.store(name, Relaxed);
    }
    site
}

/// The name of a watched library, by its site; 0 for none.
pub fn name(site: u32) -> u32 {
    SITES.get(site as usize).map_or(0, |name| name.load(Relaxed))
}

/// In a fork's child: its file holds no text yet.
pub fn forget() {
    SITES.iter().for_each(|site| site.store(0, Relaxed));
    SITE_COUNT.store(0, Relaxed);
    SEEN.store(0, Relaxed);
}
