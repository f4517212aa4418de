//! State that all processes of a program share while they record.

use std::mem::offset_of;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Name of the file in the spool's directory that holds [`Shared`].
pub const SHARED: &str = "budget";

/// Most times that recording is switched on or off in a run.
pub const MOST_REQUESTS: usize = 8192;

/// The contents of that file, which each process maps. Zeros are valid.
#[repr(C)]
pub struct Shared {
    /// Bytes that all processes have taken.
    pub taken: AtomicU64,
    /// Processes that a process of the program made without the handlers of `fork`, and that went on without a recording
    /// of their own.
    pub unrecorded_children: AtomicU64,
    /// Programs of another C library, or for another processor, that a process of the program executed: they ran without this
    /// library.
    pub foreign_programs: AtomicU64,
    /// Programs that a process executed after it had forbidden itself system calls (seccomp): they ran without this library.
    pub filtered_programs: AtomicU64,
    /// Apart from what processes write: it is read often.
    pub control: Control,
}

/// Whether recording is switched on, as its user or the program asked for.
#[repr(C, align(128))]
pub struct Control {
    /// How often it was switched: it is on if this is even.
    pub count: AtomicU32,
    /// How many windows of the program are open, in its lower half; `OPENED` if recording is on because of them.
    pub windows: AtomicU32,
    /// When, ns: written before it is counted.
    pub at: [AtomicI64; MOST_REQUESTS],
}

/// In [`Control::windows`]: the program's windows switched recording on, and the last one switches it off.
const OPENED: u32 = 1 << 31;

impl Shared {
    /// Bytes of the file: whole pages.
    pub const BYTES: u64 = (size_of::<Shared>() as u64).next_multiple_of(4096);
}
// Files of older versions have zeros between.
const _: () = assert!(offset_of!(Shared, taken) == 0 && offset_of!(Shared, control) == 128);

impl Control {
    /// Whether recording is switched off.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.count.load(Relaxed) % 2 == 1
    }

    /// Switches recording on or off unless it is so already; `now` is the time, ns. False when it was switched
    /// [`MOST_REQUESTS`] times. Any thread of any process may do this.
    pub fn set(&self, on: bool, now: impl Fn() -> i64) -> bool {
        loop {
            let count = self.count.load(Acquire);
            if count.is_multiple_of(2) == on {
                return true;
            }
            let Some(place) = self.at.get(count as usize) else { return false };
            place.store(now(), Release);
            if self.count.compare_exchange(count, count + 1, AcqRel, Acquire).is_ok() {
                return true;
            }
        }
    }

    /// The program opens a window: recording is on until the last one is closed. False as of [`Control::set`].
    pub fn open(&self, now: impl Fn() -> i64) -> bool {
        self.windows.fetch_add(1, AcqRel);
        if !self.is_off() {
            return true;
        }
        self.windows.fetch_or(OPENED, AcqRel);
        self.set(true, now)
    }

    /// The program closes a window. Recording stays on if it was before the first one.
    pub fn close(&self, now: impl Fn() -> i64) {
        self.windows.fetch_sub(1, AcqRel);
        if self.windows.compare_exchange(OPENED, 0, AcqRel, Acquire).is_err() {
            return;
        }
        self.set(false, &now);
        // Another process may have opened one meanwhile, and found recording on.
        if self.windows.load(Acquire) > 0 {
            self.windows.fetch_or(OPENED, AcqRel);
            self.set(true, now);
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 8]> {
    bytes.get(at..at + 8)?.try_into().ok()
}

/// [`Shared::unrecorded_children`] by the bytes of the file.
pub fn unrecorded_children(bytes: &[u8]) -> u64 {
    word(bytes, offset_of!(Shared, unrecorded_children)).map_or(0, u64::from_ne_bytes)
}

/// [`Shared::foreign_programs`] by the bytes of the file.
pub fn foreign_programs(bytes: &[u8]) -> u64 {
    word(bytes, offset_of!(Shared, foreign_programs)).map_or(0, u64::from_ne_bytes)
}

/// [`Shared::filtered_programs`] by the bytes of the file.
pub fn filtered_programs(bytes: &[u8]) -> u64 {
    word(bytes, offset_of!(Shared, filtered_programs)).map_or(0, u64::from_ne_bytes)
}

/// When recording was switched off, on, off and so on, ns, by the bytes of the file.
pub fn requests(bytes: &[u8]) -> Vec<i64> {
    const CONTROL: usize = offset_of!(Shared, control);
    let word = |at: usize| word(bytes, at);
    let count = word(CONTROL + offset_of!(Control, count))
        .map_or(0, |word: [u8; 8]| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]) as usize);
    let at = |number: usize| word(CONTROL + offset_of!(Control, at) + number * 8).map(i64::from_ne_bytes);
    (0..count.min(MOST_REQUESTS)).map_while(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn control() -> Box<Control> {
        // SAFETY: atomics of zeros.
        Box::new(unsafe { std::mem::zeroed() })
    }

    #[test]
    fn windows_are_recorded_and_what_is_between_them_is_not() {
        let (control, time) = (control(), Cell::new(0));
        let now = || time.replace(time.get() + 1);
        assert!(control.set(false, now) && control.is_off());
        // Two that overlap are one time.
        assert!(control.open(now) && control.open(now) && !control.is_off());
        control.close(now);
        assert!(!control.is_off());
        control.close(now);
        assert!(control.is_off());
        assert!(control.open(now));
        control.close(now);
        assert_eq!((control.count.load(Relaxed), time.get()), (5, 5));
    }

    #[test]
    fn windows_within_a_recording_leave_it_on() {
        let control = control();
        assert!(control.open(|| 0));
        control.close(|| 0);
        assert_eq!((control.is_off(), control.count.load(Relaxed)), (false, 0));
    }

    #[test]
    fn what_the_file_says_is_read_from_its_bytes() {
        let mut bytes = vec![0; size_of::<Shared>()];
        assert_eq!((requests(&bytes), unrecorded_children(&bytes)), (vec![], 0));
        assert_eq!((foreign_programs(&bytes), filtered_programs(&bytes)), (0, 0));
        let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        put(offset_of!(Shared, unrecorded_children), 3);
        put(offset_of!(Shared, foreign_programs), 4);
        put(offset_of!(Shared, filtered_programs), 5);
        put(offset_of!(Shared, control) + offset_of!(Control, count), 2);
        put(offset_of!(Shared, control) + offset_of!(Control, at), 70);
        put(offset_of!(Shared, control) + offset_of!(Control, at) + 8, 90);
        assert_eq!((requests(&bytes), unrecorded_children(&bytes)), (vec![70, 90], 3));
        assert_eq!((foreign_programs(&bytes), foreign_programs(&bytes[..17])), (4, 0));
        assert_eq!((filtered_programs(&bytes), filtered_programs(&bytes[..25])), (5, 0));
        // A program without a request may have no file, or a short one.
        assert_eq!((requests(&bytes[..9]), unrecorded_children(&bytes[..9])), (vec![], 0));
    }

    #[test]
    fn recording_is_switched_only_so_often() {
        let control = control();
        let switched = (0..).take_while(|number| control.set(number % 2 == 1, || 0)).count();
        assert_eq!(switched, MOST_REQUESTS);
    }

    #[test]
    fn threads_that_open_windows_at_once_record_them_all() {
        let control = control();
        control.set(false, || 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        if control.open(|| 0) {
                            assert!(
                                !control.is_off()
                                    || control.count.load(Relaxed) as usize >= MOST_REQUESTS - 1
                            );
                        }
                        control.close(|| 0);
                    }
                });
            }
        });
        assert!(control.is_off() && control.windows.load(Relaxed) == 0);
    }
}
