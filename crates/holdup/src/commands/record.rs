//! `holdup record`

mod windows;

use crate::args::{self, Keep, Record};
use crate::failure::Failure;
use crate::input;
use crate::links;
use crate::output::{self, Color};
use crate::readers::Readers;
use crate::save::Target;
use explain::Options;
use record::{Begin, Command, Outcome, Schedule, Status};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trace::Trace;

/// Findings that are printed when the program is done.
const FINDINGS: usize = 3;

/// Runs a program and records it; ends as the program ends.
pub fn run(arguments: &Record, color: Color) -> Result<ExitCode, Failure> {
    let options = options(arguments);
    links::check(&options.spool_parent)?;
    let target = target(arguments)?;
    let command = Command { argv: arguments.command.clone(), options };
    if arguments.after == Some(args::Begin::AtSignal) && !arguments.quiet {
        let pid = std::process::id();
        eprintln!("holdup: recording is off: `kill -USR2 {pid}` switches it on, and off again");
    }
    if let Some(obstacle) = command.obstacle() {
        eprintln!("holdup: {obstacle}");
    }
    let outcome = match command.run() {
        Ok(outcome) => outcome,
        Err(error) => {
            let status = ExitCode::from(error.exit_status());
            Failure::Message(error.to_string()).report();
            return Ok(status);
        }
    };
    let status = outcome.status;
    keep(outcome, target, arguments, color);
    record::die_like(status)
}

fn options(arguments: &Record) -> record::Options {
    record::Options {
        level: arguments.level.into(),
        graph_nodes: arguments.graph_nodes,
        stacks_ns: arguments.stacks.0,
        locks: arguments.locks.clone(),
        sample_rate: arguments.sample_rate,
        max_size: arguments.max_size,
        keep_last: arguments.keep == Keep::Last,
        schedule: Schedule { begin: begin(arguments), duration: arguments.duration },
        spool_parent: arguments.spool_dir.clone().unwrap_or_else(std::env::temp_dir),
    }
}

fn begin(arguments: &Record) -> Begin {
    match arguments.after {
        None => Begin::AtOnce,
        Some(args::Begin::After(wait)) => Begin::After(wait),
        Some(args::Begin::AtSignal) => Begin::AtSignal,
        Some(args::Begin::AtProgram) => Begin::AtProgram,
    }
}

/// Makes a file of the recording, and prints its findings. The exit status is the program's, whatever fails here.
fn keep(outcome: Outcome, target: Target, arguments: &Record, color: Color) {
    for note in &outcome.notes {
        eprintln!("holdup: {note}");
    }
    if outcome.spool.is_empty() {
        if let Some(why) = why_empty(&outcome) {
            eprintln!("holdup: nothing was recorded: {why}");
        }
        return;
    }
    match save(&outcome, target, arguments) {
        Ok(saved) => saved.iter().for_each(|(trace, path)| report(trace, path, arguments, color)),
        Err(failure) => {
            failure.report();
            let kept = outcome.spool.keep();
            let (from, to) = (kept.display(), "FILE.holdup");
            eprintln!("holdup: the recording is kept: to try again, run `holdup import {from} -o {to}`");
        }
    }
}

/// Why nothing was recorded; `None` if that was reported before the program began.
fn why_empty(outcome: &Outcome) -> Option<String> {
    let foreign = outcome.foreign_programs;
    if outcome.unrecorded > 0 {
        Some("every process that used CUDA was refused".to_owned())
    } else if outcome.obstacle.is_some() {
        None
    } else if foreign > 0 {
        Some(format!(
            "no process with glibc used CUDA; {foreign} programs of another C library (musl) or for another processor were executed and \
             not recorded: \
             link them dynamically with glibc"
        ))
    } else if outcome.filtered_programs > 0 {
        Some(format!(
            "no process outside a seccomp filter used CUDA; {} programs were executed under one and not recorded: \
             record within the sandbox",
            outcome.filtered_programs
        ))
    } else {
        Some(format!("no process of the program used CUDA{}", why_without_cuda(outcome.status)))
    }
}

/// Reason why a program that ended so used no CUDA, as the end of a sentence.
fn why_without_cuda(status: Status) -> String {
    match status {
        Status::Signaled(signal) => format!(": it was ended by signal {signal} before its first call"),
        Status::Exited(1..) => ": it failed before its first call".to_owned(),
        Status::Exited(_) if !has_driver() => {
            ": this machine has no NVIDIA driver, or this container sees none".to_owned()
        }
        Status::Exited(_) => ": check that it runs on a GPU (`CUDA_VISIBLE_DEVICES`)".to_owned(),
    }
}

/// Whether the kernel's part of NVIDIA's driver can be seen: on servers, on Jetson, in WSL.
fn has_driver() -> bool {
    ["/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/dxg"].iter().any(|device| Path::new(device).exists())
}

/// Writes the files of the program's windows, and the whole recording unless it has windows and began for them alone.
fn save(outcome: &Outcome, target: Target, arguments: &Record) -> Result<Vec<(Trace, PathBuf)>, Failure> {
    let mut trace = input::read_as(outcome.spool.path(), "the recording")?;
    trace.meta.command = line(&arguments.command);
    trace.meta.host = host();
    // What uses several GPUs is no single rank: a launcher of ranks was recorded, whose own number is another one.
    if trace.devices.len() <= 1 {
        (trace.meta.rank, trace.meta.world_size) = rank(|name| std::env::var(name).ok());
    }
    trace.meta.notes.extend(outcome.notes.iter().cloned());
    trace.meta.lost.records("process that could not make its file", outcome.unrecorded);
    trace.meta.notes.extend(outcome.obstacle.as_ref().map(ToString::to_string));
    trace.meta.notes.extend(beginning(outcome, &trace));
    if let Status::Signaled(signal) = outcome.status {
        trace.meta.notes.push(format!("the program was ended by signal {signal}"));
    }
    let windows = windows::of(&trace);
    let (mut saved, mut failed) = (Vec::new(), false);
    for window in &windows {
        match window.write(&trace, readers(arguments)) {
            Ok(file) => saved.push(file),
            Err(failure) => {
                failure.report();
                failed = true;
            }
        }
    }
    let for_windows = arguments.after == Some(args::Begin::AtProgram) && arguments.output.is_none();
    if failed || windows.is_empty() || !for_windows {
        let path = target.path().to_owned();
        target.write(&trace)?;
        saved.push((trace, path));
    }
    Ok(saved)
}

/// Prints what was recorded into a file: the first findings, or with `--quiet` what was lost.
fn report(trace: &Trace, path: &Path, arguments: &Record, color: Color) {
    if arguments.after.is_some() && trace.calls.is_empty() {
        eprintln!(
            "holdup: no call was recorded: the program ended before recording was switched on (--after)"
        );
    } else if !arguments.quiet {
        say(trace, path, color);
    } else if let Some(losses) = ::report::losses(trace) {
        eprintln!("holdup: {losses}; `holdup explain {}` has the details", path.display());
    }
}

/// When a part of the program's run begins that was recorded.
fn beginning(outcome: &Outcome, trace: &Trace) -> Option<String> {
    let epoch = trace.meta.epoch_unix_ns.filter(|_| !trace.meta.recorded.is_empty())?;
    let ms = epoch.saturating_sub(outcome.started.unix_ns).max(0) / 1_000_000;
    Some(format!("the trace's time begins {}.{:03} s after the program was started", ms / 1000, ms % 1000))
}

/// The first findings, on standard error: standard output is the program's.
fn say(trace: &Trace, path: &Path, color: Color) {
    let mut explanation = super::explanation::alone(trace, &Options::default());
    explanation.trace.path = path.display().to_string();
    eprint!("\n{}", ::report::explanation::digest(&explanation, output::error_page(color), FINDINGS));
}

/// Where to write: the named file, or the first free one of `NAME.holdup`,
/// `NAME-2.holdup` and so on.
fn target(arguments: &Record) -> Result<Target, Failure> {
    if let Some(file) = &arguments.output {
        return Target::new(file, arguments.force, readers(arguments));
    }
    let name = name(&arguments.command);
    let numbered = (2..).map(|number| format!("{name}-{number}.holdup"));
    let mut names = std::iter::once(format!("{name}.holdup")).chain(numbered);
    let free = names.find(|name| Path::new(name).symlink_metadata().is_err());
    Target::new(Path::new(&free.unwrap_or_default()), false, readers(arguments))
}

/// Readers of the recording's files.
fn readers(arguments: &Record) -> Readers {
    if arguments.share { Readers::ALL } else { Readers::OWNER }
}

/// The name of a command's recording: that of the script if an interpreter runs one.
fn name(command: &[OsString]) -> String {
    let stem = |word: &OsStr| Path::new(word).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let program = command.first().and_then(|program| Path::new(program).file_name()).unwrap_or_default();
    let interprets = program.to_string_lossy().starts_with("python");
    let is_script = |word: &&OsString| Path::new(word).extension() == Some(OsStr::new("py"));
    let script = command.iter().skip(1).find(is_script).filter(|_| interprets);
    script.and_then(|script| stem(script)).unwrap_or_else(|| program.to_string_lossy().into_owned())
}

fn line(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The rank and the number of ranks that a launcher states in the environment: torchrun and others, Slurm, Open MPI, MPICH.
fn rank(variable: impl Fn(&str) -> Option<String>) -> (Option<i64>, Option<i64>) {
    const NAMES: [(&str, &str); 4] = [
        ("RANK", "WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
    ];
    let number = |name: &str| variable(name)?.parse::<i64>().ok().filter(|number| *number >= 0);
    // One process of Slurm or torchrun is no rank of anything.
    let of = |(rank, size): (&str, &str)| Some((number(rank)?, number(size).filter(|size| *size > 1)?));
    let found = NAMES.into_iter().find_map(of).filter(|(rank, size)| rank < size);
    (found.map(|(rank, _)| rank), found.map(|(_, size)| size))
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_states_the_rank() {
        let of = |set: &[(&str, &str)]| {
            rank(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[("RANK", "3"), ("WORLD_SIZE", "8")]), (Some(3), Some(8)));
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")]), (Some(0), Some(2)));
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]), (None, None));
        assert_eq!(of(&[("RANK", "9"), ("WORLD_SIZE", "8")]), (None, None));
        assert_eq!(of(&[("RANK", "many"), ("WORLD_SIZE", "8")]), (None, None));
        assert_eq!(of(&[]), (None, None));
    }

    #[test]
    fn recordings_are_named_after_scripts_and_programs() {
        let named = |line: &str| name(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(named("python3 -u train.py --epochs 3"), "train");
        assert_eq!(named("/usr/bin/python -m pytest"), "python");
        assert_eq!(named("./a.out x.py"), "a.out");
    }
}
