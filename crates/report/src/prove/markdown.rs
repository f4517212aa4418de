//! A proof for an issue or a merge request.

use super::Shown;
use super::sentences::{figures, lines, subtitle};
use crate::escape;
use crate::table::{Align, Table};
use prove::Side;

/// A proof as a heading, a table and a list.
pub fn markdown(shown: Shown<'_>) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("Command", Align::Left),
        ("Median", Align::Right),
        ("Least", Align::Right),
        ("Most", Align::Right),
    ]);
    for side in [Side::Before, Side::After] {
        let mut row = vec![side.id().to_owned(), shown.tested.arm(side).line()];
        row.extend(figures(shown, side));
        table.push(row);
    }
    let mut text = format!("# Before and after\n\n{}\n", table.markdown());
    text.push_str(&format!("{}\n\n", escape::markdown(&subtitle(shown))));
    for (title, sentence) in lines(shown) {
        text.push_str(&format!("- {title}: {}\n", escape::markdown(&sentence)));
    }
    text
}
