//! The part of a Kineto file around its events.

use crate::identities::Identities;
use crate::json::{Scalar, Scanner, Stop};
use crate::source;
use trace::{Ns, Trace};

/// Top-level values other than the events.
#[derive(Default)]
pub(super) struct Header {
    /// Whether the file has a key that only Kineto writes.
    pub is_kineto: bool,
    /// Whether the file is holdup's own export for Chrome's viewer.
    pub is_export: bool,
    base: Option<Ns>,
    schema: String,
    driver: String,
    runtime: String,
    cupti: String,
    nccl: String,
    rank: Option<i64>,
    world_size: Option<i64>,
    host: String,
    devices: Vec<DeviceProperties>,
    hip: bool,
}

#[derive(Default)]
struct DeviceProperties {
    ordinal: i64,
    name: String,
    memory_bytes: i64,
    compute: [u32; 2],
    multiprocessors: u32,
}

/// The next item at the top level.
#[derive(PartialEq, Eq)]
pub(super) enum Top {
    /// The `[` of the events was taken.
    Events,
    /// The object ended.
    End,
}

impl Header {
    /// Reads from the start of the text to the events.
    pub fn scan(&mut self, scanner: &mut Scanner<'_>) -> Result<Top, Stop> {
        if scanner.take(b'[')? {
            // The bare event array, which Chrome's viewer accepts too.
            return Ok(Top::Events);
        }
        scanner.expect(b'{')?;
        self.entries(scanner, &mut true)
    }

    /// Reads the rest after the events' `]`.
    pub fn scan_rest(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        while self.entries(scanner, &mut false)? == Top::Events {
            // A second event array has no meaning: skip it.
            let mut first = true;
            while scanner.element(&mut first)? {
                scanner.skip()?;
            }
        }
        Ok(())
    }

    fn entries(&mut self, scanner: &mut Scanner<'_>, first: &mut bool) -> Result<Top, Stop> {
        while let Some(key) = scanner.key(first)? {
            match key {
                b"traceEvents" if scanner.take(b'[')? => return Ok(Top::Events),
                b"deviceProperties" if scanner.take(b'[')? => self.device_properties(scanner)?,
                b"distributedInfo" if scanner.take(b'{')? => self.distributed(scanner)?,
                _ => {
                    if let Some(value) = scanner.scalar_or_skip()? {
                        self.set(key, value);
                    }
                }
            }
        }
        Ok(Top::End)
    }

    fn set(&mut self, key: &[u8], value: Scalar<'_>) {
        match key {
            b"holdupExport" => {
                self.is_export = true;
                return;
            }
            b"schemaVersion" => self.schema = text(value),
            b"baseTimeNanoseconds" => self.base = value.integer(),
            b"cuda_driver_version" => self.driver = text(value),
            b"cuda_runtime_version" => self.runtime = text(value),
            b"cupti_version" => self.cupti = text(value),
            b"hip_driver_version" | b"hip_runtime_version" => self.hip = true,
            b"hostname" | b"host_name" => self.host = text(value),
            _ => return,
        }
        self.is_kineto = true;
    }

    /// Reads PyTorch's description of the distributed processes.
    fn distributed(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let mut first = true;
        while let Some(key) = scanner.key(&mut first)? {
            let Some(value) = scanner.scalar_or_skip()? else { continue };
            match key {
                b"nccl_version" => self.nccl = text(value),
                b"rank" => self.rank = value.integer(),
                b"world_size" => self.world_size = value.integer(),
                _ => {}
            }
        }
        Ok(())
    }

    fn device_properties(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Stop> {
        let mut first = true;
        while scanner.element(&mut first)? {
            if scanner.peek()? != b'{' {
                scanner.skip()?;
                continue;
            }
            scanner.expect(b'{')?;
            let mut device = DeviceProperties::default();
            let mut first_key = true;
            while let Some(key) = scanner.key(&mut first_key)? {
                if let Some(value) = scanner.scalar_or_skip()? {
                    device.set(key, value);
                }
            }
            self.devices.push(device);
        }
        self.is_kineto = true;
        Ok(())
    }

    /// Writes the values into the trace's meta and devices.
    pub fn apply(self, trace: &mut Trace, identities: &mut Identities) {
        let meta = &mut trace.meta;
        meta.set_source(source::KINETO);
        meta.driver = cuda_version(&self.driver);
        meta.runtime = cuda_version(&self.runtime);
        let libraries = [("CUPTI", cupti_version(&self.cupti)), ("NCCL", self.nccl)];
        let known = libraries.into_iter().filter(|(_, version)| !version.is_empty());
        meta.libraries.extend(known.map(|(name, version)| (name.to_owned(), version)));
        meta.host = self.host;
        (meta.rank, meta.world_size) = (self.rank, self.world_size);
        if !self.schema.is_empty() {
            meta.source_version = format!("schema {}", self.schema);
        }
        // Without a base, times count from the Unix epoch.
        meta.epoch_unix_ns = Some(self.base.unwrap_or(0));
        if self.hip || trace.calls.api.contains(&trace::Api::Hip) {
            meta.notes.push("a HIP trace: it does not state whether host memory was pinned".to_owned());
        }
        for properties in self.devices {
            let device = identities.device(trace, properties.ordinal).index();
            trace.devices.name[device] = trace.strings.intern(&properties.name);
            trace.devices.memory_bytes[device] = properties.memory_bytes;
            [trace.devices.compute_major[device], trace.devices.compute_minor[device]] = properties.compute;
            trace.devices.multiprocessors[device] = properties.multiprocessors;
        }
    }
}

impl DeviceProperties {
    fn set(&mut self, key: &[u8], value: Scalar<'_>) {
        let number = value.integer().unwrap_or(0);
        let small = u32::try_from(number).unwrap_or(0);
        match key {
            b"id" => self.ordinal = number,
            b"name" => self.name = text(value),
            b"totalGlobalMem" => self.memory_bytes = number,
            b"computeMajor" => self.compute[0] = small,
            b"computeMinor" => self.compute[1] = small,
            b"numSms" => self.multiprocessors = small,
            _ => {}
        }
    }
}

fn text(value: Scalar<'_>) -> String {
    match value {
        Scalar::Text(raw) => raw.unescape(&mut String::new()).to_owned(),
        Scalar::Word(word) => String::from_utf8_lossy(word).into_owned(),
    }
}

/// CUPTI's 130001 as `13.0.1`, its numbering since CUDA 13. Earlier numbers are small: 18 is that of CUDA 11.8.
fn cupti_version(number: &str) -> String {
    match number.parse::<u32>() {
        Ok(version) if version >= 10_000 => {
            format!("{}.{}.{}", version / 10_000, version % 10_000 / 100, version % 100)
        }
        _ => number.to_owned(),
    }
}

/// CUDA's 13000 as `13.0`.
fn cuda_version(number: &str) -> String {
    match number.parse::<u32>() {
        Ok(version) if version >= 1000 => format!("{}.{}", version / 1000, version % 1000 / 10),
        _ => number.to_owned(),
    }
}
