//! The messages of a process of a workload.

use crate::wire::{Arrival, Message, Record, Report};
use crate::{Device, Error};

/// The messages of a process so far.
#[derive(Default)]
pub struct Messages {
    pub pid: u32,
    pub report: Option<Report>,
    /// Parts of the lists of threads' calls.
    pub calls: Vec<(usize, Vec<Record>)>,
    pub devices: Option<(Vec<Device>, i32)>,
    pub trouble: Option<Error>,
}

impl Messages {
    pub fn of(pid: u32) -> Messages {
        Messages { pid, ..Messages::default() }
    }

    pub fn hear(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Calls(thread, calls) => self.calls.push((thread, calls)),
            Arrival::Message(Message::Done(report)) => self.report = Some(*report),
            Arrival::Message(Message::Failed(error)) => self.trouble = Some(error),
            Arrival::Message(Message::Devices(devices, cuda)) => self.devices = Some((devices, cuda)),
        }
    }

    /// Whether it has sent everything.
    pub fn said_all(&self) -> bool {
        self.report.is_some() || self.devices.is_some() || self.trouble.is_some()
    }
}
