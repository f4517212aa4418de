//! The GPUs of a program: one row for each UUID. With `CUDA_VISIBLE_DEVICES` each process has numbers of its own for them.

use super::state::{Gather, Process};
use spool::DeviceIdentity;
use trace::{Device, DeviceId};

impl Process<'_, '_> {
    /// Learns which GPU the process knows by a number.
    pub(super) fn identity(&mut self, ordinal: u32, identity: DeviceIdentity) {
        let DeviceIdentity { uuid_front, uuid_back, pci_domain, pci_place } = identity;
        let uuid = [uuid_front, uuid_back];
        if uuid == [0; 2] {
            return;
        }
        let Gather { trace, ids, devices, .. } = &mut *self.all;
        let row = match devices.rows.get(&uuid) {
            Some(row) => *row,
            None => {
                let first = ids.device(trace, ordinal.into());
                let further = Device { ordinal: ordinal.into(), ..Device::default() };
                let is_free = trace.text(trace.devices.uuid[first]).is_empty();
                let row = if is_free { first } else { trace.devices.push(further) };
                trace.devices.uuid[row] = trace.strings.intern(&text(uuid));
                devices.differ |= !is_free;
                devices.rows.insert(uuid, row);
                devices.places.insert(row, (pci_domain, pci_place));
                row
            }
        };
        devices.differ |= trace.devices.ordinal[row] != i64::from(ordinal);
        self.gpus.insert(ordinal, row);
    }

    /// The row of the GPU that the process knows by this number. One without a UUID is that of other processes with the same
    /// number.
    pub(super) fn gpu(&mut self, ordinal: u32) -> DeviceId {
        let all = &mut *self.all;
        match self.gpus.get(&ordinal) {
            Some(row) => *row,
            None => all.ids.device(&mut all.trace, ordinal.into()),
        }
    }
}

impl Gather<'_> {
    /// Gives each GPU a number of its own: the first process's, unless two GPUs would have the same.
    pub(super) fn number_gpus(&mut self) {
        if !self.devices.differ {
            return;
        }
        let devices = &mut self.trace.devices;
        let mut numbers = devices.ordinal.clone();
        numbers.sort_unstable();
        let how = match numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            false => "have the numbers of the process that began first",
            true => {
                let mut rows: Vec<DeviceId> = devices.ids().collect();
                // Those whose place is unknown have no UUID either, and come last; instances of MIG share a place.
                let places = &self.devices.places;
                rows.sort_by_key(|row| (places.get(row).copied().unwrap_or((u32::MAX, u32::MAX)), *row));
                (0..).zip(rows).for_each(|(number, row)| devices.ordinal[row] = number);
                "are numbered in the order of their PCI addresses"
            }
        };
        let why = "The processes number the GPUs differently, as with CUDA_VISIBLE_DEVICES";
        self.note(format!("{why}: GPUs are told apart by UUID, and {how}."));
    }
}

/// `b2ab2dd5-2e6a-4b4b-8c5b-5a4d6e1f0a3c`
fn text([front, back]: [u64; 2]) -> String {
    let hex: String =
        [front, back].iter().flat_map(|half| half.to_ne_bytes()).map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
