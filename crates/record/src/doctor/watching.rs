//! Checks whether the threads of a program can be watched from outside.

use super::check::{Check, State};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use watch::Permissions;

const NAME: &str = "threads from outside";

/// Remedy where the kernel forbids it.
const REMEDY: &str = "in a container, add --cap-add SYS_PTRACE; elsewhere, set kernel.yama.ptrace_scope to 0 or 1 \
                      with sysctl";

/// Starts a process and tries what the kernel shows of it.
pub fn check(patience: Duration) -> Check {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read line"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return Check::ok(NAME, "unknown: /bin/sh does not start");
    };
    let found = permissions(&child, patience);
    // A failure means that it has ended.
    let _ = child.kill();
    let _ = child.wait();
    said(found)
}

/// Permissions, once the process is blocked and so shows its system call.
fn permissions(child: &Child, patience: Duration) -> Permissions {
    let pid = child.id().cast_signed();
    let began = Instant::now();
    loop {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let address = maps.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok());
        let found = watch::permissions(pid, address.unwrap_or(0));
        // Registers do not become readable later.
        let all = found.counters && found.calls && found.memory;
        if all || began.elapsed() > patience.min(Duration::from_millis(500)) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn said(found: Permissions) -> Check {
    let Permissions { counters, calls, memory, registers } = found;
    let lacks = [
        (counters, "times on and without a processor: the kernel has no /proc/PID/schedstat"),
        (calls, "system calls of blocked threads: /proc/PID/syscall cannot be read"),
        (memory, "samples of stacks: process_vm_readv is not permitted"),
        (registers, "native stacks of running threads: perf_event_open is not permitted"),
    ];
    let lacks: Vec<String> =
        lacks.iter().filter(|(has, _)| !has).map(|(_, lack)| format!("not recorded: {lack}")).collect();
    if lacks.is_empty() {
        return Check::ok(NAME, "states, system calls and samples can be read");
    }
    let remedies = [
        (counters, "record on a kernel with CONFIG_SCHED_INFO; gVisor has none"),
        (calls && memory, REMEDY),
        (registers, "set kernel.perf_event_paranoid to 2 with sysctl; in a container, add --cap-add PERFMON"),
    ];
    let remedies: Vec<&str> = remedies.iter().filter(|(has, _)| !has).map(|(_, remedy)| *remedy).collect();
    let remedy = remedies.join("; ");
    Check { name: NAME, state: State::Warn, found: lacks, remedy: Some(remedy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_has_a_remedy() {
        let all = Permissions { counters: true, calls: true, memory: true, registers: true };
        assert_eq!((said(all).state, said(all).remedy), (State::Ok, None));
        let check = said(Permissions { memory: false, ..all });
        assert_eq!((check.state, check.found.len()), (State::Warn, 1));
        assert!(check.remedy.is_some_and(|remedy| remedy.contains("SYS_PTRACE")));
        let check = said(Permissions { counters: false, ..all });
        assert!(check.remedy.is_some_and(|remedy| remedy.contains("CONFIG_SCHED_INFO")));
    }
}
