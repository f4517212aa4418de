//! A process of a workload, as which holdup's executable was started.

mod affinity;
mod blas;
mod host;
mod instruction;
mod lock;
mod process;
mod program;
mod thread;
mod uses;
mod watch;

use crate::driver::{Driver, Function};
use crate::segment::Segment;
use crate::wire::{self, ARGUMENT, Job, Message, Order, Report, SIGNALS, ThreadReport, Watch};
use crate::{Device, Error, Place, clock, devices};
pub use blas::VARIABLE as BLAS_VARIABLE;
use process::Process;
use program::Program;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use thread::{Stop, Worker};
use watch::{NoWatch, Recorder, Sums, Watcher};
use workload::{Affinity, Repeat};

/// Runs a process of a workload and does not return, if this process was started as one.
///
/// [`run`](crate::run) starts its own executable, so a program that calls it must call this first, before it reads its
/// arguments or starts threads.
pub fn child_main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(ARGUMENT) {
        return;
    }
    let mut number = || arguments.next()?.parse::<i64>().ok();
    let (Some(parent), Some(results), Some(segment)) = (number(), number(), number()) else {
        eprintln!("{ARGUMENT} is only for holdup itself");
        std::process::exit(2);
    };
    live_and_die_with(parent);
    keep_to_itself([results as RawFd, segment as RawFd]);
    // SAFETY: the parent made it for this process, which got it for itself.
    let mut results = BufWriter::new(unsafe { File::from_raw_fd(results as RawFd) });
    let message = obey(&mut results, segment as RawFd).unwrap_or_else(Message::Failed);
    // The parent may have ended.
    let _ = wire::send(&mut results, &message).and_then(|()| results.flush());
    std::process::exit(0);
}

/// Ends this process with its parent, and ignores signals to the whole process group: the parent handles them, after this
/// process has reported its measurements.
fn live_and_die_with(parent: i64) {
    // SAFETY: these take no pointers that must be valid.
    unsafe {
        for signal in SIGNALS {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if i64::from(libc::getppid()) != parent {
            std::process::exit(1);
        }
    }
}

/// Has files closed in programs that the driver may start: the parent sees by their end that this process has ended.
fn keep_to_itself(files: [RawFd; 2]) {
    for file in files {
        // SAFETY: takes no pointer; a number that is no file's is refused.
        unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

fn obey(results: &mut impl Write, segment: RawFd) -> Result<Message, Error> {
    let mut order = Vec::new();
    let came = std::io::stdin().lock().read_to_end(&mut order);
    came.map_err(|error| Error::system("a process's order", &error))?;
    let order = serde_json::from_slice(&order)
        .map_err(|error| Error::System { what: "a process's order".to_owned(), reason: error.to_string() })?;
    match order {
        Order::Describe => {
            let driver = Driver::load()?;
            Ok(Message::Devices(devices::all(&driver)?, driver.version))
        }
        Order::Run(job) => {
            // SAFETY: the parent made it, and this process got it for itself.
            let segment = unsafe { OwnedFd::from_raw_fd(segment) };
            let segment = Segment::inherited(segment, job.workload.barriers.len(), job.threads)?;
            let done = run(&job, &segment, results);
            if done.is_err() {
                segment.abort();
            }
            Ok(Message::Done(Box::new(done?)))
        }
    }
}

fn run(job: &Job, segment: &Segment, results: &mut impl Write) -> Result<Report, Error> {
    let process = Process::new(job.workload.processes[job.process].clone(), job.workload.schedule)?;
    let mut report = Report { cuda: process.driver.version, ..Report::default() };
    for context in &process.asked.contexts {
        report.devices.push(devices::describe(&process.driver, context.device as i32)?);
    }
    report.contexts_ns = process.contexts.iter().map(|context| context.created_ns).collect();
    let near = match job.workload.affinity {
        Affinity::Any => Vec::new(),
        Affinity::Node => near(&report.devices, &mut report.notes),
    };
    let (sender, ends) = mpsc::channel();
    std::thread::scope(|scope| {
        for row in 0..process.asked.threads.len() {
            let (process, sender, near) = (&process, sender.clone(), &near);
            let name = process.asked.threads[row].name.clone();
            let work = move || {
                let _stops_others = StopsOthers(segment);
                let context = process.asked.threads[row].context.index();
                if let Some(processors) = near.get(context) {
                    affinity::stay_on(processors);
                }
                let end = live(job, row, process, segment);
                if end.trouble.is_some() {
                    segment.abort();
                }
                // The receiver outlives the threads.
                let _ = sender.send((row, end));
            };
            let started = std::thread::Builder::new().name(name).spawn_scoped(scope, work);
            started.map_err(|error| {
                segment.abort();
                Error::system("a thread of the workload", &error)
            })?;
        }
        Ok::<_, Error>(())
    })?;
    drop(sender);
    let mut ends: Vec<_> = ends.into_iter().collect();
    ends.sort_by_key(|(row, _)| *row);
    for (row, end) in ends {
        if let Some(trouble) = end.trouble {
            return Err(trouble);
        }
        for piece in &end.calls {
            let sent = wire::send_calls(results, row, piece);
            sent.map_err(|error| Error::system("a process's recorded calls", &error))?;
        }
        report.threads.push(end.report);
    }
    Ok(report)
}

/// The processors near each context's device: none where there is nothing to choose, which is noted.
fn near(devices: &[Device], notes: &mut Vec<String>) -> Vec<Vec<usize>> {
    let processors = |device: &Device| {
        affinity::near(Path::new("/sys"), &device.pci).unwrap_or_else(|why| {
            notes.push(format!("affinity: threads of GPU {} run on any processor: {why}", device.ordinal));
            Vec::new()
        })
    };
    devices.iter().map(processors).collect()
}

/// Stops the run when a thread panics, because the others would wait for it.
struct StopsOthers<'a>(&'a Segment);

impl Drop for StopsOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

/// The results of a thread.
#[derive(Default)]
struct End {
    report: ThreadReport,
    calls: Vec<Vec<wire::Record>>,
    trouble: Option<Error>,
}

/// Runs a thread, from its start to its end.
fn live(job: &Job, row: usize, process: &Process, segment: &Segment) -> End {
    let mut end = End::default();
    // SAFETY: asks for a number. The C library has a function for it since glibc 2.30.
    end.report.tid = unsafe { libc::syscall(libc::SYS_gettid) };
    if let Some(processor) = job.processors.get(row) {
        affinity::stay_on(&[*processor]);
    }
    let place = |step: &str| Place {
        process: process.asked.name.clone(),
        thread: process.asked.threads[row].name.clone(),
        step: step.to_owned(),
    };
    let context = process.contexts[process.asked.threads[row].context.index()].context;
    // SAFETY: the context was made for the process and stays.
    let code = unsafe { (process.driver.table.context_set_current)(context) };
    if code != crate::driver::SUCCESS {
        let failure = process.driver.failure(Function::ContextSetCurrent, code, Some(place("")));
        end.trouble = Some(Error::Call(failure.into()));
        return end;
    }
    let program = match program::compile(process, row, &job.workload.barriers) {
        Ok(program) => program,
        Err((step, problem)) => {
            end.trouble = Some(Error::Impossible { place: place(&step), problem });
            return end;
        }
    };
    let mut worker = Worker::new(process, segment, &program, job.crowded);
    let thread = Life { job, row, segment, program: &program };
    let stopped = match job.watch {
        Watch::Bodies => thread.live(&mut worker, &mut NoWatch),
        Watch::Calls => {
            let mut sums = Sums::default();
            let stopped = thread.live(&mut worker, &mut sums);
            end.report.times = sums.all();
            stopped
        }
        Watch::Trace => {
            let mut recorder = Recorder::default();
            let stopped = thread.live(&mut worker, &mut recorder);
            end.report.times = recorder.sums.all();
            end.calls = recorder.pieces;
            stopped
        }
    };
    let (ms, count) = worker.between_events;
    end.report.between_events_ns = (count > 0).then(|| (ms * 1e6 / count as f64).max(0.0).round() as u64);
    end.report.max_error = worker.max_error.map(f64::to_bits);
    if let Err(Stop::Failed(note, trouble)) = stopped {
        let place = place(&program.notes[note as usize].place);
        end.trouble = Some(trouble.into_error(&process.driver, place));
    }
    end.report.notes = program.notes;
    end
}

/// The execution of a thread's parts.
struct Life<'a> {
    job: &'a Job,
    row: usize,
    segment: &'a Segment,
    program: &'a Program,
}

impl Life<'_> {
    /// Prepares, waits for the others, executes the bodies, and cleans up.
    fn live<W: Watcher>(&self, worker: &mut Worker<'_>, watcher: &mut W) -> Result<(), Stop> {
        worker.run(&self.program.setup, watcher)?;
        worker.process.all_set_up(self.segment).map_err(|_| Stop::Aborted)?;
        worker.run(&self.program.before, watcher)?;
        watcher.in_body(true);
        let done = self.bodies(worker, watcher);
        watcher.in_body(false);
        done?;
        worker.run(&self.program.after, watcher)
    }

    fn bodies<W: Watcher>(&self, worker: &mut Worker<'_>, watcher: &mut W) -> Result<(), Stop> {
        let number = self.job.first_thread + self.row;
        let (segment, progress) = (self.segment, self.segment.progress(number));
        let asked = &self.job.workload.processes[self.job.process].threads[self.row];
        let released = segment.start(self.job.crowded).map_err(|_| Stop::Aborted)?;
        if asked.delay_ns > 0 {
            clock::wait_until(released.saturating_add_unsigned(asked.delay_ns), || !segment.is_aborted());
        }
        let began = clock::now();
        progress.began.store(began, Relaxed);
        let others = others(&self.job.workload);
        let mut rounds = 0;
        let done = loop {
            let again = match asked.repeat {
                Repeat::Times(times) => rounds < times,
                Repeat::For(ns) => clock::now() < began.saturating_add_unsigned(ns),
                Repeat::WhileOthers => segment.finished() < others,
            };
            if !again {
                break Ok(());
            }
            if segment.is_aborted() {
                break Err(Stop::Aborted);
            }
            if let Err(stop) = worker.run(&self.program.body, watcher) {
                break Err(stop);
            }
            rounds += 1;
            progress.rounds.store(rounds, Relaxed);
        };
        progress.ended.store(clock::now(), Relaxed);
        if asked.repeat != Repeat::WhileOthers {
            segment.finish();
        }
        done
    }
}

/// The number of threads that end by themselves.
fn others(workload: &workload::Workload) -> u32 {
    let threads = workload.processes.iter().flat_map(|process| &process.threads);
    threads.filter(|thread| thread.repeat != Repeat::WhileOthers).count() as u32
}
