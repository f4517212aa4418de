//! Any text as an experiment's results, shown in every form and beside themselves, and gone on with.
#![no_main]

use experiments::{Bench, Comparison, Failure, Request, Results, Session};
use libfuzzer_sys::fuzz_target;
use report::document::Form;
use std::sync::atomic::AtomicBool;

fuzz_target!(init: fuzz::let_panics_unwind(), |text: &str| {
    let read = || Results::read(text);
    let (Ok(mut results), Ok(same), Ok(earlier)) = (read(), read(), read()) else { return };
    let comparison = Comparison::new(&results, &same);
    let page = experiments::html(&results, Some(&comparison));
    page.write(&mut std::io::sink()).expect("a sink takes all");
    let shown = experiments::document(&results, Some(&comparison), Form::Text(report::Page::default())).to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    experiments::document(&results, Some(&comparison), Form::Markdown).to_string();
    report::plot::svg(&results.plot());
    let json = experiments::json(&results, None);
    let again = Results::read(&json.to_string()).expect("own JSON");
    // The verdict may differ in digits that the rows' six have not.
    assert_eq!(experiments::json(&again, None)["rows"], json["rows"]);
    results.merge(same).expect("the same device");
    let bench = Bench { gpus: results.bench.gpus.min(8), ..results.bench };
    let session = Session::new(results.experiment, bench, &Request::default());
    if let Ok(session) = session.and_then(|session| session.resume(earlier)) {
        let mut nothing = |_: &_, _| Err(Failure::Impossible(String::from("nothing is run")));
        let _ = session.run(&mut nothing, &AtomicBool::new(false), &mut |_| {});
    }
});
