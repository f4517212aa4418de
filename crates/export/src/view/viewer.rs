//! The format of a viewer: a [`View`] gets groups, lanes with their slices, and counters, and writes them.

use super::about::About;
use super::event::{Detail, Flow, Slice};
use super::names::Names;
use super::samples::Samples;
use super::who::{Group, Track};
use std::io;
use trace::Ns;

/// A row of a viewer, on which slices nest.
pub(super) struct Lane<'a> {
    pub group: &'a Group,
    /// The group's number, from 0.
    pub group_at: usize,
    pub track: &'a Track,
    /// The track's position among all tracks.
    pub rank: usize,
    /// The lane's number in its track, from 0; slices that do not nest on the first lane are on others.
    pub number: usize,
    /// The track's number; an invented one for further lanes.
    pub tid: i64,
}

/// A counter of a group.
pub(super) struct Counter<'a> {
    pub group: &'a Group,
    /// The group's number, from 0.
    pub group_at: usize,
    pub name: String,
    /// Its position among the group's tracks.
    pub rank: usize,
    pub points: Points,
}

/// A counter's values, each valid from its time on.
pub(super) struct Points {
    pub unit: &'static str,
    /// Whether the values are whole numbers.
    pub whole: bool,
    pub values: Vec<(Ns, f64)>,
}

/// A format for viewers.
pub(super) trait View {
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
