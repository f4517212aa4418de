//! Runners of workloads: this machine's GPUs, or a model.

use super::execution::{Failure, Run, Want};
#[cfg(target_os = "linux")]
use super::recording;
use crate::experiment::Bench;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use workload::{Affinity, Schedule, Workload};

/// Runner of workloads.
pub enum Runner {
    /// This machine's GPUs.
    #[cfg(target_os = "linux")]
    Gpu(gpu::Machine),
    /// A model, in virtual time.
    Sim(Arc<sim::Model>),
}

impl Runner {
    /// The runner for `gpu` or `sim:MODEL`; by default the GPUs.
    ///
    /// # Errors
    /// One line that says what is missing and what to do.
    pub fn named(on: Option<&str>) -> Result<Runner, String> {
        match on {
            None => gpus(|why| format!("{why}; or simulate a GPU with --on sim:h200 (models: {})", models())),
            Some("gpu") => gpus(|why| format!("--on gpu: {why}")),
            Some(on) => match on.strip_prefix("sim:") {
                Some(name) => simulated(name),
                None => Err(format!("--on {on}: expected gpu or sim:MODEL; models are {}", models())),
            },
        }
    }

    /// The device.
    pub fn bench(&self) -> Bench {
        match self {
            #[cfg(target_os = "linux")]
            Runner::Gpu(machine) => Bench {
                name: machine.devices.first().map(|device| device.name.clone()).unwrap_or_default(),
                gpus: machine.devices.len() as u32,
                driver: Some(machine.driver.clone()).filter(|driver| !driver.is_empty()),
                copy_engines: machine.devices.first().map(|device| device.copy_engines),
                own_queues: machine.devices.first().map(|device| device.compute >= HYPER_Q),
                joint_signals: machine
                    .devices
                    .first()
                    .map(|device| device.concurrent_kernels && device.compute < HYPER_Q),
                simulated: false,
            },
            Runner::Sim(model) => Bench {
                name: model.device.title.clone(),
                gpus: model.device.count,
                driver: Some(model.driver.clone()).filter(|driver| !driver.is_empty()),
                copy_engines: Some(model.device.copy_engines),
                own_queues: Some(model.device.order == sim::Order::Ready),
                joint_signals: Some(model.device.delayed_signals),
                simulated: true,
            },
        }
    }

    /// Runs a workload. `interrupted` stops a simulation; signals stop a run on GPUs.
    ///
    /// # Errors
    /// The reason why it did not run.
    pub fn run(&self, workload: &Workload, want: Want, interrupted: &AtomicBool) -> Result<Run, Failure> {
        workload.check().map_err(|error| Failure::Failed(error.to_string()))?;
        match self {
            #[cfg(target_os = "linux")]
            Runner::Gpu(_) => on_gpu(workload, want),
            Runner::Sim(model) => in_simulation(workload, model, want, interrupted),
        }
    }
}

/// The compute capability from which each stream has its own queue (CUDA C++ Programming Guide, Hyper-Q).
#[cfg(target_os = "linux")]
const HYPER_Q: (u32, u32) = (3, 5);

/// The names of the models.
fn models() -> String {
    sim::Model::names().collect::<Vec<_>>().join(", ")
}

fn simulated(name: &str) -> Result<Runner, String> {
    if name.is_empty() {
        return Err(format!("--on sim:: expected a model after the colon: one of {}, or a file", models()));
    }
    sim::Model::load(name)
        .map(|model| Runner::Sim(Arc::new(model)))
        .map_err(|error| format!("--on sim:{error}"))
}

/// This machine's GPUs, or the error that `absent` makes of the reason why there are none.
#[cfg(target_os = "linux")]
fn gpus(absent: impl Fn(String) -> String) -> Result<Runner, String> {
    gpu::devices(None).map(Runner::Gpu).map_err(|error| match error {
        gpu::Error::Interrupted { .. } => error.to_string(),
        error => absent(error.to_string()),
    })
}

#[cfg(not(target_os = "linux"))]
fn gpus(absent: impl Fn(String) -> String) -> Result<Runner, String> {
    Err(absent(String::from("workloads run on GPUs on Linux only")))
}

/// Runs on GPUs. For a trace, the processes are recorded as any program is; without a capture library the trace has the host's
/// calls only.
#[cfg(target_os = "linux")]
fn on_gpu(workload: &Workload, want: Want) -> Result<Run, Failure> {
    let (recording, missing) = match want.trace.then(recording::prepare) {
        Some(Err(error)) => (None, Some(error)),
        prepared => (prepared.and_then(Result::ok), None),
    };
    let options = gpu::Options {
        timed: want.timed,
        trace: missing.is_some(),
        environment: recording.as_ref().map(recording::variables).unwrap_or_default(),
        ..gpu::Options::default()
    };
    let mut run = gpu::run(workload, &options).map_err(|error| match error {
        gpu::Error::Mps { problem } => Failure::Impossible(format!("MPS: {problem}")),
        error @ gpu::Error::NoBlas { .. } => Failure::Impossible(error.to_string()),
        error @ gpu::Error::Interrupted { .. } => Failure::Stopped(error.to_string()),
        error => Failure::Failed(error.to_string()),
    })?;
    let mut notes = std::mem::take(&mut run.notes);
    notes.extend(missing.map(|error| format!("the trace has the host's calls only: {error}")));
    let trace = match recording {
        Some(recording) => Some(recording::read(recording, workload, &run).map_err(Failure::Failed)?),
        None => run.trace,
    };
    Ok(Run { outcome: run.outcome, trace, stopped: run.partial.map(|why| why.to_string()), notes })
}

/// The model with another time to hand over the lock that its GPUs share, or with one lock per GPU at 0 percent; and a note if
/// its GPUs share no lock.
fn contended(model: &Arc<sim::Model>, percent: Option<u32>) -> (Arc<sim::Model>, Vec<String>) {
    let Some(percent) = percent else { return (Arc::clone(model), Vec::new()) };
    if model.locks.mutex_of != sim::Scope::Process {
        let note =
            format!("the GPUs of the model {} share no lock: no slowdown begins at random", model.name);
        return (Arc::clone(model), vec![note]);
    }
    let mut model = model.as_ref().clone();
    match percent {
        0 => model.locks.mutex_of = sim::Scope::Context,
        percent => {
            let mutex = &mut model.locks.mutex;
            mutex.handover_ns = mutex.handover_ns.saturating_mul(percent.into()) / 100;
        }
    }
    (Arc::new(model), Vec::new())
}

/// A note on the settings of a workload that a model ignores.
fn ignored(workload: &Workload) -> Vec<String> {
    let settings = [
        ("schedule", workload.schedule != Schedule::Auto),
        ("affinity", workload.affinity != Affinity::Any),
        ("module loading", workload.loading.is_some()),
    ];
    let set: Vec<&str> = settings.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect();
    let note = || {
        format!(
            "a model has one processor per thread and loads each kernel at its first launch: it ignores {}",
            set.join(" and ")
        )
    };
    (!set.is_empty()).then(note).into_iter().collect()
}

/// Simulates in another thread. An interruption abandons the thread, because the process ends soon.
fn in_simulation(
    workload: &Workload,
    model: &Arc<sim::Model>,
    want: Want,
    interrupted: &AtomicBool,
) -> Result<Run, Failure> {
    const GLANCE: Duration = Duration::from_millis(50);
    let options = sim::Options { trace: want.trace, ..sim::Options::default() };
    let (sender, receiver) = mpsc::channel();
    let (model, mut notes) = contended(model, want.contention);
    if !model.notes.is_empty() {
        notes.push(format!("limits of the model {}: {}", model.name, model.notes.join(" ")));
    }
    notes.extend(ignored(workload));
    let own = workload.clone();
    // After an interruption nothing receives the result.
    std::thread::spawn(move || drop(sender.send(sim::run(&own, &model, options))));
    let simulated = loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(simulated) => break simulated,
            Err(mpsc::RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                let outcome = workload::Outcome { threads: Vec::new() };
                let stopped = Some(String::from("interrupted"));
                return Ok(Run { outcome, trace: None, stopped, notes: Vec::new() });
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Failure::Failed(String::from(
                    "the simulator panicked: this is a bug in holdup; please report it",
                )));
            }
        }
    };
    match simulated {
        Ok((outcome, trace)) => Ok(Run { outcome, trace, stopped: None, notes }),
        Err(
            error @ (sim::Error::NoMps { .. }
            | sim::Error::MpsClients { .. }
            | sim::Error::NoDevice { .. }
            | sim::Error::NoBlas { .. }),
        ) => Err(Failure::Impossible(error.to_string())),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}
