//! Any text as an experiment's results, shown in every form and beside themselves.
#![no_main]

use lab::{Comparison, Results};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::let_panics_unwind(), |text: &str| {
    let (Ok(mut results), Ok(same)) = (Results::read(text), Results::read(text)) else { return };
    let comparison = Comparison::new(&results, &same);
    let page = lab::html(&results, Some(&comparison));
    page.write(&mut std::io::sink()).expect("a sink takes all");
    let shown = lab::text(&results, Some(&comparison), report::Page::default());
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    lab::markdown(&results, Some(&comparison));
    report::plot::svg(&results.plot());
    let json = lab::json(&results, None);
    let again = Results::read(&json.to_string()).expect("own JSON");
    // The verdict may differ in digits that the rows' six have not.
    assert_eq!(lab::json(&again, None)["rows"], json["rows"]);
    results.merge(same).expect("the same device");
});
