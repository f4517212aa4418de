//! Which libraries' locks are watched besides the driver's.

use crate::sys::env;
use interpose::SetOnce;

/// Libraries that are watched unless `HOLDUP_LOCKS` says otherwise.
const LIBRARIES: &str = "libc10:libtorch:libcudart:libcublas:libcudnn:libcusolver:libcufft:libcurand:\
                         libcusparse:libnccl:libnvrtc:libcupy:libjax:libpjrt";

/// Longest list that is kept; names behind it are not watched.
const MOST: usize = 16 << 10;

/// A copy of the list: the program may change its environment while it runs.
struct List {
    bytes: [u8; MOST],
    length: usize,
}

static LIST: SetOnce<List> = SetOnce::new();

/// Reads what is asked for, as recording starts.
pub fn choose() {
    let asked = env::text(spool::VAR_LOCKS).unwrap_or(LIBRARIES.as_bytes());
    if LIST.get().is_none() {
        LIST.set(List::of(whole_names(asked)));
    }
}

impl List {
    fn of(names: &[u8]) -> List {
        let mut list = List { bytes: [0; MOST], length: names.len().min(MOST) };
        list.bytes.iter_mut().zip(names).for_each(|(to, from)| *to = *from);
        list
    }
}

/// As many names as are kept: a part of one would fit more libraries.
fn whole_names(list: &[u8]) -> &[u8] {
    match list.get(..=MOST) {
        None => list,
        Some(first) => first.rsplitn(2, |byte| *byte == b':').nth(1).unwrap_or_default(),
    }
}

/// Whether a library of that file name is watched.
pub fn is_listed(name: &[u8]) -> bool {
    let list = LIST.get().and_then(|list| list.bytes.get(..list.length)).unwrap_or_default();
    let mut beginnings = list.split(|byte| *byte == b':').filter(|start| !start.is_empty());
    beginnings.any(|start| name.starts_with(start))
}

/// In a fork's child: a thread that was reading the list is not here.
///
/// # Safety
///
/// No thread of the child is known, as while it begins anew.
pub unsafe fn forget() {
    // SAFETY: the caller's promise.
    unsafe { LIST.forked() };
}
