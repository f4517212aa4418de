//! Makes cases.

use case::{Case, NoCase, Wanted, show};
use explain::{Explanation, Loss, Options};
use sim::Model;
use std::path::Path;
use trace::Trace;
use workload::Workload;

/// A trace of the repository's `examples`.
pub fn example(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    import::open(&path, &mut |_| {}).expect("an example can be read")
}

/// The trace of a run on a built-in model.
pub fn traced(workload: &Workload, model: &str) -> Trace {
    let model = Model::load(model).expect("a built-in model");
    let options = sim::Options { trace: true, ..sim::Options::default() };
    sim::run(workload, &model, options).expect("it runs").1.expect("requested")
}

/// Explains a trace as the program does.
pub fn explained(trace: &Trace) -> (Explanation, Vec<Loss>) {
    let (mut explanation, mut losses) = explain::explain_each(trace, &Options::default());
    replay::rank(trace, &mut explanation, &mut losses);
    (explanation, losses)
}

/// The case of the first finding, without names.
pub fn case(trace: &Trace) -> Result<Case, NoCase> {
    Case::of(trace.clone(), &Wanted::default(), &explained, &mut |_| {})
}

/// All text that the files of a case have: the report, the workload, and the texts of the extract with its description.
pub fn texts(case: &Case) -> Vec<String> {
    // Markdown has a backslash before some characters of names.
    let mut texts = vec![show::markdown(case).replace('\\', "")];
    texts.extend(case.reproduction.as_ref().ok().map(|made| show::toml(case, made)));
    let extract = &case.extract.trace;
    texts.extend(extract.strings.iter().map(|(_, text)| text.to_owned()));
    texts.push(format!("{:?}", extract.meta));
    texts
}
