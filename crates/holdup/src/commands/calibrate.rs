//! `holdup lab calibrate`

use crate::args::LabCalibrate;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::output;
use crate::progress::Bar;
use crate::readers::Readers;
use crate::save::Target;
use calibrate::{Bench, Calibrated, Facts, Ran, Simulated};
use experiments::Runner;
use report::units;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use workload::Workload;

/// Measures a machine and writes a model of it.
pub fn run(arguments: &LabCalibrate) -> Result<ExitCode, Failure> {
    let path = &arguments.output;
    let target = Target::new(path, arguments.force, Readers::ALL)?;
    let runner = Runner::named(arguments.on.as_deref()).map_err(Failure::Message)?;
    let bench = Interruptible(bench(runner)?);
    interrupt::listen();
    let mut bar = Bar::new("measuring");
    let calibrated = calibrate::calibrate(&bench, &name(path), arguments.rounds, &mut |progress| {
        bar.update(progress.what, progress.done, Some(progress.total));
    });
    drop(bar);
    let calibrated = calibrated.map_err(|error| Failure::Message(format!("lab calibrate: {error}")))?;
    target.write_text(&calibrated.text())?;
    output::print(&summary(path, &calibrated))?;
    Ok(ExitCode::SUCCESS)
}

/// The name of the model in a file: the file's, without its extension.
fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn bench(runner: Runner) -> Result<Box<dyn Bench>, Failure> {
    match runner {
        #[cfg(target_os = "linux")]
        Runner::Gpu(machine) => match calibrate::Gpu::new(&machine) {
            Some(gpu) => Ok(Box::new(gpu)),
            None => Err(Failure::Message(String::from("no GPU is visible: check CUDA_VISIBLE_DEVICES"))),
        },
        Runner::Sim(model) => Ok(Box::new(Simulated::new(model.as_ref().clone()))),
    }
}

/// A bench that runs nothing more after a signal. A run on a GPU ends with the signal.
struct Interruptible(Box<dyn Bench>);

impl Bench for Interruptible {
    fn facts(&self) -> &Facts {
        self.0.facts()
    }

    fn run(&self, workload: &Workload) -> Result<Ran, String> {
        match INTERRUPTED.load(Ordering::Relaxed) {
            true => Err(String::from("interrupted")),
            false => self.0.run(workload),
        }
    }
}

/// `mine.toml: a model of NVIDIA H200: 110 values measured, 60 assumed from h200`
fn summary(path: &Path, calibrated: &Calibrated) -> String {
    let measured = calibrated.origins.values().filter(|origin| origin.starts_with("measured"));
    let measured = units::counted(measured.count() as u64, "value", "values");
    let (title, base) = (&calibrated.model.device.title, &calibrated.base);
    let path = path.display();
    format!("{path}: a model of {title}: {measured} measured, the others assumed from {base}\n")
}
