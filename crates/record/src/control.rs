//! Switches recording on and off while the program runs: in a file of the spool that all its processes map.

use crate::Spool;
use crate::clock::monotonic_ns;
use crate::schedule::{Begin, Schedule};
use memmap2::MmapMut;
use spool::Shared;
use std::io;
use std::time::{Duration, Instant};

/// Switches recording of one program.
pub(crate) struct Control {
    memory: MmapMut,
    schedule: Schedule,
    /// When it is switched next.
    next: Option<Instant>,
}

impl Control {
    /// Before the program starts.
    pub fn new(spool: &Spool, schedule: Schedule) -> io::Result<Control> {
        let path = spool.path().join(spool::SHARED);
        let file = watch::spool_file().write(true).create_new(true).open(path)?;
        file.set_len(Shared::BYTES)?;
        // SAFETY: no process truncates the file, and all use it by atomic operations only.
        let memory = unsafe { MmapMut::map_mut(&file)? };
        let now = Instant::now();
        let mut control = Control { memory, schedule, next: None };
        match schedule.begin {
            Begin::AtOnce => control.next = control.end(now),
            begin => {
                control.toggle(now);
                control.next = match begin {
                    Begin::After(wait) => now.checked_add(wait),
                    _ => None,
                };
            }
        }
        Ok(control)
    }

    fn shared(&self) -> &Shared {
        // SAFETY: a mapping of that size, aligned to a page; any bytes are valid.
        unsafe { &*self.memory.as_ptr().cast() }
    }

    /// Switches recording on or off, on request.
    pub fn switch(&mut self) {
        self.toggle(Instant::now());
    }

    fn toggle(&mut self, now: Instant) {
        let control = &self.shared().control;
        let is_off = control.is_off();
        if control.set(is_off, monotonic_ns) {
            self.next = if is_off { self.end(now) } else { None };
        } else {
            self.next = None;
        }
    }

    /// When recording ends that begins now.
    fn end(&self, now: Instant) -> Option<Instant> {
        self.schedule.duration.and_then(|duration| now.checked_add(duration))
    }

    /// Switches recording if it is time to; how long there is nothing to do.
    pub fn wait(&mut self, most: Duration) -> Duration {
        let now = Instant::now();
        if self.next.is_some_and(|next| next <= now) {
            self.toggle(now);
        }
        self.next.map_or(most, |next| next.saturating_duration_since(now).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(begin: Begin, duration: Option<Duration>) -> (Control, Spool) {
        let spool = Spool::make(&std::env::temp_dir()).expect("a place for a spool");
        (Control::new(&spool, Schedule { begin, duration }).expect("a file"), spool)
    }

    fn is_off(spool: &Spool) -> bool {
        requests(spool).len() % 2 == 1
    }

    fn requests(spool: &Spool) -> Vec<i64> {
        spool::requests(&std::fs::read(spool.path().join(spool::SHARED)).expect("the file is there"))
    }

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn recording_is_on_unless_it_is_switched_off() {
        let (mut control, spool) = control(Begin::AtOnce, None);
        assert_eq!((is_off(&spool), control.wait(LONG)), (false, LONG));
        control.switch();
        assert_eq!((is_off(&spool), control.wait(LONG)), (true, LONG));
        control.switch();
        assert_eq!((is_off(&spool), control.wait(LONG)), (false, LONG));
        let requests = requests(&spool);
        assert!(requests.len() == 2 && requests[0] > 0 && requests[0] <= requests[1], "{requests:?}");
    }

    #[test]
    fn recording_begins_later_and_ends() {
        let (mut control, spool) = control(Begin::After(Duration::ZERO), Some(Duration::ZERO));
        assert!(is_off(&spool));
        control.wait(LONG);
        assert!(!is_off(&spool));
        assert_eq!((control.wait(LONG), is_off(&spool)), (LONG, true));
        let (mut control, spool) = self::control(Begin::After(LONG), Some(LONG));
        assert!(control.wait(2 * LONG) <= LONG && is_off(&spool));
        // A signal comes first.
        control.switch();
        assert!(control.wait(2 * LONG) <= LONG && !is_off(&spool));
    }

    #[test]
    fn recording_begins_at_a_signal_and_is_switched_so_often() {
        let (mut control, spool) = control(Begin::AtSignal, None);
        assert_eq!((control.wait(LONG), is_off(&spool)), (LONG, true));
        (0..2 * spool::MOST_REQUESTS).for_each(|_| control.switch());
        assert_eq!(requests(&spool).len(), spool::MOST_REQUESTS);
    }
}
