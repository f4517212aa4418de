//! The adversaries, by what they have to do with.

mod children;
mod ends;
mod loader;
mod preloads;
mod signals;

use crate::adversary::Adversary;

/// A part of the list.
pub struct Group {
    pub title: &'static str,
    pub adversaries: &'static [Adversary],
}

pub const GROUPS: &[Group] = &[
    Group { title: "The loader", adversaries: loader::ALL },
    Group { title: "Children", adversaries: children::ALL },
    Group { title: "Ends", adversaries: ends::ALL },
    Group { title: "Allocators, tools and sanitizers", adversaries: preloads::ALL },
    Group { title: "Signals and stacks", adversaries: signals::ALL },
];

/// All of them, in order.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    GROUPS.iter().flat_map(|group| group.adversaries)
}
