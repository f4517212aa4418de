//! Reading a trace, with a progress bar where that takes long.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};
use trace::Trace;

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads a trace of any format.
pub fn read(path: &Path) -> Result<Trace, Failure> {
    read_as(path, &name(path))
}

/// Reads a trace that a person knows by that name.
pub fn read_as(path: &Path, name: &str) -> Result<Trace, Failure> {
    let mut bar = Bar::new("reading", name.to_owned());
    Ok(import::open(path, &mut |progress| bar.update(progress.done, progress.total))?)
}

/// What a trace is called in headings.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { String::from("standard input") } else { path.display().to_string() }
}

/// A bar on standard error, if that is a terminal; erased when dropped.
pub struct Bar {
    verb: &'static str,
    name: String,
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for what is done with something of that name: `reading` or `writing`.
    pub fn new(verb: &'static str, name: String) -> Bar {
        Bar { verb, name, started: Instant::now(), wanted: std::io::stderr().is_terminal(), bar: None }
    }

    /// So much is done, of so much where that is known.
    pub fn update(&mut self, done: u64, total: Option<u64>) {
        if !self.wanted || (self.bar.is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| start(self.verb, &self.name, total));
        bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn start(verb: &str, name: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix} {msg} {bar:30} {percent:>3} %  {eta} left",
        None => "{prefix} {msg} {spinner} {elapsed}",
    };
    let style = ProgressStyle::with_template(template).expect("a valid template");
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let safe: String = name.chars().filter(|c| !c.is_control()).collect();
    bar.with_style(style).with_prefix(verb.to_owned()).with_message(safe)
}
