//! Plain text or colour. Colour only adds emphasis: the text is complete without it.

/// Whether output may contain terminal escape sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Text only.
    #[default]
    Plain,
    /// ANSI escape sequences.
    Colour,
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The most important part of a paragraph: the time lost.
    Strong,
    /// A statement that is certain.
    Certain,
    /// A statement that is likely or possible.
    Unsure,
    /// A remedy's name.
    Remedy,
    /// Labels and conditions.
    Dim,
}

impl Style {
    /// `text` with the escape sequences of its role around it.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        if self == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match role {
            Role::Strong => "1",
            Role::Certain => "31",
            Role::Unsure => "33",
            Role::Remedy => "32",
            Role::Dim => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
