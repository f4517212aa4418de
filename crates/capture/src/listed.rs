//! Which libraries' locks are watched besides the driver's.

use crate::env;
use std::cell::UnsafeCell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Those watched unless `HOLDUP_LOCKS` says otherwise.
const LIBRARIES: &str = "libc10:libtorch:libcudart:libcublas:libcudnn:libcusolver:libcufft:libcurand:\
                         libcusparse:libnccl:libnvrtc:libcupy:libjax:libpjrt";

/// Longest list that is kept; what is behind is left out.
const MOST: usize = 16 << 10;

/// A copy of the list: the program may change its environment while it runs.
struct List(UnsafeCell<[u8; MOST]>);
// SAFETY: written only by `choose`, which runs once a process, before the length is published; read only
// as far as that says.
unsafe impl Sync for List {}
static LIST: List = List(UnsafeCell::new([0; MOST]));
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Reads what is asked for, as recording starts: once a process, before anyone asks.
pub fn choose() {
    let asked = env::text(spool::VAR_LOCKS).unwrap_or(LIBRARIES.as_bytes());
    let whole = whole_names(asked);
    // SAFETY: the caller runs once a process, before the list is read.
    unsafe { (&mut *LIST.0.get())[..whole.len()].copy_from_slice(whole) };
    LENGTH.store(whole.len(), Release);
}

/// As many names as are kept: a part of one would fit more libraries.
fn whole_names(list: &[u8]) -> &[u8] {
    match list.get(..=MOST) {
        None => list,
        Some(first) => &first[..first.iter().rposition(|byte| *byte == b':').unwrap_or(0)],
    }
}

/// Whether a library of that file name is to be watched.
pub fn is_listed(name: &[u8]) -> bool {
    // SAFETY: so many bytes were written before their length was, and stay.
    let list = unsafe { &(&*LIST.0.get())[..LENGTH.load(Acquire)] };
    let mut beginnings = list.split(|byte| *byte == b':').filter(|start| !start.is_empty());
    beginnings.any(|start| name.starts_with(start))
}
