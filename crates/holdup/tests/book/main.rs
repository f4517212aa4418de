//! README and the book (`docs/`): every command line works as written, every link leads somewhere, and the pages of causes and fixes are
//! what the program knows. `UPDATE_EXPECT=1` rewrites those pages, the samples of output in all pages,
//! and the list of command lines that no test runs (`tests/data/book/commands.txt`).
#![cfg(target_os = "linux")]

mod catalogue;
mod commands;
#[allow(dead_code, reason = "the capture library's own tests use the rest")]
#[path = "../../../capture/tests/standin/compile.rs"]
mod compile;
mod links;
mod page;
mod rows;
mod samples;
mod shown;
mod stage;

use libtest_mimic::{Arguments, Failed, Trial};
use page::Page;
use std::path::Path;
use std::sync::Arc;

fn main() {
    let pages: Arc<Vec<Page>> = Arc::new(page::pages().iter().map(|name| Page::read(name)).collect());
    let mut tests: Vec<Trial> =
        (0..pages.len()).filter_map(|at| commands_of(Arc::clone(&pages), at)).collect();
    tests.push(Trial::test("pages_of_causes_and_fixes", pages_are_what_is_known));
    tests.push(Trial::test("command_lines_that_no_test_runs", {
        let pages = Arc::clone(&pages);
        move || {
            let written = || pages.iter().filter(|page| !is_made(&page.name));
            println!("{}", commands::counted(written()));
            let listed: String = written().map(commands::not_run).collect();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/book/commands.txt");
            expect_test::expect_file![path].assert_eq(&listed);
            Ok(())
        }
    }));
    tests.push(Trial::test("links_lead_somewhere", {
        let pages = Arc::clone(&pages);
        move || none(&links::broken(&pages), "links that lead nowhere")
    }));
    tests.push(Trial::test("the_summary_has_every_page", move || {
        none(&links::missing(&pages), "not in the summary once")
    }));
    tests.push(Trial::test("tables_have_what_is_known", move || none(&rows::missing(), "in no row")));
    tests.push(Trial::test("lists_have_what_is_known", move || none(&rows::unlisted(), "in no list")));
    tests.push(Trial::test("guides_name_what_is_there", move || {
        none(&links::lost("ARCHITECTURE.md"), "not there")?;
        none(&links::lost("CONTRIBUTING.md"), "not there")
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// Whether [`catalogue`] makes a page, and runs the commands in it.
fn is_made(page: &str) -> bool {
    page.starts_with("docs/causes/") || page.starts_with("docs/fixes/")
}

fn pages_are_what_is_known() -> Result<(), Failed> {
    let made = catalogue::all();
    for page in &made {
        expect_test::expect_file![page::root().join(&page.name)].assert_eq(&page.text);
    }
    let is_known = |name: &String| made.iter().any(|page| page.name == *name);
    let old: Vec<String> =
        page::pages().into_iter().filter(|name| is_made(name) && !is_known(name)).collect();
    none(&old, "pages of nothing")
}

/// The test of a page's command lines; `None` if it has none.
fn commands_of(pages: Arc<Vec<Page>>, at: usize) -> Option<Trial> {
    let page = &pages[at];
    let name = format!("commands_of_{}", page.name);
    let has_any = !page.blocks.is_empty() && !is_made(&page.name);
    has_any.then(|| {
        Trial::test(name, move || {
            none(&commands::wrong(&pages[at]), "command lines that do not work as written")
        })
    })
}

fn none(found: &[String], what: &str) -> Result<(), Failed> {
    if found.is_empty() { Ok(()) } else { Err(format!("{what}:\n{}", found.join("\n")).into()) }
}
