//! Rows of a process's and of a workload's lists.

use serde::{Deserialize, Serialize};

/// Lets a row index lists with a value per row.
macro_rules! indexes {
    ($name:ident, $list:ty) => {
        impl<T> std::ops::Index<$name> for $list {
            type Output = T;

            fn index(&self, row: $name) -> &T {
                &self[row.index()]
            }
        }

        impl<T> std::ops::IndexMut<$name> for $list {
            fn index_mut(&mut self, row: $name) -> &mut T {
                &mut self[row.index()]
            }
        }
    };
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The row.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        indexes!($name, [T]);
        indexes!($name, Vec<T>);
    )*};
}

ids! {
    /// A row of [`Process::contexts`](super::Process::contexts).
    ContextId
    /// A row of [`Process::streams`](super::Process::streams).
    StreamId
    /// A row of [`Process::events`](super::Process::events).
    EventId
    /// A row of [`Process::buffers`](super::Process::buffers).
    BufferId
    /// A row of [`Process::graphs`](super::Process::graphs).
    GraphId
    /// A row of [`Workload::barriers`](super::Workload::barriers).
    BarrierId
}
