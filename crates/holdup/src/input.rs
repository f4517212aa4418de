//! Reading a trace, with a progress bar where that takes long.

use crate::failure::Failure;
use import::Progress;
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
    let mut bar = Bar::new(name.to_owned());
    Ok(import::open(path, &mut |progress| bar.update(&progress))?)
}

/// What a trace is called in headings.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { String::from("standard input") } else { path.display().to_string() }
}

/// A bar on standard error, if that is a terminal; erased when dropped.
struct Bar {
    name: String,
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Bar {
    fn new(name: String) -> Bar {
        Bar { name, started: Instant::now(), wanted: std::io::stderr().is_terminal(), bar: None }
    }

    fn update(&mut self, progress: &Progress) {
        if !self.wanted || (self.bar.is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| start(&self.name, progress.total));
        bar.set_position(progress.done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn start(name: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "reading {msg} {bar:30} {percent:>3} %  {eta} left",
        None => "reading {msg} {spinner} {elapsed}",
    };
    let style = ProgressStyle::with_template(template).expect("a valid template");
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let safe: String = name.chars().filter(|c| !c.is_control()).collect();
    bar.with_style(style).with_message(safe)
}
