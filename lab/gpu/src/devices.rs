//! Properties of the devices, and of what each can overlap.

use crate::Error;
use crate::driver::{Device as Handle, Driver, attribute};
use serde::{Deserialize, Serialize};

/// A device, as the driver describes it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Device {
    /// Its ordinal.
    pub ordinal: u32,
    /// Marketing name.
    pub name: String,
    /// As in `GPU-2f6cbd4b-…`.
    pub uuid: String,
    /// Where it is on the PCI bus, as in `0000:3B:00.0`.
    pub pci: String,
    /// Compute capability, before and behind the dot.
    pub compute: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The multiprocessors' highest clock, kHz; 0 where the driver does not say.
    pub clock_khz: u32,
    /// The memory's highest clock, kHz; 0 where the driver does not say.
    pub memory_clock_khz: u32,
    /// Width of the memory's bus, bits.
    pub memory_bus_bits: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Whether it shares the host's memory.
    pub integrated: bool,
    /// Whether a copy and a kernel can run at once.
    pub copy_and_execution: bool,
    /// Copy engines: 1 is shared by both directions.
    pub copy_engines: u32,
    /// Whether several kernels can run at once.
    pub concurrent_kernels: bool,
    /// Whether host and device share one address space.
    pub unified_addressing: bool,
    /// Whether it has managed memory.
    pub managed_memory: bool,
    /// Whether host and device may use managed memory at once.
    pub concurrent_managed: bool,
    /// Whether it has memory pools (`cuMemAllocAsync`).
    pub memory_pools: bool,
    /// Whether kernels can use pageable memory as it is.
    pub pageable_access: bool,
    /// Processes that may use it.
    pub mode: Mode,
    /// Rates that copies between it and the host reach, where they were measured.
    pub rates: Option<Rates>,
}

/// Processes that may use a device (`nvidia-smi -c`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Mode {
    /// Any number of processes.
    #[default]
    Shared,
    /// No process.
    Prohibited,
    /// One process at a time, or those of one MPS server.
    Exclusive,
}

/// The rates of copies between a device and the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rates {
    /// With page-locked memory.
    pub pinned: Speeds,
    /// With pageable memory, which the driver stages.
    pub pageable: Speeds,
}

/// Bytes per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Speeds {
    /// To the device only.
    pub to_device: u64,
    /// To the host only.
    pub to_host: u64,
    /// In both directions at once, by two threads with one stream each: the sum.
    pub both: u64,
}

/// All devices that the driver sees.
pub(crate) fn all(driver: &Driver) -> Result<Vec<Device>, Error> {
    (0..driver.device_count()?).map(|ordinal| describe(driver, ordinal)).collect()
}

/// The device of that ordinal.
pub(crate) fn describe(driver: &Driver, ordinal: i32) -> Result<Device, Error> {
    let handle = driver.device(ordinal)?;
    let number = |attribute| driver.attribute(handle, attribute).unsigned_abs();
    let yes = |attribute| driver.attribute(handle, attribute) != 0;
    Ok(Device {
        ordinal: ordinal.unsigned_abs(),
        name: driver.device_name(handle)?,
        uuid: uuid(driver, handle)?,
        pci: driver.device_pci(handle)?,
        compute: (number(attribute::MAJOR), number(attribute::MINOR)),
        multiprocessors: number(attribute::MULTIPROCESSORS),
        clock_khz: number(attribute::CLOCK),
        memory_clock_khz: number(attribute::MEMORY_CLOCK),
        memory_bus_bits: number(attribute::MEMORY_BUS),
        memory_bytes: driver.device_memory(handle)?,
        integrated: yes(attribute::INTEGRATED),
        copy_and_execution: yes(attribute::OVERLAP),
        copy_engines: number(attribute::COPY_ENGINES),
        concurrent_kernels: yes(attribute::CONCURRENT_KERNELS),
        unified_addressing: yes(attribute::UNIFIED_ADDRESSING),
        managed_memory: yes(attribute::MANAGED_MEMORY),
        concurrent_managed: yes(attribute::CONCURRENT_MANAGED),
        memory_pools: yes(attribute::MEMORY_POOLS),
        pageable_access: yes(attribute::PAGEABLE_ACCESS),
        mode: match driver.attribute(handle, attribute::COMPUTE_MODE) {
            2 => Mode::Prohibited,
            1 | 3 => Mode::Exclusive,
            _ => Mode::Shared,
        },
        rates: None,
    })
}

/// As nvidia-smi writes it.
fn uuid(driver: &Driver, handle: Handle) -> Result<String, Error> {
    let mut text = String::from("GPU");
    for (at, byte) in driver.device_uuid(handle)?.iter().enumerate() {
        if matches!(at, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}
