//! Makes up a Kineto trace of a given size, with stalls planted in it.
//!
//! [`program`] says what happens, [`layout`] how Kineto writes it down. Kineto writes all operators before
//! all calls, so the program runs twice from the same seed: memory stays constant whatever the size.

mod layout;
mod names;
mod program;

use layout::{Counts, Layout, Section};
use program::{Ns, Planted, Program, WORKERS};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Options of the trace to make up.
pub(crate) struct Options {
    /// About how many bytes.
    pub(crate) size: u64,
    /// Seed of everything in it.
    pub(crate) seed: u64,
    /// Whether Python functions are in it.
    pub(crate) stacks: bool,
    /// Whether it has only what reached CUDA, with few arguments: so many events a byte as a trace can have.
    pub(crate) dense: bool,
}

/// Summary of the written trace.
pub(crate) struct Summary {
    bytes: u64,
    duration: Ns,
    counts: Counts,
    planted: Planted,
}

/// Text is handed on in pieces of about this size.
const PIECE: usize = 1 << 20;
/// Steps to learn from how long a step's text is; two stalls lie within.
const SAMPLE: u64 = 128;

/// Writes the trace to `path`.
pub(crate) fn generate(path: &Path, options: &Options) -> io::Result<Summary> {
    let sample = write(options, SAMPLE, &mut io::sink())?;
    let steps = (options.size as f64 * SAMPLE as f64 / sample.bytes as f64).round() as u64;
    let mut file = File::create(path)?;
    write(options, steps.max(1), &mut file)
}

/// Writes a trace of so many steps.
fn write(options: &Options, steps: u64, to: &mut dyn Write) -> io::Result<Summary> {
    let kernels = if options.dense { names::short_kernels() } else { names::kernels() };
    let mut layout = Layout::new(&kernels, options.dense);
    let mut bytes = 0;
    layout.header();
    let mut program = Program::new(options.seed, kernels.len(), options.stacks);
    for section in [Section::Host, Section::Cuda] {
        program = Program::new(options.seed, kernels.len(), options.stacks);
        for _ in 0..steps {
            program.step(&mut |event| layout.event(event, section));
            if layout.text.0.len() >= PIECE {
                bytes += hand_on(&mut layout.text.0, to)?;
            }
        }
    }
    layout.footer(program.now());
    bytes += hand_on(&mut layout.text.0, to)?;
    Ok(Summary { bytes, duration: program.now(), counts: layout.counts, planted: program.planted() })
}

fn hand_on(text: &mut Vec<u8>, to: &mut dyn Write) -> io::Result<u64> {
    to.write_all(text)?;
    let written = text.len() as u64;
    text.clear();
    Ok(written)
}

/// One JSON object, so that scripts can check results against it.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let planted = &self.planted;
        let [(waiter, stream), .., (holder, _)] = WORKERS;
        writeln!(f, "{{\"bytes\": {}, \"duration_ns\": {},", self.bytes, self.duration)?;
        for (category, count) in self.counts.rows() {
            writeln!(f, " \"{category}\": {count},")?;
        }
        writeln!(f, " \"planted\": {{\"stalls\": {}, \"waited_ns\": {},", planted.count, planted.waited)?;
        writeln!(f, "  \"waited_inside_copies_ns\": {},", planted.inside_copies)?;
        writeln!(f, "  \"copying_ns\": {},", planted.copying)?;
        writeln!(f, "  \"waiter_tid\": {waiter}, \"holder_tid\": {holder}, \"stream\": {stream}}}}}")
    }
}

#[cfg(test)]
mod tests;
