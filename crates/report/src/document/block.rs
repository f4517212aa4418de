//! The parts of documents.

use super::paragraph::Paragraph;
use super::table::Table;

/// A part of a document.
#[derive(Clone, Debug)]
pub enum Block {
    /// Words: a paragraph, a heading, an item of a list or a remark.
    Paragraph(Paragraph),
    /// A table.
    Table(Table),
    /// Lines of code of a language.
    Code {
        /// The name that Markdown has for the language.
        language: &'static str,
        /// The lines.
        code: String,
        /// Columns before each line of text; Markdown has the code within an item of a list.
        indent: usize,
    },
    /// Lines that are drawn already, such as bars.
    Drawn(String),
    /// An empty line of text. Markdown has one between all blocks except items.
    Gap,
}
