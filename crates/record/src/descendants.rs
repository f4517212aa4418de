//! The descendants of this process, and those that still write to the spool.

use libc::pid_t;
use std::io::Read;
use std::path::Path;

/// Longest chain of ancestors that is followed.
const MOST_ANCESTORS: usize = 1000;

/// Makes processes that outlive their parent children of this process.
pub fn adopt() {
    // SAFETY: sets an attribute of this process. Kernels before 3.4 lack it; there, this process does not wait for
    // such processes.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// A process's state letter and parent, from the kernel.
fn state(pid: pid_t) -> Option<(u8, pid_t)> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name before them may hold any text, even parentheses.
    let after = line.iter().rposition(|byte| *byte == b')')? + 1;
    let text = String::from_utf8_lossy(&line[after..]);
    let mut words = text.split_ascii_whitespace();
    Some((*words.next()?.as_bytes().first()?, words.next()?.parse().ok()?))
}

/// Whether a process was stopped by a signal.
pub fn is_stopped(pid: pid_t) -> bool {
    state(pid).is_some_and(|(letter, _)| letter == b'T')
}

/// Whether a process descends from this one and is alive.
pub fn is_living(pid: pid_t) -> bool {
    let dead = |letter| matches!(letter, b'Z' | b'X');
    state(pid).is_some_and(|(letter, parent)| !dead(letter) && leads_here(parent))
}

/// Whether a process descends from this one, dead or alive, if the kernel still knows it.
pub fn is_ours(pid: pid_t) -> bool {
    state(pid).is_some_and(|(_, parent)| leads_here(parent))
}

fn leads_here(mut ancestor: pid_t) -> bool {
    let this = std::process::id() as pid_t;
    for _ in 0..MOST_ANCESTORS {
        match state(ancestor) {
            _ if ancestor == this => return true,
            Some((_, parent)) if ancestor > 1 => ancestor = parent,
            _ => return false,
        }
    }
    false
}

/// Living descendants that may still write to a spool.
pub fn writers(spool: &Path) -> Vec<pid_t> {
    let files = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let mut writers: Vec<pid_t> = files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let pid = name.strip_suffix(spool::SUFFIX)?.split('-').next()?.parse().ok()?;
            (!is_complete(&file.path()) && is_living(pid)).then_some(pid)
        })
        .collect();
    writers.sort_unstable();
    // A process has one file per program that it executed.
    writers.dedup();
    writers
}

/// Whether a spool file is marked as complete.
fn is_complete(path: &Path) -> bool {
    let mut header = [0; size_of::<spool::FileHeader>()];
    let read = watch::spool_file().open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && spool::File::new(&header).is_some_and(|file| file.finished())
}
