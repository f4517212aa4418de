//! A plot's values and words, by kind of plot.

/// A plot with its titles.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Subject of the plot.
    pub title: String,
    /// Where and how it was measured.
    pub subtitle: String,
    /// The plot itself.
    pub chart: Chart,
}

/// Kinds of plots.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// A value over a number that varies.
    Lines(Lines),
    /// A value for each name.
    Bars(Bars),
    /// A value for each pair of names.
    Heat(Heat),
    /// Spans of time.
    Lanes(Lanes),
}

/// A value over a number that varies, on a logarithmic axis, because the number mostly doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Name of the number that varies.
    pub x: String,
    /// Meaning of the value, with its unit.
    pub y: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right; x is positive.
    pub points: Vec<Point>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number that varied.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The spread of its measurements to either side.
    pub spread: f64,
}

/// A value for each name, not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Meaning of the value, with its unit.
    pub value: String,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// The value in words.
    pub text: String,
    /// The spread of its measurements to either side.
    pub spread: f64,
}

/// A value for each pair of names.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Meaning of the value.
    pub value: String,
    /// The values of the lightest and of the darkest cell; positive. The scale between them is logarithmic.
    pub range: (f64, f64),
    /// Headings over neighbouring columns, each with its number of columns.
    pub groups: Vec<(String, usize)>,
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows: a name, and one cell per column; `None` if not measured.
    pub rows: Vec<(String, Vec<Option<Shade>>)>,
}

/// A cell of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    /// Its value.
    pub value: f64,
    /// The value in a few characters.
    pub text: String,
}

/// Spans of time, in panels on one scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// The panels, from the top.
    pub panels: Vec<Panel>,
}

/// The lanes of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Name of the run.
    pub name: String,
    /// A note at its right end.
    pub note: String,
    /// The lanes, from the top.
    pub lanes: Vec<Lane>,
}

/// The spans of one thread or stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// The spans, by start; they do not overlap.
    pub spans: Vec<Span>,
}

/// One thing that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Start, ns from the panel's start; not negative.
    pub start_ns: i64,
    /// End, ns from the panel's start.
    pub end_ns: i64,
    /// SpanStyle by what takes the time.
    pub look: SpanStyle,
    /// The text in it, if there is room.
    pub label: String,
    /// The text of its tooltip.
    pub text: String,
}

/// The look of a span: the kind of what takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanStyle {
    /// A call of a host thread.
    Host,
    /// A copy to a device.
    In,
    /// A kernel.
    Kernel,
    /// A copy to the host.
    Out,
    /// Any other copy, or a fill.
    Other,
}
