//! Exports for viewers: a [`View`] gets groups, tracks, events and counters, and writes one format.

mod about;
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
mod waits;
mod who;

pub(crate) use names::{Names, place_text};

use crate::{Export, Meter, Progress};
use about::About;
use counters::Points;
use event::{Detail, Flow, Slice};
use samples::Samples;
use std::io::{self, BufWriter, Write};
use timeline::Timeline;
use trace::{CopyKind, DeviceId, Ns};
use who::{Group, Track, What, Who};

/// A row of a viewer, on which slices nest.
struct Lane<'a> {
    group: &'a Group,
    /// The group's number, from 0.
    group_at: usize,
    track: &'a Track,
    /// The track's position among all tracks.
    rank: usize,
    /// The lane's number in its track, from 0; slices that do not nest on the first lane are on others.
    number: usize,
    /// The track's number; an invented one for further lanes.
    tid: i64,
}

/// A counter of a group.
struct Counter<'a> {
    group: &'a Group,
    /// The group's number, from 0.
    group_at: usize,
    name: String,
    /// Its position among the group's tracks.
    rank: usize,
    points: Points,
}

/// A format for viewers.
trait View {
    /// Writes the trace's description and losses; called first.
    fn about(&mut self, about: &About) -> io::Result<()>;
    /// Writes a process or a device; called for all of them before any lane.
    fn group(&mut self, at: usize, group: &Group) -> io::Result<()>;
    /// Begins the lane of the slices that follow.
    fn lane(&mut self, lane: &Lane<'_>) -> io::Result<()>;
    /// Writes a slice of the current lane; it lies within the open slices.
    fn slice(&mut self, slice: &Slice, detail: &Detail<'_>, names: &Names<'_>) -> io::Result<()>;
    /// Ends the innermost open slice; `late` are the flows that end there but began after the slice.
    fn end(&mut self, at: Ns, late: &[Flow]) -> io::Result<()>;
    /// Writes a counter; called after all lanes.
    fn counter(&mut self, counter: &Counter<'_>) -> io::Result<()>;
    /// Writes the places where threads were; called last.
    fn samples(&mut self, samples: &Samples<'_>, names: &Names<'_>) -> io::Result<()>;
    /// Ends the output.
    fn finish(&mut self) -> io::Result<()>;
}

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
        let What::Stream(stream) = track.what else { continue };
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
            What::Stream(stream) if trace.device_of_stream(stream).is_none() => Some(track.group),
            _ => None,
        }),
    }
}

/// The time that viewers show for the trace's 0, ns: viewers accept no negative times.
fn shift(trace: &trace::Trace) -> Ns {
    let (first, _) = trace.span().unwrap_or_default();
    -first.min(0)
}
