//! Looks of `record` at a process from outside ([`Watched`](crate::Watched)). Their records lie in a file of their own
//! beside the process's, [`WATCH_SUFFIX`] in place of [`crate::SUFFIX`], with texts, modules, notes and thread names of its
//! own. All its times are nanoseconds of `CLOCK_MONOTONIC`; its chunks belong to no thread of the process.

use crate::declare::numbers;
use crate::{Look, PythonFrame, Record, Seen};

/// Suffix of the name of the file that `record` writes about the process of `PID-N.spool`.
pub const WATCH_SUFFIX: &str = ".watch";

numbers! {
    /// State of a thread on or off a processor.
    #[derive(Default)]
    Run {
        /// Unknown.
        #[default]
        Unknown = 0,
        /// It has one.
        Running = 1,
        /// It is ready and has none.
        Ready = 2,
        /// It waits for something, and a signal ends the wait.
        Blocked = 3,
        /// It waits for something, mostly a disk, and no signal ends the wait.
        Uninterruptible = 4,
        /// A signal or a debugger stopped it.
        Stopped = 5,
    }
}

/// State of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Glance {
    /// Kernel's id of the thread.
    pub tid: u32,
    /// A [`Run`]; [`Glance::GONE`] for a thread that ended.
    pub state: u32,
    /// The number of its [`Seen`]; 0 if its stack is not known.
    pub stack: u32,
    /// How long after [`Look::at`] its stack was read, ns: a process of many threads is not read at one time.
    pub after: u32,
}

impl Glance {
    /// [`Glance::state`] of a thread that ended.
    pub const GONE: u32 = u32::MAX;

    /// Its bytes, as they follow a [`Look`].
    pub fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let words = [self.tid, self.state, self.stack, self.after];
        for (into, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *into = u32::to_ne_bytes(word);
        }
        bytes
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at.saturating_add(4)).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

impl Record<'_> {
    /// The addresses and Python frames of a [`Seen`]; `None` if the record is too short for them.
    pub fn seen(&self) -> Option<(Vec<u64>, Vec<PythonFrame>)> {
        let Seen { native, python } = Seen::read(self.body)?;
        let rest = self.body.get(size_of::<Seen>()..)?;
        let (native, rest) = rest.split_at_checked((native as usize).checked_mul(8)?)?;
        let frames = rest.get(..(python as usize).checked_mul(size_of::<PythonFrame>())?)?;
        let native = native.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let frame = |bytes: &[u8]| PythonFrame {
            file: u32_at(bytes, 0),
            function: u32_at(bytes, 4),
            line: u32_at(bytes, 8),
            zero: 0,
        };
        Some((native, frames.chunks_exact(size_of::<PythonFrame>()).map(frame).collect()))
    }

    /// The moment and the glances of a [`Look`]; `None` if the record is too short for them.
    pub fn glances(&self) -> Option<(i64, Vec<Glance>)> {
        let Look { at } = Look::read(self.body)?;
        let rest = self.body.get(size_of::<Look>()..)?;
        let glances = rest.get(..(self.head.tag as usize).checked_mul(size_of::<Glance>())?)?;
        let glance = |bytes: &[u8]| Glance {
            tid: u32_at(bytes, 0),
            state: u32_at(bytes, 4),
            stack: u32_at(bytes, 8),
            after: u32_at(bytes, 12),
        };
        Some((at, glances.chunks_exact(size_of::<Glance>()).map(glance).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, File, Level};

    fn only<R>(kind: u16, tag: u32, parts: &[&[u8]], take: impl Fn(&Record<'_>) -> R) -> R {
        let mut build = Build::new(1, Level::Light);
        build.record(0, kind, tag, parts);
        let bytes = build.finish();
        let (chunks, _) = File::new(&bytes).unwrap().chunks();
        let record = chunks[0].records().next().unwrap().unwrap();
        take(&record)
    }

    #[test]
    fn stacks_and_looks_are_read_as_written() {
        let frame = PythonFrame { file: 3, function: 4, line: 5, zero: 0 };
        let frame_bytes: Vec<u8> = [3u32, 4, 5, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        let seen = Seen { native: 1, python: 1 };
        let parts = [seen.bytes(), &77u64.to_ne_bytes(), &frame_bytes];
        assert_eq!(only(Seen::KIND, 1, &parts, |record| record.seen()), Some((vec![77], vec![frame])));
        let glance = Glance { tid: 9, state: Run::Blocked as u32, stack: 1, after: 5 };
        let parts = [Look { at: 6 }.bytes(), &glance.bytes()];
        assert_eq!(only(Look::KIND, 1, &parts, |record| record.glances()), Some((6, vec![glance])));
    }

    #[test]
    fn counts_that_exceed_the_record_are_refused() {
        let seen = Seen { native: u32::MAX, python: u32::MAX };
        assert_eq!(only(Seen::KIND, 1, &[seen.bytes()], |record| record.seen()), None);
        let look = Look { at: 6 };
        assert_eq!(only(Look::KIND, u32::MAX, &[look.bytes()], |record| record.glances()), None);
    }

    #[test]
    fn numbers_of_states() {
        for run in [Run::Running, Run::Ready, Run::Blocked, Run::Uninterruptible, Run::Stopped] {
            assert_eq!(Run::from_number(run as u32), Some(run));
        }
        assert_eq!(Run::from_number(Glance::GONE), None);
    }
}
