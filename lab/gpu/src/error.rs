//! Why a Workload did not run: where, what, and what to do. One line each.

use crate::version::version;
use serde::{Deserialize, Serialize};
use std::io;

/// Reason why a Workload did not run, or the devices were not asked. Travels from the process it happened in.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// The driver's library cannot be loaded.
    #[error(
        "{library}: CUDA driver not found: {reason}: install NVIDIA's driver, or start the container with its GPUs"
    )]
    NoDriver {
        /// The library that was looked for.
        library: String,
        /// Message of the loader.
        reason: String,
    },
    /// The driver is older than what is needed.
    #[error("{what} needs a driver for CUDA {} or later, this one is for CUDA {}: update NVIDIA's driver", version(*.needed), version(*.found))]
    DriverTooOld {
        /// Name of the function or program that needs more.
        what: String,
        /// In `cuDriverGetVersion`'s numbers: 11020 is 11.2.
        needed: i32,
        /// Likewise.
        found: i32,
    },
    /// The driver's library lacks a function that every driver has.
    #[error(
        "{library}: it has no {function}, so it is not NVIDIA's driver or is damaged: install the driver again"
    )]
    NoFunction {
        /// The library.
        library: String,
        /// The function.
        function: String,
    },
    /// A device that the workload names is not there.
    #[error("{place}: no device {device}, only {count}: check CUDA_VISIBLE_DEVICES, or use another device")]
    NoSuchDevice {
        /// Place that names it.
        place: Place,
        /// Its ordinal.
        device: u32,
        /// How many devices there are.
        count: i32,
    },
    /// A call into the driver failed.
    #[error("{0}")]
    Call(Box<Failure>),
    /// The workload is not one that can be run anywhere.
    #[error("{0}")]
    Workload(String),
    /// The workload asks for what cannot be here.
    #[error("{place}: {problem}")]
    Impossible {
        /// Where it asks.
        place: Place,
        /// The problem, and what to do.
        problem: String,
    },
    /// A process of the workload ended before it said what it measured.
    #[error("process \"{process}\" {how}, its measurements are lost{advice}")]
    Died {
        /// Its name.
        process: String,
        /// How it ended.
        how: String,
        /// Advice, behind a semicolon.
        advice: String,
    },
    /// The operating system refused something.
    #[error("{what}: {reason}")]
    System {
        /// Action that was tried.
        what: String,
        /// Message of the operating system.
        reason: String,
    },
    /// A signal arrived before any measurement.
    #[error("{how} while {what}")]
    Interrupted {
        /// How it was ended.
        how: String,
        /// Activity that was interrupted.
        what: String,
    },
    /// cuBLAS cannot be loaded.
    #[error("cuBLAS: {problem}")]
    NoBlas {
        /// The problem, and what to do.
        problem: String,
    },
    /// There is no MPS server to be had.
    #[error("MPS: {problem}")]
    Mps {
        /// The problem, and what to do.
        problem: String,
    },
}

impl Error {
    /// Error for an action that the operating system refused.
    pub(crate) fn system(what: impl Into<String>, error: &io::Error) -> Error {
        Error::System { what: what.into(), reason: said(error) }
    }
}

/// Where in a Workload something happened.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// The process's name.
    pub process: String,
    /// The thread's name; empty for what belongs to the process.
    pub thread: String,
    /// The step, as in `step 3.1 of body`; empty for what is no step.
    pub step: String,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process \"{}\"", self.process)?;
        if !self.thread.is_empty() {
            write!(f, ", thread \"{}\"", self.thread)?;
        }
        if !self.step.is_empty() {
            write!(f, ", {}", self.step)?;
        }
        Ok(())
    }
}

/// A call into the driver that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The function, as in `cuMemAlloc`.
    pub function: String,
    /// A `CUresult`.
    pub code: i32,
    /// The driver's name of it, as in `CUDA_ERROR_OUT_OF_MEMORY`; empty when it has none.
    pub name: String,
    /// Where; `None` outside of a Workload.
    pub place: Option<Place>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        let name = if self.name.is_empty() { "an unknown error" } else { &self.name };
        write!(f, "{} fails with {name} ({})", self.function, self.code)?;
        match advice(self.code) {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

/// Advice for a `CUresult`, by cuda.h's list of them.
fn advice(code: i32) -> &'static str {
    match code {
        1 | 201 | 400 | 709 => "the workload or holdup is wrong: please report it",
        2 => "make the buffers smaller, or end other programs that use the GPU's memory (nvidia-smi)",
        3 | 4 => "the driver is shutting down: run again",
        34 => "the library is a stub of the toolkit: put the driver's own before it in LD_LIBRARY_PATH",
        35 | 222 => "the driver is too old for the kernels: update it",
        46 => {
            "another process uses the GPU exclusively: end it, or set the compute mode to default (nvidia-smi -c 0)"
        }
        100 => "no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES",
        101 => "no such GPU is visible: check CUDA_VISIBLE_DEVICES",
        218 => "the driver does not accept holdup's kernels: update it",
        700 | 714..=719 => {
            "the kernel broke the context, and its process cannot continue: check the sizes of the buffers"
        }
        702 => "the display's watchdog ended the kernel: make it shorter, or use a GPU without a display",
        74 | 214 | 226 => {
            "the GPU found errors in its memory or links: look for Xid in `dmesg`, and reset or replace it"
        }
        802 => "the GPU is still starting up (fabric manager): try again in a minute",
        803 => {
            "the library and the kernel module are of different drivers: restart, or load the right module"
        }
        804 => {
            "the driver is too old for this library: remove the compatibility library, or update the driver"
        }
        805..=809 => "the MPS server does not answer: check its log; `holdup doctor` finds its daemon",
        900..=909 => "the call cannot be captured into a graph",
        999 => "the GPU may be lost: check nvidia-smi, and `dmesg` for Xid",
        _ => "",
    }
}

/// Message of the operating system, without its number.
pub(crate) fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
