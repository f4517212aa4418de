//! A function of the driver or the runtime, as the user of this crate describes it.

/// A function as [`Hooks::number`](crate::Hooks::number) gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// Its number.
    pub number: u32,
    /// Any fact about it, which its calls come with.
    pub shape: u32,
    /// Whether it launches a kernel.
    pub launch: Launch,
    /// Whether it waits for the GPU: [`Hooks::synchronizes`](crate::Hooks::synchronizes) is called before each of its calls.
    pub synchronizes: bool,
}

/// Whether a function launches a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Launch {
    /// It does not.
    #[default]
    No,
    /// It does, with the arguments of `cuLaunchKernel`. Most calls are of this kind: they have a way of
    /// their own ([`Launches`](crate::Launches)).
    Plain,
    /// It does, with other arguments.
    Other,
}
