//! Limits of a process on the processors: those allowed to it, and its cgroups' quotas.

use crate::proc;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How many cgroups above that of a process are looked at.
const MOST_LEVELS: usize = 32;

/// The limits of one process.
pub struct Limits {
    pid: i32,
    groups: Vec<Group>,
}

/// One cgroup.
struct Group {
    /// `cpu.stat`, open.
    stat: File,
    folder: PathBuf,
    /// When recording began, ns.
    throttled: i64,
}

/// Limits at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Processors that the main thread may run on; 0 for unknown.
    pub processors: u64,
    /// The least quota, thousandths of a processor; 0 for none.
    pub quota: i64,
    /// How long the cgroup that was throttled most was, since the limits were made, ns.
    pub throttled: i64,
}

impl Limits {
    /// Of a process as it is now; a process that changes its cgroup later is not followed.
    pub fn of(pid: i32) -> Limits {
        let text = std::fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let folders = folders(&text, &mounts);
        Limits { pid, groups: folders.into_iter().filter_map(Group::open).collect() }
    }

    /// Reads the limits at this moment.
    pub fn now(&self) -> Now {
        let quotas = self.groups.iter().filter_map(Group::quota).filter(|quota| *quota > 0);
        let throttled = self.groups.iter().filter_map(Group::throttled).max();
        Now {
            processors: processors(self.pid),
            quota: quotas.min().unwrap_or(0),
            throttled: throttled.unwrap_or(0),
        }
    }
}

impl Group {
    fn open(folder: PathBuf) -> Option<Group> {
        let stat = File::open(folder.join("cpu.stat")).ok()?;
        let mut group = Group { stat, folder, throttled: 0 };
        group.throttled = group.throttled()?;
        Some(group)
    }

    fn throttled(&self) -> Option<i64> {
        let mut text = [0; 1024];
        let length = self.stat.read_at(&mut text, 0).ok()?;
        Some((proc::throttled(text.get(..length)?)? - self.throttled).max(0))
    }

    fn quota(&self) -> Option<i64> {
        let read = |name| std::fs::read(self.folder.join(name)).ok();
        match read("cpu.max") {
            Some(both) => proc::quota(&both),
            None => proc::quota_of(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?),
        }
    }
}

/// The folders of a process's cgroups with the controller `cpu`, and of those above them.
fn folders(cgroups: &[u8], mounts: &str) -> Vec<PathBuf> {
    let (first, second) = proc::cgroups(cgroups);
    let mut folders = Vec::new();
    for (path, kind, option) in [(first, "cgroup", Some("cpu")), (second, "cgroup2", None)] {
        let Some((path, (root, point))) = path.zip(mounted(mounts, kind, option)) else { continue };
        // The path is that from the hierarchy's root, of which a container may have mounted a part.
        let within = Path::new(&path).strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        let within = within.ancestors().take(MOST_LEVELS);
        folders.extend(within.map(|within| point.join(within)));
    }
    folders
}

/// The root and the mount point of a hierarchy, from `/proc/self/mountinfo`.
fn mounted(mounts: &str, kind: &str, option: Option<&str>) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut behind = behind.split(' ');
        let (is_kind, options) = (behind.next()? == kind, behind.nth(1)?);
        let has = option.is_none_or(|wanted| options.split(',').any(|option| option == wanted));
        (is_kind && has).then(|| (root.into(), point.into()))
    })
}

/// How many processors a thread may run on; 0 for unknown.
fn processors(pid: i32) -> u64 {
    /// Room for 8192 processors, the most of a kernel.
    const WORDS: usize = 128;
    let mut mask = MaybeUninit::<[u64; WORDS]>::zeroed();
    // SAFETY: writes at most so many bytes of the mask, all of which are valid as zeros.
    let (length, mask) = unsafe {
        let size = size_of::<[u64; WORDS]>();
        (libc::syscall(libc::SYS_sched_getaffinity, pid, size, mask.as_mut_ptr()), mask.assume_init())
    };
    if length <= 0 { 0 } else { mask.iter().map(|word| u64::from(word.count_ones())).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_and_those_above() {
        let mounts = "31 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
            32 25 0:27 /docker/x /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
        let found = folders(b"3:cpu,cpuacct:/a/b\n0::/docker/x/c\n", mounts);
        let expected = [
            "/sys/fs/cgroup/cpu/a/b",
            "/sys/fs/cgroup/cpu/a",
            "/sys/fs/cgroup/cpu/",
            "/sys/fs/cgroup/unified/c",
            "/sys/fs/cgroup/unified/",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        assert!(folders(b"", mounts).is_empty() && folders(b"0::/\n", "").is_empty());
    }

    #[test]
    fn this_process_has_a_processor() {
        let now = Limits::of(std::process::id() as i32).now();
        assert!(now.processors > 0);
        assert_eq!(processors(i32::MAX), 0);
    }
}
