//! The table of docs/formats.md is the importers' own.

#[test]
fn the_documentation_lists_every_form() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md"))
        .expect("there");
    let rows = page.lines().filter(|line| line.starts_with('|')).skip(2);
    let mut listed: Vec<String> = rows.map(str::to_owned).collect();
    let mut known: Vec<String> =
        import::forms().map(|form| format!("| {} | {} |", form.name, form.made_by)).collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
}
