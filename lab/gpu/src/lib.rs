//! Runs a [`workload::Workload`] on real devices, through the CUDA driver. Returns its outcome and, on request, a
//! [`trace::Trace`] of the host's calls.
//!
//! The driver, `libcuda.so.1`, is loaded at run time; neither building nor running needs the CUDA toolkit. Every process of a
//! workload is a new process of the executable itself, so a program that calls [`run`], [`devices()`] or [`rates()`] must call
//! [`child_main`] first.
//!
//! ```
//! gpu::child_main();
//! match gpu::devices(None) {
//!     Ok(machine) => println!("{} GPUs, driver {}", machine.devices.len(), machine.driver),
//!     // For example `libcuda.so.1: CUDA driver not found: …: install NVIDIA's driver, …`
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! Linux only, where CUDA has processes, signals and MPS as they are used here; empty elsewhere.
#![cfg(target_os = "linux")]

mod child;
mod clock;
mod devices;
mod driver;
mod error;
mod kernels;
mod parent;
mod rates;
mod segment;
mod version;
mod wire;

pub use child::{BLAS_VARIABLE, child_main};
pub use devices::{Device, Mode, Rates, Speeds};
pub use driver::{OLDEST as OLDEST_DRIVER, VARIABLE as LIBRARY_VARIABLE};
pub use error::{Error, Failure, Place};
pub use parent::{Options, Partial, ProcessIds, Run, run};
pub use rates::rates;
use std::path::PathBuf;
use version::driver_version;

/// This machine's devices and driver.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// Its devices, by ordinal.
    pub devices: Vec<Device>,
    /// The CUDA version of the driver, as in `cuDriverGetVersion`: 12040 is 12.4.
    pub cuda: i32,
    /// The driver's own version, followed by the CUDA version: `580.159.04 (CUDA 13.0)`.
    pub driver: String,
    /// The directory of an MPS daemon, if one runs here.
    pub mps: Option<PathBuf>,
    /// The number of hardware queues that a process's streams share: `CUDA_DEVICE_MAX_CONNECTIONS`, or its default.
    pub connections: u32,
}

/// The default of `CUDA_DEVICE_MAX_CONNECTIONS` (CUDA C++ Programming Guide); 16 streams of an H200 behave so.
const CONNECTIONS: u32 = 8;

/// Asks the driver for the devices of this machine. `executable` is as in [`Options`].
///
/// # Errors
///
/// The driver is missing, or finds no device.
pub fn devices(executable: Option<PathBuf>) -> Result<Machine, Error> {
    let (devices, cuda) = parent::describe(executable)?;
    let connections = std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok().and_then(|count| count.parse().ok());
    let connections = connections.filter(|count| (1..=32).contains(count)).unwrap_or(CONNECTIONS);
    Ok(Machine { devices, cuda, driver: driver_version(cuda), mps: parent::serving(), connections })
}
