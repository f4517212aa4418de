//! Which arguments of the driver's functions say what.

/// Declares the shapes.
macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Which arguments of a function say what.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Shape {
            $($(#[$doc])* $name,)*
        }

        impl Shape {
            /// All of them, each at its number.
            pub const ALL: &[Shape] = &[$(Shape::$name,)*];
        }
    };
}

shapes! {
    /// Nothing that is known.
    Other,
    /// `(dst, src, bytes[, stream])`, direction by name.
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// `(dst, src, bytes[, stream])`, direction by the addresses.
    Copy,
    /// Another copy or fill, without a stream: it runs in the default one.
    InDefault,
    /// `(dst, value, count[, stream])`, elements of 1, 2 or 4 bytes.
    Fill1,
    Fill2,
    Fill4,
    /// `(function, 3 × grid, 3 × block, shared, stream, …)`.
    Launch,
    /// `(config, …)`, which begins with 3 × grid and 3 × block, and whose stream lies at byte 32.
    LaunchConfig,
    /// `(graph, stream)` and others with the stream second.
    StreamSecond,
    /// The stream comes first.
    StreamFirst,
    /// The stream comes fifth.
    StreamFifth,
    /// The stream comes sixth.
    StreamSixth,
    /// `(event, stream)`
    EventRecord,
    /// `(stream, event, flags)`
    StreamWait,
    /// The event comes first.
    EventFirst,
    /// `(*stream, …)`: makes one.
    StreamCreate,
    /// The stream, which begins to capture, comes first.
    CaptureBegin,
    /// The stream, which ends to capture, comes first.
    CaptureEnd,
    /// Another context becomes the thread's.
    SetContext,
    /// Allocates unified memory.
    Managed,
    /// `cuInit`
    Initialize,
}

impl Shape {
    /// Whether calls of that shape issue work to a GPU, or may.
    pub fn issues(self) -> bool {
        use Shape::*;
        matches!(self, Launch | LaunchConfig | StreamSecond | StreamFifth | StreamSixth)
            || self.runs_in_default()
    }

    /// Whether calls of that shape that name no stream issue work into a default one.
    pub fn runs_in_default(self) -> bool {
        use Shape::*;
        matches!(
            self,
            HostToDevice | DeviceToHost | DeviceToDevice | Copy | InDefault | Fill1 | Fill2 | Fill4
        )
    }

    /// Of the function of that name.
    pub fn of(name: &[u8]) -> Shape {
        /// By the beginning of the name: of several that fit the first.
        const TABLE: &[(&str, Shape)] = &[
            ("cuMemcpyHtoD", Shape::HostToDevice),
            ("cuMemcpyDtoH", Shape::DeviceToHost),
            ("cuMemcpyDtoD", Shape::DeviceToDevice),
            ("cuMemcpyAsync", Shape::Copy),
            ("cuMemcpy2DAsync", Shape::StreamSecond),
            ("cuMemcpy3DAsync", Shape::StreamSecond),
            ("cuMemcpy3DPeerAsync", Shape::StreamSecond),
            ("cuMemcpyHtoAAsync", Shape::StreamFifth),
            ("cuMemcpyAtoHAsync", Shape::StreamFifth),
            ("cuMemcpyPeerAsync", Shape::StreamSixth),
            ("cuMemcpyBatch", Shape::Other),
            ("cuMemcpy3DBatch", Shape::Other),
            ("cuMemcpy", Shape::InDefault),
            ("cuMemsetD8Async", Shape::Fill1),
            ("cuMemsetD16Async", Shape::Fill2),
            ("cuMemsetD32Async", Shape::Fill4),
            ("cuMemsetD2D8Async", Shape::StreamSixth),
            ("cuMemsetD2D16Async", Shape::StreamSixth),
            ("cuMemsetD2D32Async", Shape::StreamSixth),
            ("cuMemset", Shape::InDefault),
            ("cuLaunchKernelEx", Shape::LaunchConfig),
            ("cuLaunchKernel", Shape::Launch),
            ("cuLaunchCooperativeKernelMultiDevice", Shape::Other),
            ("cuLaunchCooperativeKernel", Shape::Launch),
            ("cuLaunchHostFunc", Shape::StreamFirst),
            ("cuGraphLaunch", Shape::StreamSecond),
            ("cuEventRecord", Shape::EventRecord),
            ("cuEventSynchronize", Shape::EventFirst),
            ("cuEventQuery", Shape::EventFirst),
            ("cuStreamSynchronize", Shape::StreamFirst),
            ("cuStreamQuery", Shape::StreamFirst),
            ("cuStreamWaitEvent", Shape::StreamWait),
            ("cuStreamCreate", Shape::StreamCreate),
            ("cuGreenCtxStreamCreate", Shape::StreamCreate),
            ("cuStreamDestroy", Shape::StreamFirst),
            ("cuStreamBeginCapture", Shape::CaptureBegin),
            ("cuStreamEndCapture", Shape::CaptureEnd),
            ("cuCtxSetCurrent", Shape::SetContext),
            ("cuCtxPushCurrent", Shape::SetContext),
            ("cuCtxPopCurrent", Shape::SetContext),
            ("cuCtxCreate", Shape::SetContext),
            ("cuCtxDestroy", Shape::SetContext),
            ("cuMemAllocManaged", Shape::Managed),
            ("cuInit", Shape::Initialize),
        ];
        // cuMemcpy itself takes its direction from its addresses.
        let plain = name == b"cuMemcpy" || name == b"cuMemcpy_ptds";
        let found = TABLE.iter().find(|(start, _)| name.starts_with(start.as_bytes()));
        if plain { Shape::Copy } else { found.map_or(Shape::Other, |(_, shape)| *shape) }
    }
}
