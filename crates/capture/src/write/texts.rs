//! Texts, written once each and known by a number from then on.

use crate::write::writer::Writer;
use spool::{MOST_TEXT, Text};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Most texts known by hash; further ones are written again each time.
const MOST: usize = 1 << 16;

struct InternedText {
    hash: AtomicU64,
    id: AtomicU32,
}

static INTERNED: [InternedText; MOST] =
    [const { InternedText { hash: AtomicU64::new(0), id: AtomicU32::new(0) } }; MOST];
static LAST: AtomicU32 = AtomicU32::new(0);
/// Forks in a row, from parents that had texts.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of a text, which is written now unless it was before.
pub fn intern(writer: &mut Writer, text: &[u8]) -> u32 {
    let text = &text[..text.len().min(MOST_TEXT)];
    let hash = hash(text);
    // A few probes: the table is never full in practice, and a text too many costs only room.
    for step in 0..16 {
        let known = &INTERNED[(hash as usize).wrapping_add(step) % MOST];
        match known.hash.load(Acquire) {
            0 => {
                if known.hash.compare_exchange(0, hash, Release, Relaxed).is_ok() {
                    let id = write(writer, text);
                    known.id.store(id, Release);
                    return id;
                }
                if known.hash.load(Acquire) != hash {
                    continue;
                }
            }
            other if other != hash => continue,
            _ => {}
        }
        // Another thread may be between taking the place and giving the number.
        return match known.id.load(Acquire) {
            0 => write(writer, text),
            id => id,
        };
    }
    write(writer, text)
}

fn write(writer: &mut Writer, text: &[u8]) -> u32 {
    let id = LAST.fetch_add(1, Relaxed).wrapping_add(1);
    writer.append(Text::KIND, id, &[Text { length: text.len() as u64 }.bytes(), text]);
    id
}

/// 64 bits, never 0. Two of a program's few thousand texts share them once in 10¹² programs.
fn hash(text: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash.rotate_left(23) ^ word) * u128::from(FACTOR);
        (product as u64) ^ ((product >> 64) as u64) ^ hash
    };
    let mut words = text.chunks_exact(8);
    let mut all = mix(FACTOR, (u64::from(FORKS.load(Relaxed)) << 32).wrapping_add(text.len() as u64));
    for word in &mut words {
        all = mix(all, word.try_into().map_or(0, u64::from_ne_bytes));
    }
    let rest = words.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
    mix(mix(all, rest), FACTOR) | 1
}

/// In a fork's child: its file holds no text yet. Its hashes are others from now on: the table is larger than what a child has
/// time to clear.
pub fn forget() {
    if LAST.swap(0, Relaxed) != 0 {
        FORKS.fetch_add(1, Relaxed);
    }
}
