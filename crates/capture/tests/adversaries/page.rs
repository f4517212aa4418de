//! The generated part of docs/survival.md.

use crate::adversary::{Adversary, End};
use crate::table::GROUPS;
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str =
    "<!-- the list: made by `UPDATE_EXPECT=1 cargo test -p holdup-capture --test adversaries page` -->\n";

const END: &str = "\n<!-- end of the list -->\n";

/// Compares the page with the tables; with `UPDATE_EXPECT=1` it writes the page.
pub fn compare() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/survival.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has a mark where the list begins");
    let (_, after) = rest.split_once(END).expect("and one where it ends");
    expect_test::expect_file![&path].assert_eq(&format!("{before}{BEGIN}{}{END}{after}", list()));
}

fn list() -> String {
    let mut text = String::new();
    for group in GROUPS {
        write!(text, "\n## {}\n\n| program | recording |\n|---|---|\n", group.title).unwrap();
        group.adversaries.iter().for_each(|adversary| text.push_str(&row(adversary)));
    }
    text
}

fn row(adversary: &Adversary) -> String {
    let ends = match adversary.ends {
        End::Exit(0) => String::new(),
        End::Exit(status) => format!("; exit status {status}"),
        End::Signal(signal) => format!("; ends by signal {signal}"),
    };
    let children =
        adversary.children.map_or(String::new(), |children| format!("; children: {}", children.words()));
    format!("| {} | {}{children}{ends} |\n", adversary.does, adversary.recorded.words())
}
