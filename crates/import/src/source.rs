//! Tools whose traces holdup reads.

use trace::Source;

/// Databases of nvprof and the Visual Profiler.
pub(crate) const NVPROF: Source = Source { id: "nvprof", title: "nvprof" };

/// Exports of Nsight Systems.
pub(crate) const NSYS: Source = Source { id: "nsys", title: "Nsight Systems" };

/// Traces of PyTorch's profiler and other users of Kineto.
pub(crate) const KINETO: Source = Source { id: "kineto", title: "Kineto" };

/// Every tool, in the order in which an input is checked for its format.
pub(crate) const ALL: [Source; 4] = [Source::HOLDUP, NVPROF, NSYS, KINETO];
