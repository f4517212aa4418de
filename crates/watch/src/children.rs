//! The children of watched processes that do not use CUDA themselves: workers that load data, for which the program waits. Only those that
//! run Python are watched, and less often than the processes that record.

use crate::file::Watched;
use crate::{clock, proc};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Time between two searches for children, ns. A child that is found twice has had this time to begin its own recording.
const PERIOD: i64 = 250_000_000;

/// Most children of a program that are watched, and most threads of a process that are asked for theirs: a choice.
const MOST: usize = 64;

/// The end of a stand-in's name, before its suffix: no process numbers its own files so.
const NAME: &str = "-w";

/// The children that are known.
#[derive(Default)]
pub struct Children {
    next: i64,
    /// Children that were found once, or are watched, by id: their start, in the kernel's ticks, and whether they are watched.
    found: BTreeMap<i32, (Option<u64>, bool)>,
    watched: usize,
}

/// Whether a spool file stands for a process's own.
pub fn is_stand_in(name: &std::ffi::OsStr) -> bool {
    name.to_str().and_then(|name| name.strip_suffix(spool::SUFFIX)).is_some_and(|stem| stem.ends_with(NAME))
}

impl Children {
    /// Makes a file in the spool for each child of some processes that is there for the second time, has no file, and runs Python.
    pub fn find(&mut self, spool: &Path, parents: &[i32], now: i64) {
        if now < self.next {
            return;
        }
        self.next = now + PERIOD;
        let all: Vec<(i32, i32)> =
            parents.iter().flat_map(|parent| children(*parent).map(|child| (child, *parent))).collect();
        self.found.retain(|child, _| all.iter().any(|(known, _)| known == child));
        for (child, parent) in all {
            if parents.contains(&child) || self.watched >= MOST {
                continue;
            }
            let began = began(child);
            let known = self.found.get(&child).filter(|known| known.0 == began).copied();
            let is_due = matches!(known, Some((_, false))) && runs_python(child);
            if is_due && stand_in(spool, child, parent).is_ok() {
                self.watched += 1;
            }
            self.found.insert(child, (began, is_due || known.is_some_and(|known| known.1)));
        }
    }
}

/// The children of a process's first threads: reading those of thousands of threads would take long.
fn children(pid: i32) -> impl Iterator<Item = i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_task = |task: PathBuf| std::fs::read_to_string(task.join("children")).unwrap_or_default();
    let texts: Vec<String> = tasks.take(MOST).map(|task| of_task(task.path())).collect();
    let ids: Vec<i32> = texts
        .iter()
        .flat_map(|text| text.split_ascii_whitespace())
        .filter_map(|id| id.parse().ok())
        .collect();
    ids.into_iter()
}

fn began(pid: i32) -> Option<u64> {
    proc::began(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn runs_python(pid: i32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"))
}

fn stand_in(spool: &Path, child: i32, parent: i32) -> std::io::Result<()> {
    let path = spool.join(format!("{child}{NAME}{}", spool::SUFFIX));
    Watched::stand_in(&path, child.cast_unsigned(), parent.cast_unsigned(), clock::now(), clock::unix())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_that_stand_in() {
        assert!(is_stand_in("12-w.spool".as_ref()));
        assert!(!is_stand_in("12-0.spool".as_ref()) && !is_stand_in("12-w.watch".as_ref()));
    }

    #[test]
    fn a_child_is_found_the_second_time() {
        let folder = tempfile::tempdir().unwrap();
        let Ok(mut child) =
            std::process::Command::new("python3").args(["-c", "import time; time.sleep(9)"]).spawn()
        else {
            return eprintln!("no python3");
        };
        let (this, mut known) = (std::process::id().cast_signed(), Children::default());
        let path = folder.path().join(format!("{}-w.spool", child.id()));
        known.find(folder.path(), &[this], 0);
        assert!(!path.exists(), "it may begin to record");
        known.find(folder.path(), &[this], PERIOD / 2);
        assert!(!path.exists(), "too soon");
        // The program is executed some time after the process began.
        for round in 1..100 {
            known.find(folder.path(), &[this], round * PERIOD);
            if path.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(path.exists());
        assert!(spool::File::new(&std::fs::read(&path).unwrap()).is_some_and(|file| file.finished()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
