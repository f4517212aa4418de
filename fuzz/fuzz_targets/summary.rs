//! Any text as summary tables of a profiler, judged and shown in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::document::Form;
use report::summary_table::{Judged, document, json};

fuzz_target!(|text: &[u8]| {
    let Ok(summaries) = summary::read(text) else { return };
    let judged = Judged::new(String::from("fuzz"), summaries);
    let shown = document(&judged, Form::Text(report::Page::default()), true).to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    document(&judged, Form::Markdown, true).to_string();
    json(&judged);
});
