//! The model that a trace is replayed on: that of the recorded device where there is one, with the trace's own figures.

use sim::{Model, Rule};
use trace::Trace;

/// The model of the device that is closest to a trace's.
///
/// # Errors
/// None of the built-in models is one.
pub(crate) fn model(trace: &Trace) -> Result<Model, sim::Error> {
    let device = trace.devices.ids().next().map(|device| trace.devices.row(device));
    let compute = device.as_ref().map_or((9, 0), |device| (device.compute_major, device.compute_minor));
    let names: Vec<&str> = Model::names().collect();
    let mut models = names.iter().map(|name| Model::load(name)).collect::<Result<Vec<Model>, _>>()?;
    // The newest that is not newer than the device; of several with the same, the first.
    let at = models.iter().rposition(|model| model.device.compute <= compute).unwrap_or(0);
    let first =
        models.iter().position(|model| model.device.compute == models[at].device.compute).unwrap_or(at);
    let mut model = models.swap_remove(first);
    model.device.count = trace.devices.len().max(1) as u32;
    if let Some(device) = device {
        let known = |value: u32, model: u32| if value > 0 { value } else { model };
        model.device.multiprocessors = known(device.multiprocessors, model.device.multiprocessors);
        model.device.copy_engines = known(device.copy_engines, model.device.copy_engines).min(2);
    }
    // The recorded times have these.
    model.calls.context_create = Rule::default();
    model.device.issue_ns = 0;
    model.device.queue_gap_ns = 0;
    model.device.notice_ns = 0;
    model.host.processors = 0;
    model.device.delayed_signals = false;
    model.sharing.mps = true;
    Ok(model)
}
