//! Contents of the kernel's files, as text that is not trusted. Each function takes a whole file.

use crate::account::Place;
use crate::syscalls;
use spool::Run;

/// `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Time on a processor, ns.
    pub running: i64,
    /// Time ready without one, ns.
    pub runnable: i64,
    /// How often it got one.
    pub times: u64,
}

/// `/proc/PID/task/TID/syscall`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Syscall {
    /// Activity of the thread; ready where it is not blocked.
    pub place: Place,
    /// Its stack pointer and program counter; 0 unless it is blocked.
    pub stack: u64,
    /// Behind the instruction that made the call.
    pub counter: u64,
}

/// A line of `/proc/PID/maps` with code of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Behind the last address.
    pub end: u64,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// The file's number in its file system.
    pub inode: u64,
    /// The file's path.
    pub path: String,
}

/// Reads the counters.
pub fn counters(text: &[u8]) -> Option<Counters> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut word = || words.next()?.parse::<u64>().ok();
    let (running, runnable, times) = (word()?, word()?, word()?);
    // Beyond this, sums could overflow: 73 years.
    let time = |ns: u64| i64::try_from(ns).ok().filter(|ns| *ns < 1 << 61);
    Some(Counters { running: time(running)?, runnable: time(runnable)?, times })
}

/// Reads the system call that a thread is in.
pub fn syscall(text: &[u8]) -> Option<Syscall> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii_end();
    if text == "running" {
        return Some(Syscall {
            place: Place { state: Run::Ready, ..Place::default() },
            ..Syscall::default()
        });
    }
    let mut words = text.split(' ');
    let number: i64 = words.next()?.parse().ok()?;
    let rest: Vec<u64> = words.map(hexadecimal).collect::<Option<_>>()?;
    // A thread that is blocked outside of a call, as by a page fault, has no arguments.
    let (object, stack, counter) = match (number, rest.as_slice()) {
        (-1, [stack, counter]) => (0, *stack, *counter),
        (0.., [arguments @ .., stack, counter]) if arguments.len() == 6 => {
            (arguments[syscalls::telling(number)], *stack, *counter)
        }
        _ => return None,
    };
    let call = (number >= 0).then_some(number);
    Some(Syscall { place: Place { state: Run::Blocked, call, object }, stack, counter })
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// The words of `/proc/…/stat` behind the name, which may hold anything.
fn stat(text: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let behind = text.iter().rposition(|byte| *byte == b')')? + 1;
    Some(std::str::from_utf8(text.get(behind..)?).ok()?.split_ascii_whitespace())
}

/// The state in `/proc/PID/task/TID/stat`; unknown for a letter that says nothing of it.
pub fn state(text: &[u8]) -> Option<Run> {
    Some(match stat(text)?.next()? {
        "R" => Run::Ready,
        "S" => Run::Blocked,
        "D" => Run::Uninterruptible,
        "T" | "t" => Run::Stopped,
        _ => Run::Unknown,
    })
}

/// The parent in `/proc/PID/stat`.
pub fn parent(text: &[u8]) -> Option<i32> {
    stat(text)?.nth(1)?.parse().ok()
}

/// When the process of `/proc/PID/stat` began, in the kernel's clock ticks: with its id, it identifies it.
pub fn began(text: &[u8]) -> Option<u64> {
    // The 22nd field; the state is the third.
    stat(text)?.nth(19)?.parse().ok()
}

/// The first address of the code of the program of `/proc/PID/stat`: another one after it executes a program. 0 if this
/// process may not know it.
pub fn code_start(text: &[u8]) -> Option<u64> {
    // The 26th field.
    stat(text)?.nth(23)?.parse().ok()
}

/// The mappings of `/proc/PID/maps` from which files are executed.
pub fn code(text: &[u8]) -> Vec<Mapping> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| mapping(std::str::from_utf8(line).ok()?)).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.trim_start_matches(' ').split_once(' ')?;
        rest = behind;
        Some(word)
    };
    let (range, access, offset, _device, inode) = (word()?, word()?, word()?, word()?, word()?);
    let path = rest.trim_start_matches(' ');
    let (start, end) = range.split_once('-')?;
    let number = |word| u64::from_str_radix(word, 16).ok();
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    let is_file_code = path.starts_with('/') && access.as_bytes().get(2) == Some(&b'x');
    (is_file_code && start < end).then_some(Mapping {
        start,
        end,
        offset,
        inode: inode.parse().ok()?,
        path: path.strip_suffix(" (deleted)").unwrap_or(path).to_owned(),
    })
}

/// The paths of a process's cgroups in `/proc/PID/cgroup`: that of version 1 which has the controller `cpu`, and that of
/// version 2.
pub fn cgroups(text: &[u8]) -> (Option<String>, Option<String>) {
    let (mut first, mut second) = (None, None);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.split(',').any(|controller| controller == "cpu") {
            first = Some(path.to_owned());
        } else if number == "0" && controllers.is_empty() {
            second = Some(path.to_owned());
        }
    }
    (first, second)
}

/// The time in `cpu.stat` for which a cgroup was throttled, ns.
pub fn throttled(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let scale = match name {
            "throttled_usec" => 1000,
            "throttled_time" => 1,
            _ => return None,
        };
        value.trim().parse::<i64>().ok()?.checked_mul(scale).filter(|ns| (0..1 << 61).contains(ns))
    })
}

/// The quota of `cpu.max` (version 2), thousandths of a processor; 0 for none.
pub fn quota(text: &[u8]) -> Option<i64> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    match (words.next()?, words.next()?) {
        ("max", _) => Some(0),
        (time, period) => of_period(time.parse().ok()?, period.parse().ok()?),
    }
}

/// A quota of version 1, whose two numbers are in two files; a negative time is none.
pub fn quota_of(time: &[u8], period: &[u8]) -> Option<i64> {
    let number = |text| std::str::from_utf8(text).ok()?.trim().parse::<i64>().ok();
    let (time, period) = (number(time)?, number(period)?);
    if time < 0 { Some(0) } else { of_period(time, period) }
}

fn of_period(time: i64, period: i64) -> Option<i64> {
    (time > 0 && period > 0).then(|| time.saturating_mul(1000) / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn schedstat() {
        let expected = Counters { running: 12, runnable: 34, times: 5 };
        assert_eq!(counters(b"12 34 5\n"), Some(expected));
        assert_eq!(counters(b"12 34\n"), None);
        assert_eq!(counters(b"18446744073709551615 0 1\n"), None);
    }

    #[test]
    fn system_calls() {
        let running = syscall(b"running\n").unwrap();
        assert_eq!((running.place.state, running.stack), (Run::Ready, 0));
        let read =
            syscall(b"0 0x3 0x7f76a2deb000 0x20000 0x0 0xffffffff 0x0 0x7ffe3d715dd8 0x7f76a2f672ad\n");
        let place = Place { state: Run::Blocked, call: Some(0), object: 3 };
        assert_eq!(read, Some(Syscall { place, stack: 0x7ffe3d715dd8, counter: 0x7f76a2f672ad }));
        let fault = syscall(b"-1 0x7ffe 0x7f76\n").unwrap();
        assert_eq!((fault.place.call, fault.stack, fault.counter), (None, 0x7ffe, 0x7f76));
        for text in [&b""[..], b"7", b"-2 0x1 0x2", b"0 0x1 0x2", b"x", b"0 3"] {
            assert_eq!(syscall(text), None);
        }
    }

    #[test]
    fn stat_behind_a_hostile_name() {
        let text = b"1 (a) R 9) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0 0 4096 0\n";
        assert_eq!((state(text), began(text)), (Some(Run::Blocked), Some(777)));
        assert_eq!(code_start(text), Some(4096));
        assert_eq!(state(b"1 (x"), None);
    }

    #[test]
    fn maps_of_code() {
        let text = b"55d0-55f0 r--p 00000000 fe:00 12 /usr/bin/cat\n\
            55f0-5600 r-xp 00020000 fe:00 12    /usr/bin/a name\n\
            5600-5700 r-xp 00000000 00:00 0 \n\
            5700-5800 r-xp 00001000 fe:00 13 /tmp/gone.so (deleted)\n";
        let found = code(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].start, found[0].offset, found[0].path.as_str()),
            (0x55f0, 0x20000, "/usr/bin/a name")
        );
        assert_eq!((found[1].inode, found[1].path.as_str()), (13, "/tmp/gone.so"));
    }

    #[test]
    fn cgroup_files() {
        let text = b"9:name=systemd:/\n2:cpuacct,cpu:/a\n0::/b:c\n";
        assert_eq!(cgroups(text), (Some("/a".into()), Some("/b:c".into())));
        assert_eq!(throttled(b"nr_periods 5\nthrottled_usec 12\n"), Some(12_000));
        assert_eq!(throttled(b"nr_throttled 5\nthrottled_time 12\n"), Some(12));
        assert_eq!(throttled(b"usage_usec 5\n"), None);
        assert_eq!((quota(b"150000 100000\n"), quota(b"max 100000\n")), (Some(1500), Some(0)));
        assert_eq!((quota_of(b"-1\n", b"100000\n"), quota_of(b"25000\n", b"100000\n")), (Some(0), Some(250)));
        assert_eq!(quota_of(b"1\n", b"0\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in proptest::collection::vec(any::<u8>(), 0..200), words in "[-0-9a-fx(): \n/.]{0,120}") {
            for text in [text.as_slice(), words.as_bytes()] {
                counters(text);
                syscall(text);
                state(text);
                began(text);
                code_start(text);
                code(text);
                cgroups(text);
                throttled(text);
                quota(text);
                quota_of(text, text);
            }
        }
    }
}
