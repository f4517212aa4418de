//! Exports for viewers: a [`View`] gets groups, tracks, events and counters, and writes one format.

mod about;
mod buckets;
mod callstacks;
mod chrome;
mod counters;
mod event;
mod lanes;
mod names;
mod perfetto;
mod proto;
mod samples;
mod states;
mod timeline;
mod viewer;
mod waits;
mod who;

pub(crate) use names::{Names, place_text};

use crate::{Export, Meter, Progress};
use about::About;
use samples::Samples;
use std::io::{self, BufWriter, Write};
use timeline::Timeline;
use trace::{CopyKind, DeviceId};
use viewer::{Counter, View};
use who::{Owner, Who};

/// Writes a trace in Perfetto's format: a `Trace` message of packets, one sequence of packets per track.
///
/// # Errors
/// Errors of `to`, including a closed pipe.
pub fn perfetto(export: &Export<'_>, to: impl Write, progress: &mut dyn FnMut(Progress)) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 18, to);
    draw(export, &mut perfetto::Perfetto::new(&mut to), progress)?;
    to.flush()
}

/// Writes a trace as JSON for Chrome's viewer (`chrome://tracing`); Perfetto reads it too.
///
/// # Errors
/// Errors of `to`, including a closed pipe.
pub fn chrome(export: &Export<'_>, to: impl Write, progress: &mut dyn FnMut(Progress)) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(1 << 18, to);
    draw(export, &mut chrome::Chrome::new(&mut to), progress)?;
    to.flush()
}

fn draw(export: &Export<'_>, view: &mut impl View, progress: &mut dyn FnMut(Progress)) -> io::Result<()> {
    let trace = export.trace;
    let mut who = Who::new(trace);
    let timeline = Timeline::new(*export, &who);
    let events = trace.calls.len() + trace.ops.len() + trace.ranges.len() + export.losses.len();
    let events = events + timeline.on_engines(&who) + timeline.besides();
    let mut meter = Meter::new(events, progress);
    view.about(&About::new(export))?;
    for (at, group) in who.groups.iter().enumerate() {
        view.group(at, group)?;
    }
    for track in 0..who.tracks.len() {
        timeline.draw(track, &mut who, view, &mut meter)?;
    }
    draw_counters(export, &timeline, &who, view)?;
    view.samples(&Samples::new(trace, &who), &timeline.names)?;
    view.finish()
}

/// Draws pending operations directly below their stream, then the device's copies, then the throttling of processes.
fn draw_counters(
    export: &Export<'_>,
    timeline: &Timeline<'_>,
    who: &Who,
    view: &mut impl View,
) -> io::Result<()> {
    let trace = export.trace;
    for (rank, track) in who.tracks.iter().enumerate() {
        let Owner::Stream(stream) = track.what else { continue };
        let Some(points) = counters::pending(trace, timeline, stream) else { continue };
        if points.values.is_empty() {
            continue;
        }
        let (group_at, name) = (track.group, format!("{} pending", track.name));
        view.counter(&Counter { group: &who.groups[group_at], group_at, name, rank, points })?;
    }
    for ((device, direction), points) in counters::bandwidths(trace) {
        let Some(group_at) = group_of(trace, who, device) else { continue };
        let name = match direction {
            CopyKind::Unknown => "copies".to_owned(),
            direction => format!("copies {direction}"),
        };
        let rank = who.tracks.len() + direction as usize;
        view.counter(&Counter { group: &who.groups[group_at], group_at, name, rank, points })?;
    }
    for (process, points) in counters::throttled(trace) {
        let (group_at, name) = (who.group_of_process(process), "throttled".to_owned());
        let rank = who.tracks.len();
        view.counter(&Counter { group: &who.groups[group_at], group_at, name, rank, points })?;
    }
    Ok(())
}

/// The group of a device; for an unknown device, the group of the streams without a device.
fn group_of(trace: &trace::Trace, who: &Who, device: DeviceId) -> Option<usize> {
    match device.some() {
        Some(_) => who.groups.iter().position(|group| group.device == Some(device)),
        None => who.tracks.iter().find_map(|track| match track.what {
            Owner::Stream(stream) if trace.device_of_stream(stream).is_none() => Some(track.group),
            _ => None,
        }),
    }
}
