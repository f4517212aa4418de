//! Signals reach a recorded program once, whatever their sender and receivers.
#![cfg(target_os = "linux")]

mod support;

use libc::{c_int, pid_t};
use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use support::{Try, text};

/// A program that runs for a second and ends with the number of times that it got a signal.
fn counting(signal: &str) -> Try {
    let script = format!(
        "n=0; trap 'n=$((n+1))' {signal}; : > $READY; \
         i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit $n"
    );
    with_ready(Try::shell(&script))
}

fn with_ready(try_: Try) -> Try {
    let ready = try_.ready();
    try_.env("READY", ready)
}

fn kill(pid: pid_t, signal: c_int) {
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

fn pid(child: &Child) -> pid_t {
    child.id() as pid_t
}

fn pause() {
    std::thread::sleep(Duration::from_millis(150));
}

#[test]
fn a_signal_to_only_the_recorder_is_passed_on() {
    let signals = [
        ("TERM", libc::SIGTERM),
        ("HUP", libc::SIGHUP),
        ("USR1", libc::SIGUSR1),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("ABRT", libc::SIGABRT),
        ("TRAP", libc::SIGTRAP),
        ("SYS", libc::SIGSYS),
        ("VTALRM", libc::SIGVTALRM),
        ("PROF", libc::SIGPROF),
        ("IO", libc::SIGIO),
        ("XFSZ", libc::SIGXFSZ),
        ("ALRM", libc::SIGALRM),
    ];
    // All of them at once: each program runs for a second.
    let running = signals.map(|(name, number)| {
        let mut try_ = counting(name);
        let child = try_.start();
        kill(pid(&child), number);
        (name, try_, child)
    });
    for (name, _files, mut child) in running {
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{name}");
    }
}

#[test]
fn a_signal_to_the_whole_group_comes_once() {
    for (name, number) in [("INT", libc::SIGINT), ("TERM", libc::SIGTERM)] {
        let mut try_ = counting(name);
        let mut child = try_.start();
        for _ in 0..2 {
            kill(-pid(&child), number);
            pause();
        }
        // A signal to only the recorder is still distinguished, every time.
        kill(pid(&child), number);
        assert_eq!(child.wait().expect("it ends").code(), Some(3), "{name}");
    }
}

#[test]
fn signals_to_the_group_in_quick_succession_come_once_each() {
    // Ends with the number of one signal, and ten times that of the other.
    let script = "m=0; n=0; trap 'm=$((m+10))' TERM; trap 'n=$((n+1))' USR1; : > $READY; \
                  i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit $((m+n))";
    for _ in 0..3 {
        let mut try_ = with_ready(Try::shell(script));
        let mut child = try_.start();
        for signal in [libc::SIGTERM, libc::SIGUSR1] {
            kill(-pid(&child), signal);
        }
        pause();
        // A signal to only the recorder is still distinguished.
        kill(pid(&child), libc::SIGUSR1);
        assert_eq!(child.wait().expect("it ends").code(), Some(12));
    }
}

#[test]
fn an_alarm_set_before_is_the_programs() {
    for timer in [libc::ITIMER_REAL, libc::ITIMER_PROF] {
        let mut try_ = Try::new(&["sh", "-c", "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done"]);
        let set = move || {
            let value = libc::timeval { tv_sec: 0, tv_usec: 200_000 };
            let once =
                libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
            // SAFETY: a system call on a process that is about to execute the program.
            unsafe { libc::setitimer(timer, &once, std::ptr::null_mut()) };
            Ok(())
        };
        // SAFETY: `set` makes a system call only.
        unsafe { try_.command.pre_exec(set) };
        let began = Instant::now();
        let status = try_.run().status;
        let expected = if timer == libc::ITIMER_REAL { libc::SIGALRM } else { libc::SIGPROF };
        assert_eq!(status.signal(), Some(expected), "{status:?}");
        assert!(began.elapsed() >= Duration::from_millis(150));
    }
}

#[test]
fn the_programs_own_signal_does_not_come_back() {
    let script = "n=0; trap 'n=$((n+1))' TERM; kill -TERM $PPID; sleep 0.2; exit $n";
    assert_eq!(Try::shell(script).run().status.code(), Some(0));
}

/// Starts a program that leads a session on a terminal; returns it and the other end of the terminal.
fn on_terminal(try_: &mut Try) -> (Child, File) {
    let (mut ours, mut theirs) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: writes two descriptors, which are owned here from then on.
    let (ours, theirs) = unsafe {
        assert_eq!(libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()), 0);
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    };
    let command = &mut try_.command;
    command.stdin(theirs.try_clone().expect("a descriptor"));
    command.stdout(theirs.try_clone().expect("a descriptor")).stderr(theirs);
    let lead = || {
        // SAFETY: system calls on this process, which is about to execute the program.
        match unsafe { libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 } {
            true => Err(std::io::Error::last_os_error()),
            false => Ok(()),
        }
    };
    // SAFETY: `lead` makes system calls only.
    unsafe { command.pre_exec(lead) };
    let child = command.spawn().expect("record_try starts");
    // The command still holds its end of the terminal.
    let nothing = std::process::Stdio::null;
    command.stdin(nothing()).stdout(nothing()).stderr(nothing());
    try_.await_ready();
    (child, ours)
}

#[test]
fn an_interrupt_from_the_terminal_comes_once() {
    for (name, key) in [("INT", b"\x03"), ("QUIT", b"\x1c")] {
        let mut try_ = counting(name);
        let (mut child, mut terminal) = on_terminal(&mut try_);
        for _ in 0..2 {
            terminal.write_all(key).expect("a terminal");
            pause();
        }
        assert_eq!(child.wait().expect("it ends").code(), Some(2), "{name}");
    }
}

#[test]
fn the_program_gets_the_hangup_of_its_terminal() {
    let mut try_ = counting("HUP");
    let (mut child, terminal) = on_terminal(&mut try_);
    drop(terminal);
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

/// Waits until a child stops or ends.
fn next_state(child: &Child) -> ExitStatus {
    let mut status = 0;
    // SAFETY: writes to `status`.
    assert_eq!(unsafe { libc::waitpid(pid(child), &mut status, libc::WUNTRACED) }, pid(child));
    ExitStatus::from_raw(status)
}

#[test]
fn stops_and_goes_on_with_the_program() {
    // To the whole group, as a terminal does, and to only the recorder.
    for sign in [-1, 1] {
        // Not a shell that starts other programs: a shell that is stopped within vfork cannot stop itself.
        let mut try_ = with_ready(Try::shell(": > $READY; exec sleep 0.4"));
        #[expect(clippy::zombie_processes, reason = "next_state waits")]
        let child = try_.start();
        kill(sign * pid(&child), libc::SIGTSTP);
        assert_eq!(next_state(&child).stopped_signal(), Some(libc::SIGTSTP));
        kill(sign * pid(&child), libc::SIGCONT);
        assert_eq!(next_state(&child).code(), Some(0));
    }
}

#[test]
fn the_recorder_does_not_stop_without_the_program() {
    let mut try_ = with_ready(Try::shell("trap '' TSTP; : > $READY; sleep 0.4; exit 5"));
    #[expect(clippy::zombie_processes, reason = "next_state waits")]
    let child = try_.start();
    kill(-pid(&child), libc::SIGTSTP);
    assert_eq!(next_state(&child).code(), Some(5));
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    for signal in [libc::SIGCHLD, libc::SIGPIPE] {
        // A shell would handle it in its own way; grep does not change it, and ends with 2 because of the second file.
        let mut try_ = Try::new(&["grep", "-h", "SigIgn", "/proc/self/status", "/no/such/file"]);
        // SAFETY: a system call on a process that is about to execute the program.
        unsafe { try_.command.pre_exec(move || Ok(_ = libc::signal(signal, libc::SIG_IGN))) };
        let output = try_.run();
        assert_eq!(output.status.code(), Some(2));
        let ignored = text(&output.stdout);
        let mask = ignored.split_whitespace().last().and_then(|mask| u64::from_str_radix(mask, 16).ok());
        assert_eq!(mask.map(|mask| mask >> (signal - 1) & 1), Some(1), "{signal}: {ignored}");
    }
}

/// A program that ends at once and leaves a process with a spool file.
fn leaving(seconds: &str) -> Try {
    let script = format!(
        "sleep {seconds} >/dev/null 2>&1 & : > $HOLDUP_SPOOL/$!-0.spool; \
         : > $HOLDUP_SPOOL/$!-1.spool; : > $READY; exit 4"
    );
    with_ready(Try::shell(&script))
}

#[test]
fn processes_that_outlive_the_program_are_waited_for() {
    let mut try_ = leaving("0.7");
    let began = Instant::now();
    assert_eq!(try_.run().status.code(), Some(4));
    assert!(began.elapsed() >= Duration::from_millis(700));
    let (status, took, notes) = try_.outcome();
    assert_eq!((status.as_str(), notes.as_str()), ("Exited(4)", ""));
    assert!(took < 700, "the program itself took {took} ms");
}

#[test]
fn the_wait_ends_after_the_grace_period() {
    let mut try_ = leaving("60");
    let began = Instant::now();
    assert_eq!(try_.run().status.code(), Some(4));
    assert!(began.elapsed() >= record::GRACE && began.elapsed() < 3 * record::GRACE);
    end_left(&try_);
}

#[test]
fn a_signal_ends_the_wait() {
    let mut try_ = leaving("60");
    let mut child = try_.start();
    pause();
    let began = Instant::now();
    kill(pid(&child), libc::SIGINT);
    assert_eq!(child.wait().expect("it ends").code(), Some(4));
    assert!(began.elapsed() < record::GRACE / 2);
    end_left(&try_);
}

/// Reads from the note which process was left, and ends it.
fn end_left(try_: &Try) {
    let notes = try_.outcome().2;
    let rest = notes.strip_prefix("the program left process ").expect("a note");
    kill(rest.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a process"), libc::SIGTERM);
}
