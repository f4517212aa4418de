//! State that all processes of a program share while they record.

use std::mem::offset_of;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU64};

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
    /// A [`State`]. It is one word, so that no thread sees recording off while a window is open.
    state: AtomicU64,
    /// When recording was switched, ns: written before the switch is counted.
    at: [AtomicI64; MOST_REQUESTS],
}

/// Values of [`Control::state`].
#[derive(Clone, Copy)]
struct State {
    /// How often recording was switched: it is on if this is even. The word's lower half.
    count: u32,
    /// Windows of the program that are open. The upper half but for its highest bit.
    windows: u32,
    /// Whether the program's windows switched recording on: the last one switches it off. The highest bit.
    opened: bool,
}

impl State {
    fn from_bits(bits: u64) -> State {
        State { count: bits as u32, windows: (bits >> 32) as u32 & (u32::MAX >> 1), opened: bits >> 63 == 1 }
    }

    fn bits(self) -> u64 {
        u64::from(self.opened) << 63 | u64::from(self.windows) << 32 | u64::from(self.count)
    }

    fn is_off(self) -> bool {
        self.count % 2 == 1
    }
}

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
        self.state.load(Relaxed) % 2 == 1
    }

    /// Switches recording on or off unless it is so already; `now` is the time, ns. False when it was switched
    /// [`MOST_REQUESTS`] times. Any thread of any process may do this.
    pub fn set(&self, on: bool, now: impl Fn() -> i64) -> bool {
        self.change(now, |state| (state, on))
    }

    /// The program opens a window: recording is on until the last one is closed. False as of [`Control::set`].
    pub fn open(&self, now: impl Fn() -> i64) -> bool {
        self.change(now, |state| {
            (State { windows: state.windows + 1, opened: state.opened || state.is_off(), ..state }, true)
        })
    }

    /// The program closes a window. Recording stays on if it was before the first one.
    pub fn close(&self, now: impl Fn() -> i64) {
        self.change(now, |state| {
            let windows = state.windows.saturating_sub(1);
            let is_last = windows == 0 && state.opened;
            (State { windows, opened: state.opened && !is_last, ..state }, !is_last && !state.is_off())
        });
    }

    /// Replaces the state by the one that `next` makes of it, and switches recording on or off as `next` says. False when
    /// it cannot be switched again: the windows are counted even then.
    fn change(&self, now: impl Fn() -> i64, next: impl Fn(State) -> (State, bool)) -> bool {
        let mut bits = self.state.load(Acquire);
        loop {
            let state = State::from_bits(bits);
            let (mut new, on) = next(state);
            let place = self.at.get(state.count as usize);
            let is_switched = state.is_off() == on;
            if let (true, Some(place)) = (is_switched, place) {
                place.store(now(), Release);
                new.count += 1;
            }
            match self.state.compare_exchange(bits, new.bits(), AcqRel, Acquire) {
                Ok(_) => return !is_switched || place.is_some(),
                Err(seen) => bits = seen,
            }
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
    let count = word(CONTROL + offset_of!(Control, state))
        .map_or(0, |word| State::from_bits(u64::from_ne_bytes(word)).count as usize);
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

    impl Control {
        fn state(&self) -> State {
            State::from_bits(self.state.load(Relaxed))
        }
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
        assert_eq!((control.state().count, time.get()), (5, 5));
    }

    #[test]
    fn windows_within_a_recording_leave_it_on() {
        let control = control();
        assert!(control.open(|| 0));
        control.close(|| 0);
        assert_eq!((control.is_off(), control.state().count), (false, 0));
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
        put(offset_of!(Shared, control) + offset_of!(Control, state), 7 << 32 | 2);
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
                    for _ in 0..MOST_REQUESTS / 16 {
                        let is_switched = control.open(|| 0);
                        assert!(!is_switched || !control.is_off());
                        control.close(|| 0);
                    }
                });
            }
        });
        let state = control.state();
        assert!(control.is_off() && state.windows == 0 && !state.opened);
    }

    #[test]
    fn windows_leave_a_recording_that_its_user_switched_on() {
        let control = control();
        control.set(false, || 0);
        assert!(control.open(|| 0));
        assert!(control.set(false, || 0) && control.is_off());
        control.close(|| 0);
        assert!(control.set(true, || 0));
        assert!(control.open(|| 0));
        control.close(|| 0);
        assert!(!control.is_off());
    }
}
