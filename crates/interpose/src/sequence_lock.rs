//! Some words that threads read and write as one, without waiting: a reader that meets a writer reads nothing, and a
//! writer that meets another writes nothing.

use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::atomic::{AtomicU32, AtomicU64, fence};

/// `N` words, at first zeros.
pub struct SequenceLock<const N: usize> {
    /// Odd while a thread writes; each write adds two.
    pub(crate) version: AtomicU32,
    pub(crate) words: [AtomicU64; N],
}

impl<const N: usize> SequenceLock<N> {
    /// The words as one thread wrote them; `None` while a thread writes.
    #[inline]
    pub fn read(&self) -> Option<[u64; N]> {
        let version = self.version.load(Acquire);
        let mut words = [0; N];
        for (word, shared) in words.iter_mut().zip(&self.words) {
            *word = shared.load(Relaxed);
        }
        // Where one of these loads read what a later writer stored, the fence makes the next load see its version.
        fence(Acquire);
        (version.is_multiple_of(2) && self.version.load(Relaxed) == version).then_some(words)
    }

    /// Writes the words; false where another thread writes.
    #[inline]
    pub fn write(&self, words: [u64; N]) -> bool {
        let version = self.version.load(Relaxed);
        let odd = version.wrapping_add(1);
        let is_free = version.is_multiple_of(2);
        if !is_free || self.version.compare_exchange(version, odd, Acquire, Relaxed).is_err() {
            return false;
        }
        // Readers see the odd version before any of the words, on processors that reorder stores, too.
        fence(Release);
        for (word, shared) in words.into_iter().zip(&self.words) {
            shared.store(word, Relaxed);
        }
        self.version.store(odd.wrapping_add(1), Release);
        true
    }

    /// In a fork's child, in which nobody writes: what was written stays, zeros where another thread was writing.
    pub fn forked_whole(&self) {
        if !self.version.load(Relaxed).is_multiple_of(2) {
            self.forked();
        }
    }

    /// In a fork's child, which has one thread: zeros again, also where another thread was writing.
    pub fn forked(&self) {
        if self.version.load(Relaxed) != 0 {
            self.words.iter().for_each(|word| word.store(0, Relaxed));
            self.version.store(0, Relaxed);
        }
    }
}
