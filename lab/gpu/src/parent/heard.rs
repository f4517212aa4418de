//! What a process of a workload said.

use crate::wire::{Arrival, Message, Record, Report};
use crate::{Device, Error};

/// What was heard of a process.
#[derive(Default)]
pub struct Heard {
    pub pid: u32,
    pub report: Option<Report>,
    /// Pieces of threads' calls.
    pub calls: Vec<(usize, Vec<Record>)>,
    pub devices: Option<(Vec<Device>, i32)>,
    pub trouble: Option<Error>,
}

impl Heard {
    pub fn of(pid: u32) -> Heard {
        Heard { pid, ..Heard::default() }
    }

    pub fn hear(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Calls(thread, calls) => self.calls.push((thread, calls)),
            Arrival::Message(Message::Done(report)) => self.report = Some(*report),
            Arrival::Message(Message::Failed(error)) => self.trouble = Some(error),
            Arrival::Message(Message::Devices(devices, cuda)) => self.devices = Some((devices, cuda)),
        }
    }

    /// Whether it said all that it had to.
    pub fn said_all(&self) -> bool {
        self.report.is_some() || self.devices.is_some() || self.trouble.is_some()
    }
}
