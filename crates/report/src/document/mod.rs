//! A document: blocks that are built once and written as text for a terminal or as Markdown.
//!
//! A builder pushes the same blocks for every form; only where the contents differ, it asks for the [`Form`]. How a block looks is in
//! `text.rs` and `markdown.rs` and nowhere else; the crate `page` writes a [`Table`] as HTML.
//!
//! ```
//! use report::document::{Document, Form, Paragraph, Table};
//!
//! let calls = [("cudaMalloc", 12), ("cudaFree", 3)];
//! let build = |form| {
//!     let mut document = Document::new(form);
//!     document.push(Paragraph::heading(1, "Calls of *main*"));
//!     document.push(Table::of(&calls).right("Calls", |call| call.1.to_string()).left("Name", |call| call.0));
//!     document.to_string()
//! };
//! let markdown = "# Calls of \\*main\\*\n\n| Calls | Name |\n| ---: | --- |\n| 12 | cudaMalloc |\n| 3 | cudaFree |\n";
//! assert_eq!(build(Form::Markdown), markdown);
//! assert!(build(Form::Text(report::Page::default())).starts_with("Calls of *main*\n┌───────┬"));
//! ```

mod block;
mod markdown;
mod paragraph;
mod table;
mod text;

pub use block::Block;
pub use paragraph::{Fit, Line, Paragraph};
pub use table::{Cell, Columns, Kind, Table, Target, Width};

use crate::page::Page;
use std::fmt;

/// The form in which a document is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Lines that fit a page.
    Text(Page),
    /// GitHub's Markdown.
    Markdown,
}

/// Blocks in the order in which they are written.
#[derive(Clone, Debug)]
pub struct Document {
    form: Form,
    blocks: Vec<Block>,
}

impl Document {
    /// A document without blocks.
    pub fn new(form: Form) -> Document {
        Document { form, blocks: Vec::new() }
    }

    /// Whether it is written as Markdown.
    pub fn is_markdown(&self) -> bool {
        self.form == Form::Markdown
    }

    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// Adds an empty line to text.
    pub fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// Adds blocks.
    pub fn extend<B: Into<Block>>(&mut self, blocks: impl IntoIterator<Item = B>) {
        self.blocks.extend(blocks.into_iter().map(Into::into));
    }
}

impl IntoIterator for Document {
    type Item = Block;
    type IntoIter = std::vec::IntoIter<Block>;

    fn into_iter(self) -> Self::IntoIter {
        self.blocks.into_iter()
    }
}

impl fmt::Display for Document {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Text(page) => {
                self.blocks.iter().try_for_each(|block| to.write_str(&text::block(block, page)))
            }
            Form::Markdown => to.write_str(&markdown::blocks(&self.blocks)),
        }
    }
}

impl From<Paragraph> for Block {
    fn from(paragraph: Paragraph) -> Block {
        Block::Paragraph(paragraph)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Block {
        Block::Table(table)
    }
}

impl<R> From<Columns<'_, R>> for Block {
    fn from(columns: Columns<'_, R>) -> Block {
        columns.table().into()
    }
}
