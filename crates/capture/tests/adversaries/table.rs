//! The adversaries, by what they have to do with.

mod children;
mod ends;
mod languages;
mod limits;
mod loader;
mod preloads;
mod signals;
mod threads;

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
    Group { title: "Rights and limits", adversaries: limits::ALL },
    Group { title: "Allocators, tools and sanitizers", adversaries: preloads::ALL },
    Group { title: "Threads and locks", adversaries: threads::ALL },
    Group { title: "Signals and stacks", adversaries: signals::ALL },
    Group { title: "Languages", adversaries: languages::ALL },
];

/// All of them, in order.
pub fn all() -> impl Iterator<Item = &'static Adversary> {
    GROUPS.iter().flat_map(|group| group.adversaries)
}
