//! Runs a workload: starts its processes, waits for them, and puts together what they say.

mod child;
mod heard;
mod mps;
mod recorded;
mod results;
mod signals;

use crate::segment::Segment;
use crate::wire::{Job, Order, Watch};
use crate::{Device, Error, clock};
use child::Child;
use heard::Heard;
use mps::Mps;
pub(crate) use mps::serving;
use signals::Signals;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use workload::{Loading, Outcome, Workload};

/// How long processes may go on when the run is to stop: longer than most kernels take, and no longer than a person waits.
const GRACE: Duration = Duration::from_secs(3);

/// How often to look for signals, should one go to another thread.
const GLANCE: Duration = Duration::from_millis(50);

/// The driver's variable for the number of hardware queues.
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// The driver's variable for when kernels are loaded.
const LOADING: &str = "CUDA_MODULE_LOADING";

/// How to run a workload.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether each call of the bodies is timed, by two looks at the clock, some 40 ns; [`ThreadOutcome::calls`] is empty
    /// otherwise.
    ///
    /// [`ThreadOutcome::calls`]: workload::ThreadOutcome::calls
    pub timed: bool,
    /// Whether every call is recorded, for a Trace, in 24 bytes of memory each; calls are timed then, too.
    pub trace: bool,
    /// Whether each thread stays on a processor, counted through the processes.
    pub pinned: bool,
    /// Variables for the processes, as for a tool that is to record them, and those to remove.
    pub environment: Vec<(String, Option<OsString>)>,
    /// The longest that the run may take; then it is stopped and partial.
    pub limit: Option<Duration>,
    /// The executable to start as the processes: one that calls [`child_main`](crate::child_main) first. This process's
    /// own when `None`.
    pub executable: Option<PathBuf>,
}

/// What came of running a workload.
pub struct Run {
    /// What the threads measured. Of a partial run: as far as they came.
    pub outcome: Outcome,
    /// Why the run is not a whole one.
    pub partial: Option<Partial>,
    /// The processes that ran, in the order of the workload's.
    pub processes: Vec<Started>,
    /// What happened on the host, if it was recorded.
    pub trace: Option<trace::Trace>,
    /// The devices that contexts were on, in the order of their ordinals.
    pub devices: Vec<Device>,
    /// What a reader of the figures should know, a line each.
    pub notes: Vec<String>,
}

/// A process of a workload as the operating system numbered it.
pub struct Started {
    /// Its number.
    pub pid: u32,
    /// Its threads' numbers, in the workload's order; none of one that had to be killed.
    pub tids: Vec<i64>,
}

/// Why a run was stopped before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partial {
    /// By this signal.
    Signal(i32),
    /// By [`Options::limit`].
    Limit,
}

impl std::fmt::Display for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Partial::Signal(libc::SIGINT) => f.write_str("interrupted"),
            Partial::Signal(signal) => write!(f, "stopped by signal {signal}"),
            Partial::Limit => f.write_str("stopped at its time limit"),
        }
    }
}

impl Partial {
    /// The error of what came to nothing.
    fn interrupting(self, what: &str) -> Error {
        Error::Interrupted { how: self.to_string(), what: what.to_owned() }
    }
}

/// Runs a workload on the devices of this machine, every process of it in a process of its own, also when there is only
/// one: CUDA is never initialized in this one.
///
/// SIGINT, SIGTERM and SIGHUP stop the run, which is then partial; one that comes too late for that is for whoever handled
/// them before. Runs of one process wait for one another.
///
/// # Errors
///
/// There is no driver or device for it, something that it asks for cannot be or failed, or a process of it died. The first
/// such thing ends the run.
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
    Ok(results::put_together(workload, options, heard, &segment, stopped, partial, notes))
}

/// Asks the driver for its devices, in a process of its own. The number is that of `cuDriverGetVersion`: 12040 is 12.4.
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
    heard.ok_or_else(|| children[0].died("did not say what devices there are"))
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
    let loading = workload.loading.map(|loading| match loading {
        Loading::Lazy => "LAZY".to_owned(),
        Loading::Eager => "EAGER".to_owned(),
    });
    let mut variables = vec![
        (CONNECTIONS.to_owned(), workload.connections.map(|count| count.to_string().into())),
        (LOADING.to_owned(), loading.map(OsString::from)),
    ];
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

/// Waits for all processes to end. The first that fails, a signal or the time limit has the others stop.
fn wait(
    children: &mut [Child],
    segment: &Segment,
    signals: &Signals,
    started: Instant,
    limit: Option<Duration>,
) -> Result<(Vec<Heard>, Option<Partial>), Error> {
    let mut heard: Vec<_> = children.iter().map(|child| Heard::of(child.pid())).collect();
    let (mut trouble, mut partial, mut deadline) = (None, None, None);
    while children.iter().any(|child| child.status.is_none()) {
        for (child, heard) in children.iter_mut().zip(&mut heard).filter(|(child, _)| is_ready(child)) {
            let failed = listen(child, heard);
            // One that was killed for being slow to stop, or stopped with others, is not at fault.
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

/// Hears what a process has to say, and what went wrong with it.
fn listen(child: &mut Child, heard: &mut Heard) -> Option<Error> {
    let taken = child.take();
    child.arrived.drain(..).for_each(|arrival| heard.hear(arrival));
    child.is_done = heard.said_all();
    let silent = child.status.is_some() && !heard.said_all();
    taken.err().or_else(|| heard.trouble.clone()).or_else(|| silent.then(|| child.died_silently()))
}

/// Sleeps until a process has something to say, a signal comes, or a while has passed.
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

/// How a process ended, and what to do, behind a semicolon.
fn ended(status: ExitStatus) -> (String, String) {
    match (status.signal(), status.code()) {
        (Some(libc::SIGKILL), _) => {
            let advice = "; was there too little memory? (`dmesg` says whom the system killed)";
            ("was killed".to_owned(), advice.to_owned())
        }
        (Some(signal), _) => (
            format!("was ended by signal {signal}"),
            "; look at nvidia-smi and for Xid in `dmesg`".to_owned(),
        ),
        (None, code) => (format!("exited with {}", code.unwrap_or_default()), String::new()),
    }
}
