//! Replays a trace.

use replay::{Fit, Recovered, recover};
use sim::Replayed;
use std::path::Path;
use trace::Trace;

/// What a trace asked for, and its replay.
pub fn replayed(trace: &Trace) -> (Recovered, Replayed) {
    let recovered = recover(trace).unwrap();
    let replayed = recovered.replay().unwrap();
    (recovered, replayed)
}

pub fn fit(trace: &Trace) -> Fit {
    let (recovered, replayed) = replayed(trace);
    Fit::of(trace, &recovered, &replayed)
}

/// Compares fits with `tests/data/FILE`: one line each, with the difference of the wall time and the greatest difference, both in
/// percent of the trace's time.
pub fn expect(file: &str, fits: &[(String, Fit)]) {
    let width = fits.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, fit) in fits {
        let (wall, error) = (100.0 * fit.wall_error, 100.0 * fit.error);
        let fits = if fit.fits { "fits" } else { "does not fit" };
        text.push_str(&format!("{name:width$} {wall:+7.2} {error:6.2}  {fits}"));
        if fit.given_up > 0 {
            text.push_str(&format!(", {} given up", fit.given_up));
        }
        text.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    expect_test::expect_file![path].assert_eq(&text);
}
