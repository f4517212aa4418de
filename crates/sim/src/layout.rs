//! Makes a [`Layout`] of a workload and a model.

use crate::plan::{ContextPlan, Layout, NONE, StreamPlan};
use crate::{Error, Model, Scope};
use workload::{Process, StreamKind, Workload};

impl Layout {
    /// The contexts and streams of a workload.
    ///
    /// # Errors
    /// The model has no such device.
    pub(crate) fn new(workload: &Workload, model: &Model) -> Result<Layout, Error> {
        let unset = if workload.mps { model.connections.mps } else { model.connections.default };
        let mut layout = Layout {
            contexts: Vec::new(),
            streams: Vec::new(),
            connections: workload.connections.unwrap_or(unset).clamp(1, model.connections.most),
            groups: vec![u32::from(workload.mps); model.device.count as usize],
        };
        for (number, process) in (0..).zip(&workload.processes) {
            layout.add_process(number, process, model, workload.mps)?;
        }
        for (row, context) in (0..).zip(&mut layout.contexts) {
            context.default_stream = layout.streams.len() as u32;
            layout.streams.push(StreamPlan { context: row, kind: StreamKind::Default });
        }
        Ok(layout)
    }

    fn add_process(&mut self, number: u32, process: &Process, model: &Model, mps: bool) -> Result<(), Error> {
        let first = self.contexts.len() as u32;
        for context in &process.contexts {
            let Some(groups) = self.groups.get_mut(context.device as usize) else {
                return Err(no_device(process, context.device, model));
            };
            let group = if mps { 0 } else { *groups };
            *groups += u32::from(!mps);
            let row = self.contexts.len() as u32;
            self.contexts.push(ContextPlan {
                process: number,
                device: context.device,
                primary: context.primary,
                group,
                default_stream: NONE,
                mutex: if model.locks.mutex_of == Scope::Process { first } else { row },
            });
        }
        let stream =
            |stream: &workload::Stream| StreamPlan { context: first + stream.context.0, kind: stream.kind };
        self.streams.extend(process.streams.iter().map(stream));
        Ok(())
    }

    /// Checks that the model's MPS server, if the workload needs one, accepts all of its contexts. A recorded program ran, so its contexts
    /// were accepted.
    ///
    /// # Errors
    /// The model has no MPS, or a server that accepts fewer contexts on a device.
    pub(crate) fn accepted(&self, workload: &Workload, model: &Model) -> Result<(), Error> {
        let most = model.sharing.mps_clients;
        if !workload.mps {
            return Ok(());
        }
        if most == 0 {
            return Err(Error::NoMps { model: model.name.clone() });
        }
        let on = |device: u32| self.contexts.iter().filter(|context| context.device == device).count() as u32;
        let clients = (0..model.device.count).map(on).max().unwrap_or_default();
        match clients > most {
            true => Err(Error::MpsClients { model: model.name.clone(), most, clients }),
            false => Ok(()),
        }
    }

    /// The row of a stream; a default stream has its context's.
    pub(crate) fn stream(&self, stream: u32) -> u32 {
        let plan = self.streams[stream as usize];
        match plan.kind {
            StreamKind::Default => self.contexts[plan.context as usize].default_stream,
            _ => stream,
        }
    }
}

fn no_device(process: &Process, device: u32, model: &Model) -> Error {
    let count = match model.device.count {
        1 => "1 device, 0".to_owned(),
        count => format!("{count} devices, 0 to {}", count - 1),
    };
    Error::NoDevice { process: process.name.clone(), device, model: model.name.clone(), count }
}
