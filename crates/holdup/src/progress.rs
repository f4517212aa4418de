//! A bar on standard error while something takes long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal; erased when dropped.
pub struct Bar {
    verb: &'static str,
    started: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for doing that.
    pub fn new(verb: &'static str) -> Bar {
        Bar { verb, started: Instant::now(), wanted: std::io::stderr().is_terminal(), bar: None }
    }

    /// Says how far it has come, with what.
    pub fn update(&mut self, what: &str, done: u64, total: Option<u64>) {
        if !self.wanted || (self.bar.is_none() && self.started.elapsed() < PATIENCE) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| start(self.verb, total));
        bar.set_position(done);
        bar.set_message(what.chars().filter(|c| !c.is_control()).collect::<String>());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn start(verb: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => format!("{verb} {{msg}} {{bar:30}} {{percent:>3}} %  {{eta}} left"),
        None => format!("{verb} {{msg}} {{spinner}} {{elapsed}}"),
    };
    let style = ProgressStyle::with_template(&template).expect("a valid template");
    ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr()).with_style(style)
}
