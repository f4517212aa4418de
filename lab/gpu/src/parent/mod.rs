//! Runs a workload: starts its processes, waits for them, and merges their messages.

mod child;
mod host_trace;
mod messages;
mod mps;
mod options;
mod outcome;
mod partial;
mod signals;

use crate::segment::Segment;
use crate::wire::{Job, Order, Watch};
use crate::{Device, Error, clock};
use child::Child;
use messages::Messages;
use mps::Mps;
pub(crate) use mps::serving;
pub use options::Options;
pub use outcome::{ProcessIds, Run};
pub use partial::Partial;
use signals::Signals;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use workload::Workload;

/// The time for processes to stop: longer than most kernels, and shorter than a user's patience.
const GRACE: Duration = Duration::from_secs(3);

/// The time between two checks for signals, because another thread may receive them.
const GLANCE: Duration = Duration::from_millis(50);

/// Runs a workload on the devices of this machine. Every process of the workload is a new process, so that CUDA is never
/// initialized in this one.
///
/// SIGINT, SIGTERM and SIGHUP stop the run, which is then partial; a signal after the run goes to the previous handlers. Runs in
/// one process wait for one another.
///
/// # Errors
///
/// The driver or a device is missing, a call is impossible or failed, or a process died. The first error ends the run.
pub fn run(workload: &Workload, options: &Options) -> Result<Run, Error> {
    workload.check().map_err(|error| Error::Workload(error.to_string()))?;
    let signals = Signals::hold();
    let threads = workload.processes.iter().map(|process| process.threads.len()).sum();
    let segment = Segment::new(workload.barriers.len(), threads)?;
    let mps = Mps::of(workload, &signals)?;
    let started = Instant::now();
    let mut children = start(workload, options, &segment, threads, &mps)?;
    let (heard, partial) = wait(&mut children, &segment, &signals, started, options.limit)?;
    let stopped = clock::now();
    drop(children);
    let notes = mps.end();
    Ok(outcome::put_together(workload, options, heard, &segment, stopped, partial, notes))
}

/// Asks the driver for its devices, in a new process. The number is that of `cuDriverGetVersion`: 12040 is 12.4.
///
/// # Errors
///
/// There is no driver, it finds no device, or a signal came before it had answered.
pub(crate) fn describe(executable: Option<PathBuf>) -> Result<(Vec<Device>, i32), Error> {
    let signals = Signals::hold();
    let segment = Segment::new(0, 0)?;
    let executable = path(executable)?;
    let mut children = [Child::start(&executable, "devices", &Order::Describe, None, &[])?];
    let patience = Some(Duration::from_secs(60));
    let (heard, partial) = wait(&mut children, &segment, &signals, Instant::now(), patience)?;
    if let Some(how @ Partial::Signal(_)) = partial {
        return Err(how.interrupting("the driver was asked for its devices"));
    }
    let heard = heard.into_iter().next().and_then(|heard| heard.devices);
    heard.ok_or_else(|| children[0].died("did not report its devices"))
}

fn path(executable: Option<PathBuf>) -> Result<PathBuf, Error> {
    let own = || std::env::current_exe().map_err(|error| Error::system("holdup's own path", &error));
    executable.map_or_else(own, Ok)
}

/// Starts every process of a workload.
fn start(
    workload: &Workload,
    options: &Options,
    segment: &Segment,
    threads: usize,
    mps: &Mps,
) -> Result<Vec<Child>, Error> {
    let (executable, processors) = (path(options.executable.clone())?, processors());
    let own = workload.variables().map(|(name, value)| (name.to_owned(), value.map(OsString::from)));
    let mut variables = Vec::from(own);
    variables.extend(mps.variables());
    variables.extend(options.environment.iter().cloned());
    let (mut children, mut first_thread) = (Vec::new(), 0);
    for (row, process) in workload.processes.iter().enumerate() {
        let own = first_thread..first_thread + process.threads.len();
        let order = Order::Run(Box::new(Job {
            workload: workload.clone(),
            process: row,
            first_thread,
            threads,
            watch: match (options.trace, options.timed) {
                (true, _) => Watch::Trace,
                (false, true) => Watch::Calls,
                (false, false) => Watch::Bodies,
            },
            processors: match options.pinned {
                true => own.map(|thread| processors[thread % processors.len()]).collect(),
                false => Vec::new(),
            },
            crowded: threads > processors.len(),
        }));
        children.push(Child::start(&executable, &process.name, &order, Some(segment.file()), &variables)?);
        first_thread += process.threads.len();
    }
    Ok(children)
}

/// The processors that this process may use.
fn processors() -> Vec<usize> {
    // SAFETY: an all-zero set is an empty one; the system writes as much as it is long.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        let all: Vec<_> =
            (0..libc::CPU_SETSIZE as usize).filter(|number| libc::CPU_ISSET(*number, &set)).collect();
        if all.is_empty() { vec![0] } else { all }
    }
}

/// Waits for all processes to end. The first failure, a signal or the time limit stops the others.
fn wait(
    children: &mut [Child],
    segment: &Segment,
    signals: &Signals,
    started: Instant,
    limit: Option<Duration>,
) -> Result<(Vec<Messages>, Option<Partial>), Error> {
    let mut heard: Vec<_> = children.iter().map(|child| Messages::of(child.pid())).collect();
    let (mut trouble, mut partial, mut deadline) = (None, None, None);
    while children.iter().any(|child| child.status.is_none()) {
        for (child, heard) in children.iter_mut().zip(&mut heard).filter(|(child, _)| is_ready(child)) {
            let failed = listen(child, heard);
            // A process that was killed because it stopped too slowly, or that stopped with others, is no error.
            if trouble.is_none() && partial.is_none() {
                trouble = failed;
            }
        }
        if partial.is_none() && trouble.is_none() {
            let late = limit.is_some_and(|limit| started.elapsed() >= limit);
            partial = signals.take().map(Partial::Signal).or(late.then_some(Partial::Limit));
        }
        if (partial.is_some() || trouble.is_some()) && deadline.is_none() {
            segment.abort();
            deadline = Some(Instant::now() + GRACE);
        }
        let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        children.iter_mut().filter(|child| is_over || child.lingers()).for_each(Child::kill);
        sleep_on(children);
    }
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok((heard, partial)),
    }
}

/// Reads the messages of a process. Returns its error, if it has one.
fn listen(child: &mut Child, heard: &mut Messages) -> Option<Error> {
    let taken = child.take();
    child.arrived.drain(..).for_each(|arrival| heard.hear(arrival));
    child.is_done = heard.said_all();
    let silent = child.status.is_some() && !heard.said_all();
    taken.err().or_else(|| heard.trouble.clone()).or_else(|| silent.then(|| child.died_silently()))
}

/// Sleeps until a process sends a message, a signal arrives, or a while has passed.
fn sleep_on(children: &[Child]) {
    let mut files: Vec<_> = children.iter().filter_map(Child::results).map(readable).collect();
    // SAFETY: as many as there are. A signal ends the wait, which is what it is for.
    unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, GLANCE.as_millis() as i32) };
}

fn is_ready(child: &Child) -> bool {
    let Some(file) = child.results() else { return false };
    let mut file = readable(file);
    // SAFETY: one file; does not wait.
    unsafe { libc::poll(&mut file, 1, 0) > 0 }
}

fn readable(file: i32) -> libc::pollfd {
    libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 }
}
