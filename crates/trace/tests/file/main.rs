//! The `.holdup` file: reading returns what was written; files of other writers are read or refused.

mod foreign;
mod roundtrip;
mod support;
