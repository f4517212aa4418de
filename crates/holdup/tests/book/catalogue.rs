//! The pages of causes and fixes, made of what the program knows of them, with a trace that shows each.

use crate::shown::{CAUSES, FIXES, OVERLAP, Part, Shown, part};
use crate::stage::Stage;
use explain::{About, Cause, Evidence, Fix, Form, Framework, OverlapRule};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A page and its text.
pub struct Made {
    /// Its path from the root.
    pub name: String,
    /// Contents of the page.
    pub text: String,
}

/// A page for each cause and each fix, and one for each of the two lists.
pub fn all() -> Vec<Made> {
    let mut printed = Printed { stage: Stage::new(), known: BTreeMap::new() };
    let mut pages = vec![list_of_causes(), list_of_fixes(), overlap(&mut printed)];
    pages.extend(Cause::ALL.iter().map(|cause| of_cause(*cause, &mut printed)));
    pages.extend(fixes().iter().map(|fix| of_fix(fix, &mut printed)));
    pages
}

/// Outputs of command lines: several pages show one trace.
struct Printed {
    stage: Stage,
    known: BTreeMap<&'static str, String>,
}

impl Printed {
    fn of(&mut self, line: &'static str) -> String {
        let stage = &self.stage;
        let run = || {
            let done = stage.run(line);
            assert!(done.success, "`{line}` fails: {}", done.errors);
            done.output
        };
        self.known.entry(line).or_insert_with(run).clone()
    }

    /// The output of a look at a program that is recorded once more.
    fn again(&self, shown: &Shown) -> String {
        let make = shown.make.replacen("holdup record", "holdup record --force", 1);
        let done = self.stage.run(&make);
        assert!(done.success, "`{make}` fails: {}", done.errors);
        self.stage.run(shown.look).output
    }
}

/// A fix with all that is offered under its name.
struct Offered {
    id: &'static str,
    /// The forms of the advice: text, and when it is safe.
    texts: Vec<(&'static str, &'static str)>,
    causes: Vec<Cause>,
    forms: Vec<&'static Form>,
}

/// Every fix, in the order in which causes offer them.
fn fixes() -> Vec<Offered> {
    let mut all: Vec<Offered> = Vec::new();
    for cause in Cause::ALL {
        for fix in About::of(*cause).fixes {
            let at = all.iter().position(|known| known.id == fix.id).unwrap_or_else(|| {
                all.push(Offered { id: fix.id, texts: vec![], causes: vec![], forms: vec![] });
                all.len() - 1
            });
            all[at].add(*cause, fix);
        }
    }
    all
}

impl Offered {
    fn add(&mut self, cause: Cause, fix: &'static Fix) {
        push(&mut self.texts, (fix.text, fix.safety));
        push(&mut self.causes, cause);
        for form in fix.forms {
            if !self.forms.iter().any(|known| known.file == form.file) {
                self.forms.push(form);
            }
        }
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) {
        list.push(one);
    }
}

fn list_of_causes() -> Made {
    let mut text = String::from(
        "# Causes\n\nWhat a thread, a stream or a GPU waits for. `holdup causes NAME` prints the same in a terminal. Each name appears in \
         every output and stays what it is.\n\n| cause | meaning | evidence | fixes |\n|---|---|---|---|\n",
    );
    for cause in Cause::ALL {
        let about = About::of(*cause);
        let kinds: Vec<_> = about.evidence.iter().map(|kind| kind.id()).collect();
        let links =
            names(about.fixes).iter().map(|id| format!("[`{id}`](fixes/{id}.md)")).collect::<Vec<_>>();
        let (id, meaning) = (cause.id(), about.meaning);
        writeln!(
            text,
            "| [`{id}`](causes/{id}.md) | {meaning} | {} | {} |",
            kinds.join(", "),
            links.join(", ")
        )
        .expect("a string");
    }
    text.push_str("\n[What prevents overlap](causes/overlap.md) has names of its own.\n");
    Made { name: "docs/causes.md".to_owned(), text }
}

/// The names of fixes, each once.
fn names(fixes: &[Fix]) -> Vec<&'static str> {
    let mut names = Vec::new();
    fixes.iter().for_each(|fix| push(&mut names, fix.id));
    names
}

fn of_cause(cause: Cause, printed: &mut Printed) -> Made {
    let about = About::of(cause);
    let mut text = format!("# {}\n\n{}\n\n", cause.id(), sentence(about.meaning));
    let bound = about.bound.id();
    writeln!(text, "The [verdict](../account.md#the-verdict) prints: *{}*. A program that loses most of its GPUs' time to it is bound by `{bound}`.\n", about.brief)
        .expect("a string");
    text.push_str(&tried(cause.id(), CAUSES, printed).unwrap_or_else(|| nothing_shows(cause.id())));
    if !about.evidence.is_empty() {
        text.push_str("\n## Evidence\n\n| evidence | meaning |\n|---|---|\n");
        about.evidence.iter().for_each(|kind| text.push_str(&evidence_row(*kind)));
    }
    text.push_str("\n## Fixes\n\n");
    if about.fixes.is_empty() {
        text.push_str("holdup offers none.\n");
    } else {
        text.push_str("| fix | what to do | |\n|---|---|---|\n");
        for Fix { id, text: what, safety, .. } in about.fixes {
            writeln!(text, "| [`{id}`](../fixes/{id}.md) | {what} | {safety} |").expect("a string");
        }
    }
    Made { name: format!("docs/causes/{}.md", cause.id()), text }
}

/// The only cause that needs traces of several ranks.
fn nothing_shows(id: &str) -> String {
    assert_eq!(id, Cause::CollectiveWait.id(), "no trace shows {id}: name one in shown.rs");
    "[Collectives](../account.md#collectives) has an example. It needs the traces of several ranks, one for each.\n".to_owned()
}

fn evidence_row(kind: Evidence) -> String {
    format!("| `{}` | {} |\n", kind.id(), kind.meaning())
}

fn overlap(printed: &mut Printed) -> Made {
    let mut text = String::from(
        "# What prevents overlap\n\n`holdup stats` and `holdup explain` report how much copies and kernels [overlap](../overlap.md), and why \
         they do not overlap more.\n",
    );
    for rule in OverlapRule::ALL {
        let (id, kind) = (rule.id(), rule.evidence());
        write!(
            text,
            "\n## {id}\n\n{} Evidence: `{}`, {}.\n\n",
            sentence(rule.meaning()),
            kind.id(),
            kind.meaning()
        )
        .expect("a string");
        let tried = tried(id, OVERLAP, printed)
            .unwrap_or_else(|| panic!("no trace shows {id}: name one in shown.rs"));
        text.push_str(&tried.replace("## Try it\n\n", ""));
    }
    Made { name: "docs/causes/overlap.md".to_owned(), text }
}

fn list_of_fixes() -> Made {
    let mut text = String::from(
        "# Fixes\n\nWhat a finding offers. `holdup explain` prints beside each fix what it [would gain](findings.md#gains), and with \
         `--all` the lines that apply it in the program's framework.\n\n| fix | what to do | for |\n|---|---|---|\n",
    );
    for fix in fixes() {
        let causes = cause_links(&fix.causes, "");
        let (what, _) = fix.texts[0];
        writeln!(text, "| [`{}`](fixes/{}.md) | {what} | {} |", fix.id, fix.id, causes).expect("a string");
    }
    Made { name: "docs/fixes.md".to_owned(), text }
}

/// Links to causes, from the book's folder or from one within it.
fn cause_links(causes: &[Cause], folder: &str) -> String {
    let links = causes.iter().map(|cause| format!("[`{}`]({folder}causes/{}.md)", cause.id(), cause.id()));
    links.collect::<Vec<_>>().join(", ")
}

fn of_fix(fix: &Offered, printed: &mut Printed) -> Made {
    let mut text = format!("# {}\n\n", fix.id);
    for (what, safety) in &fix.texts {
        writeln!(text, "- {} {}", sentence(what), sentence(safety)).expect("a string");
    }
    write!(text, "\nFor {}.\n", cause_links(&fix.causes, "../")).expect("a string");
    if !fix.forms.is_empty() {
        text.push_str(
            "\n## Apply it\n\nNames such as `step`, `gpu` and `batch` stand for the program's own.\n",
        );
    }
    for form in &fix.forms {
        let marked = if form.language() == "sh" {
            "<!-- not run: it changes this machine, or starts your program -->\n"
        } else {
            ""
        };
        write!(text, "\n### {}\n\n{marked}```{}\n{}```\n", title(form), form.language(), form.code)
            .expect("a string");
    }
    text.push_str("\n## What it gains\n\n");
    text.push_str(&match tried(fix.id, FIXES, printed) {
        Some(tried) => tried.replace("## Try it\n\n", "").to_owned(),
        None => "No trace of the repository is predicted to gain by it; [`holdup whatif`](../whatif.md#the-changes) lists what can be \
                 predicted.\n"
            .to_owned(),
    });
    text.push_str("\n[`holdup prove`](../prove.md) measures what it gained.\n");
    Made { name: format!("docs/fixes/{}.md", fix.id), text }
}

/// Title of a form: the frameworks that it is for, or a shell.
fn title(form: &Form) -> String {
    let named = |framework: &Framework| match framework {
        Framework::PyTorch => "PyTorch",
        Framework::CuPy => "CuPy",
        Framework::Jax => "JAX",
        Framework::Python => "Python",
        Framework::Julia => "Julia (CUDA.jl)",
        Framework::Fortran => "CUDA Fortran",
        Framework::Cuda => "CUDA C++",
    };
    let names: Vec<_> = form.frameworks.iter().map(named).collect();
    match (names.as_slice(), form.language()) {
        ([], "sh") => "Any program".to_owned(),
        ([], _) => "Any program of Python".to_owned(),
        (names, "sh") => format!("{}, from a shell", names.join(", ")),
        (names, _) => names.join(", "),
    }
}

/// The commands that show it, with what they print; `None` if no trace does.
fn tried(id: &str, list: &[Shown], printed: &mut Printed) -> Option<String> {
    let shown = list.iter().find(|shown| shown.id == id)?;
    let mut text = "## Try it\n\n".to_owned();
    if shown.part == Part::Recorded {
        writeln!(text, "This records a program that needs CUDA's driver and Python, and no other package; the account has rows of `{id}`:\n")
            .expect("a string");
    }
    text.push_str("```console\n");
    for line in [shown.make, shown.look].into_iter().filter(|line| !line.is_empty()) {
        writeln!(text, "$ {line}").expect("a string");
    }
    if !shown.make.is_empty() {
        printed.of(shown.make);
    }
    let mut output = printed.of(shown.look);
    // Who looks at a program on a machine that is busy otherwise may look too seldom.
    for _ in 0..2 {
        if shown.part == Part::Recorded && part(shown, &output).is_empty() {
            output = printed.again(shown);
        }
    }
    let part = part(shown, &output);
    assert!(!part.is_empty(), "{id}: not in the output of `{}`:\n{}", shown.look, output);
    if shown.part != Part::Recorded {
        text.push_str(&part);
    }
    text.push_str("```\n");
    Some(text)
}

/// A sentence: with a capital and a full stop, where it begins with a word of prose.
fn sentence(text: &str) -> String {
    let is_name = text
        .split(' ')
        .next()
        .is_some_and(|word| word.contains(['_', '=', '.']) || word.chars().skip(1).any(char::is_uppercase));
    let mut chars = text.chars();
    let first =
        chars.next().map(|first| if is_name { first.to_string() } else { first.to_uppercase().to_string() });
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}
