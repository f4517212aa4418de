//! Words of a document: text with roles, the labels before it, and its place on the page.

use crate::style::Role;

/// Text in pieces, each with or without a role.
#[derive(Clone, Debug, Default)]
pub struct Line(pub(super) Vec<(Option<Role>, String)>);

impl Line {
    /// Text of one role.
    pub fn of(role: Role, text: impl Into<String>) -> Line {
        Line(vec![(Some(role), text.into())])
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Adds text without a role.
    pub fn and(mut self, text: impl Into<String>) -> Line {
        self.0.push((None, text.into()));
        self
    }

    /// Adds text of a role; nothing if it is empty.
    pub fn with(mut self, role: Role, text: impl Into<String>) -> Line {
        self.0.push((Some(role), text.into()));
        self
    }
}

impl<T: Into<String>> From<T> for Line {
    fn from(text: T) -> Line {
        Line(vec![(None, text.into())])
    }
}

/// Fate of text that is longer than the page is wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fit {
    /// It goes on in further lines.
    #[default]
    Wrap,
    /// Its end is cut off.
    Cut,
    /// Its middle is cut out.
    Elide,
    /// It is longer.
    Stay,
}

/// Kind of a paragraph, which Markdown marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    Plain,
    Heading(usize),
    Item,
    Quote,
}

/// Cell of a fixed width before the text of a paragraph.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub text: String,
    pub role: Option<Role>,
    /// Columns of text that it takes; a longer one takes more.
    pub columns: usize,
}

/// Words: a paragraph, a heading, an item of a list or a remark.
#[derive(Clone, Debug)]
pub struct Paragraph {
    pub(super) rank: Rank,
    pub(super) line: Line,
    pub(super) labels: Vec<Label>,
    /// Columns before the labels.
    pub(super) indent: usize,
    /// Columns of further lines beyond those before the text of the first one.
    pub(super) hang: usize,
    pub(super) fit: Fit,
    /// Words at the right end of the first line.
    pub(super) right: Option<(Role, String)>,
    /// How many lists it is in.
    pub(super) depth: usize,
}

impl Paragraph {
    fn of(rank: Rank, line: Line) -> Paragraph {
        let (labels, fit) = (Vec::new(), Fit::Wrap);
        Paragraph { rank, line, labels, indent: 0, hang: HANG, fit, right: None, depth: 0 }
    }

    /// Text whose further lines are indented.
    pub fn new(line: impl Into<Line>) -> Paragraph {
        Paragraph::of(Rank::Plain, line.into())
    }

    /// A heading; level 1 is the title of the document.
    pub fn heading(level: usize, line: impl Into<Line>) -> Paragraph {
        Paragraph::of(Rank::Heading(level), line.into())
    }

    /// An item of a list.
    pub fn item(line: impl Into<Line>) -> Paragraph {
        Paragraph::of(Rank::Item, line.into())
    }

    /// A remark.
    pub fn remark(line: impl Into<Line>) -> Paragraph {
        Paragraph::of(Rank::Quote, line.into())
    }

    /// Adds a label before the text, beside which further lines stay: `columns` wide in text; in Markdown bold, and before a colon unless
    /// it is strong.
    pub fn label(mut self, text: impl Into<String>, role: Option<Role>, columns: usize) -> Paragraph {
        self.labels.push(Label { text: text.into(), role, columns });
        self.hanging(0)
    }

    /// Leaves columns free before the first line and, without labels, at least as many before further lines.
    pub fn indented(mut self, columns: usize) -> Paragraph {
        self.indent = columns;
        let hang = if self.labels.is_empty() { HANG.saturating_sub(columns) } else { self.hang };
        self.hanging(hang)
    }

    /// Indents further lines by so many columns more than the first one's text.
    pub fn hanging(self, columns: usize) -> Paragraph {
        Paragraph { hang: columns, ..self }
    }

    /// Sets the fate of text that is too long.
    pub fn fit(self, fit: Fit) -> Paragraph {
        Paragraph { fit, ..self }
    }

    /// Puts words at the right end of the first line.
    pub fn right(self, role: Role, words: String) -> Paragraph {
        Paragraph { right: Some((role, words)), ..self }
    }

    /// Puts it into so many lists of Markdown.
    pub fn within(self, depth: usize) -> Paragraph {
        Paragraph { depth, ..self }
    }
}

/// Columns before the further lines of a paragraph.
const HANG: usize = 4;
