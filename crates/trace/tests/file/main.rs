//! The `.holdup` file: what goes in comes out, and what others made of it is read or refused.

mod foreign;
mod roundtrip;
mod support;
