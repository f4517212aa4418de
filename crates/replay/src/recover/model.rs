//! The model that a trace is replayed on: that of the recorded device where there is one, with the trace's own figures.

use sim::{Model, Rule};
use trace::Trace;

/// The chosen model, or else the built-in one whose device is closest to the trace's.
///
/// # Errors
/// A built-in model is broken.
pub(crate) fn model(trace: &Trace, chosen: Option<&Model>) -> Result<Model, sim::Error> {
    let device = trace.devices.ids().next().map(|device| trace.devices.row(device));
    let compute = device.as_ref().map_or((9, 0), |device| (device.compute_major, device.compute_minor));
    let mut model = match chosen {
        Some(model) => model.clone(),
        None => Model::nearest(compute, device.as_ref().map_or("", |device| trace.text(device.name)))?,
    };
    model.device.count = trace.devices.len().max(1) as u32;
    if let Some(device) = device {
        let known = |value: u32, model: u32| if value > 0 { value } else { model };
        model.device.multiprocessors = known(device.multiprocessors, model.device.multiprocessors);
        model.device.copy_engines = known(device.copy_engines, model.device.copy_engines).min(2);
    }
    // The recorded times have these.
    model.calls.context_create = Rule::default();
    model.device.notice_ns = 0;
    model.host.processors = 0;
    Ok(model)
}
