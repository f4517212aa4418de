//! Devices and their properties: what each can overlap.

use crate::session::Runner;
use report::document::{Document, Fit, Form, Paragraph};
use report::{Page, units};
use serde_json::{Map, Value, json};

/// One device, or several with the same properties.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Marketing name.
    pub name: String,
    /// Ordinals, each with the device's PCI address and UUID.
    pub ordinals: Vec<(u32, String)>,
    /// Its properties.
    pub facts: Vec<Fact>,
}

/// A property.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name in JSON, as in `copy_engines`; empty if another fact has the value.
    pub key: &'static str,
    /// Its name in text.
    pub name: &'static str,
    /// In words.
    pub text: String,
    /// As data.
    pub value: Value,
}

/// A machine, or a model of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The properties that all devices share.
    pub facts: Vec<Fact>,
    /// The devices.
    pub sheets: Vec<Sheet>,
}

fn fact(key: &'static str, name: &'static str, text: String, value: impl Into<Value>) -> Fact {
    Fact { key, name, text, value: value.into() }
}

fn flag(key: &'static str, name: &'static str, yes: bool) -> Fact {
    fact(key, name, String::from(if yes { "yes" } else { "no" }), yes)
}

/// MPS on a model, and the client contexts that its server accepts on a device.
fn mps(clients: u32) -> [Fact; 2] {
    let most = if clients > 0 { format!("{clients} contexts on a device") } else { String::from("none") };
    [flag("mps", "MPS", clients > 0), fact("mps_clients", "MPS clients", most, clients)]
}

/// The lines of `pgaccelinfo` about overlap.
fn overlap(copies: bool, engines: u32, kernels: bool) -> [Fact; 3] {
    let yes = |is: bool| String::from(if is { "Yes" } else { "No" });
    [
        fact("device_overlap", "Concurrent Copy and Execution", yes(copies), copies),
        fact("", "Number of copy engines", engines.to_string(), Value::Null),
        fact("concurrent_kernels", "Concurrent Kernels", yes(kernels), kernels),
    ]
}

fn copy_engines(count: u32) -> Fact {
    let text = match count {
        0 => String::from("0: copies and kernels wait for each other"),
        1 => String::from("1: copies to the device and copies to the host wait for each other"),
        more => format!("{more}: copies to the device and copies to the host overlap"),
    };
    fact("copy_engines", "copy engines", text, count)
}

/// Bytes per second: to the device, to the host, and both at the same time if known.
fn rates(key: &'static str, name: &'static str, to_device: u64, to_host: u64, both: Option<u64>) -> Fact {
    let gb = |bytes: u64| units::throughput(bytes as i64, 1_000_000_000);
    let together = both.map(|both| format!(", {} in both directions at once", gb(both))).unwrap_or_default();
    let text = format!("{} to the device, {} to the host{together}", gb(to_device), gb(to_host));
    let value = json!({"to_device": to_device, "to_host": to_host, "both": both});
    fact(key, name, text, value)
}

impl Runner {
    /// The devices; with `measure`, GPUs' rates of copies are measured.
    ///
    /// # Errors
    /// One line that says why something could not be measured.
    pub fn machine(&self, measure: bool) -> Result<Machine, String> {
        match self {
            #[cfg(target_os = "linux")]
            Runner::Gpu(machine) => of_gpus(machine, measure),
            Runner::Sim(model) => Ok(of_model(model)),
        }
    }
}

#[cfg(target_os = "linux")]
fn of_gpus(machine: &gpu::Machine, measure: bool) -> Result<Machine, String> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for device in &machine.devices {
        let mut facts = facts(device);
        if measure {
            let options = gpu::Options::default();
            let measured = gpu::rates(device.ordinal, &options).map_err(|error| error.to_string())?;
            for (key, name, speeds) in [
                ("pinned_bytes_per_s", "pinned copies", measured.pinned),
                ("pageable_bytes_per_s", "pageable copies", measured.pageable),
            ] {
                facts.push(rates(key, name, speeds.to_device, speeds.to_host, Some(speeds.both)));
            }
        }
        let ordinal = (device.ordinal, format!("{} {}", device.pci, device.uuid));
        match sheets.iter_mut().find(|sheet| sheet.name == device.name && sheet.facts == facts) {
            Some(sheet) => sheet.ordinals.push(ordinal),
            None => sheets.push(Sheet { name: device.name.clone(), ordinals: vec![ordinal], facts }),
        }
    }
    let mps = machine.mps.as_ref().map(|path| path.display().to_string());
    let connections = format!(
        "{}: with more streams, a process's streams share hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at most 32)",
        machine.connections
    );
    let facts = vec![
        fact("driver", "driver", machine.driver.clone(), machine.driver.clone()),
        fact("connections", "connections", connections, machine.connections),
        fact("mps", "MPS", mps.clone().unwrap_or(String::from("no MPS daemon runs here")), mps),
    ];
    Ok(Machine { facts, sheets })
}

#[cfg(target_os = "linux")]
fn facts(device: &gpu::Device) -> Vec<Fact> {
    let (major, minor) = device.compute;
    let ghz = f64::from(device.clock_khz) / 1e6;
    let clock = if device.clock_khz > 0 { format!(" at up to {ghz:.2} GHz") } else { String::new() };
    let mode = match device.mode {
        gpu::Mode::Shared => "any number of processes",
        gpu::Mode::Prohibited => "no process: nvidia-smi -c 0 changes that",
        gpu::Mode::Exclusive => "one process at a time, or those of one MPS server",
    };
    let mut facts = vec![
        fact("compute", "compute capability", format!("{major}.{minor}"), format!("{major}.{minor}")),
        fact(
            "multiprocessors",
            "multiprocessors",
            format!("{}{clock}", device.multiprocessors),
            device.multiprocessors,
        ),
        fact("clock_mhz", "", String::new(), device.clock_khz / 1000),
        fact("memory_bytes", "memory", units::bytes(device.memory_bytes as i64), device.memory_bytes),
        flag("copies_beside_kernels", "copies beside kernels", device.copy_and_execution),
        copy_engines(device.copy_engines),
        flag("kernels_at_once", "kernels of several streams at once", device.concurrent_kernels),
        flag("one_address_space", "one address space with the host", device.unified_addressing),
        flag("managed_memory", "managed memory", device.managed_memory),
        flag("managed_at_once", "managed memory used by host and device at once", device.concurrent_managed),
        flag("memory_pools", "memory pools (cuMemAllocAsync)", device.memory_pools),
        flag("pageable_access", "kernels use pageable memory", device.pageable_access),
        fact("mode", "open to", mode.to_owned(), mode),
    ];
    facts.extend(overlap(device.copy_and_execution, device.copy_engines, device.concurrent_kernels));
    facts
}

fn of_model(model: &sim::Model) -> Machine {
    let device = &model.device;
    let (major, minor) = device.compute;
    let order = match device.order {
        sim::Order::Issue => "as issued, whatever the stream",
        sim::Order::Ready => "as it gets ready (Hyper-Q)",
    };
    let clock = format!("{} at {:.2} GHz", device.multiprocessors, device.clock_mhz as f64 / 1000.0);
    let pair = |to_device: u64, to_host: u64| (to_device * 1_000_000, to_host * 1_000_000);
    let (pinned, pageable) = (
        pair(model.copies.to_device.pinned_mb_s, model.copies.to_host.pinned_mb_s),
        pair(model.copies.to_device.pageable_mb_s, model.copies.to_host.pageable_mb_s),
    );
    let mut facts = vec![
        fact("compute", "compute capability", format!("{major}.{minor}"), format!("{major}.{minor}")),
        fact("multiprocessors", "multiprocessors", clock, device.multiprocessors),
        fact("clock_mhz", "", String::new(), device.clock_mhz),
        fact("memory_bytes", "memory", units::bytes(device.memory_bytes as i64), device.memory_bytes),
        copy_engines(device.copy_engines),
        fact(
            "kernels_at_once",
            "kernels of several streams at once",
            units::count(device.concurrent_kernels.into()),
            device.concurrent_kernels,
        ),
        fact("order", "engines take work", order.to_owned(), order),
        flag(
            "delayed_signals",
            "kernels issued back to back signal their ends together",
            device.delayed_signals,
        ),
        rates("pinned_bytes_per_s", "pinned copies", pinned.0, pinned.1, None),
        rates("pageable_bytes_per_s", "pageable copies", pageable.0, pageable.1, None),
    ];
    // A model has copy engines besides the engine for kernels.
    facts.extend(overlap(device.copy_engines > 0, device.copy_engines, device.concurrent_kernels > 1));
    let connections = &model.connections;
    let connected =
        format!("{}, at most {}; {} under MPS", connections.default, connections.most, connections.mps);
    let value = json!({"default": connections.default, "most": connections.most, "mps": connections.mps});
    let mut shared = vec![
        fact("model", "model", model.name.clone(), model.name.clone()),
        fact("about", "about", model.about.clone(), model.about.clone()),
    ];
    if !model.notes.is_empty() {
        shared.push(fact("notes", "limits", model.notes.join(" "), model.notes.clone()));
    }
    shared.push(fact("driver", "driver", model.driver.clone(), model.driver.clone()));
    shared.push(fact("connections", "connections", connected, value));
    shared.extend(mps(model.sharing.mps_clients));
    let ordinals = (0..device.count).map(|ordinal| (ordinal, String::new())).collect();
    Machine { facts: shared, sheets: vec![Sheet { name: device.title.clone(), ordinals, facts }] }
}

impl Machine {
    /// The devices for people.
    pub fn document(&self, page: Page) -> Document {
        let mut document = Document::new(Form::Text(page));
        document.extend(items(&self.facts));
        for sheet in &self.sheets {
            document.gap();
            document.push(Paragraph::new(sheet.title()).fit(Fit::Stay));
            let placed = sheet.ordinals.iter().filter(|(_, place)| !place.is_empty());
            let line = |(ordinal, place): &(u32, String)| format!("{ordinal}  {place}");
            document.extend(placed.map(|of| Paragraph::new(line(of)).indented(4)));
            document.extend(items(&sheet.facts));
        }
        document
    }

    /// The devices as JSON, one object each.
    pub fn json(&self) -> Value {
        let mut object = object(&self.facts);
        let devices = self.sheets.iter().flat_map(|sheet| {
            sheet.ordinals.iter().map(|(ordinal, place)| {
                let mut device = Map::new();
                device.insert(String::from("ordinal"), (*ordinal).into());
                device.insert(String::from("name"), sheet.name.as_str().into());
                if let Some((pci, uuid)) = place.split_once(' ') {
                    device.insert(String::from("pci"), pci.into());
                    device.insert(String::from("uuid"), uuid.into());
                }
                device.extend(self::object(&sheet.facts));
                Value::Object(device)
            })
        });
        let mut devices: Vec<Value> = devices.collect();
        devices.sort_by_key(|device| device.get("ordinal").and_then(Value::as_u64));
        object.insert(String::from("devices"), devices.into());
        Value::Object(object)
    }
}

impl Sheet {
    /// `0–7  8 × NVIDIA H200`
    fn title(&self) -> String {
        let numbers: Vec<u32> = self.ordinals.iter().map(|(ordinal, _)| *ordinal).collect();
        let consecutive = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
        match numbers.as_slice() {
            [one] => format!("{one}  {}", self.name),
            [first, .., last] if consecutive => format!("{first}–{last}  {} × {}", numbers.len(), self.name),
            _ => {
                let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("{}  {} × {}", list.join(", "), numbers.len(), self.name)
            }
        }
    }
}

fn object(facts: &[Fact]) -> Map<String, Value> {
    let keyed = facts.iter().filter(|fact| !fact.key.is_empty());
    keyed.map(|fact| (fact.key.to_owned(), fact.value.clone())).collect()
}

fn items(facts: &[Fact]) -> Vec<Paragraph> {
    let shown = facts.iter().filter(|fact| !fact.name.is_empty() && !fact.text.is_empty());
    let width = shown.clone().map(|fact| fact.name.len()).max().unwrap_or(0) + 2;
    shown.map(|fact| Paragraph::item(&fact.text).label(fact.name, None, width).indented(4)).collect()
}
