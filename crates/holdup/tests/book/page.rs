//! A page of the documentation: the command lines in it, its links, and what can be linked to.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A page, read.
pub struct Page {
    /// Path from the root: `docs/diff.md`.
    pub name: String,
    /// Fenced blocks of command lines, and command lines within sentences, in the order of the page.
    pub blocks: Vec<Block>,
    /// Where its links lead.
    pub links: Vec<String>,
    /// Names that a link may have after `#`.
    pub anchors: Vec<String>,
}

/// Command lines that stand together.
pub struct Block {
    /// The first line, from 1.
    pub line: usize,
    /// How it is to be run.
    pub mark: Mark,
    /// The commands in order.
    pub commands: Vec<Documented>,
}

/// A command line and what the page shows below it.
pub struct Documented {
    /// The line, as for a shell.
    pub line: String,
    /// The lines that it prints; none if the page shows nothing.
    pub prints: Vec<String>,
    /// Whether it stands within a sentence.
    pub inline: bool,
}

/// Request of a comment before a block: `<!-- not run: REASON -->`, `<!-- output varies: REASON -->`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The commands succeed and print what the page shows.
    Plain,
    /// They are run, but print something else each time.
    Varies,
    /// They cannot be run by a test.
    NotRun(String),
}

impl Mark {
    fn of(comment: &str) -> Option<Mark> {
        let inside = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
        let reason = |prefix| inside.strip_prefix(prefix).map(str::trim).filter(|reason| !reason.is_empty());
        let varies = reason("output varies:").map(|_| Mark::Varies);
        varies.or_else(|| reason("not run:").map(|reason| Mark::NotRun(reason.to_owned())))
    }
}

impl Page {
    /// Reads a page by its path from the root.
    pub fn read(name: &str) -> Page {
        let text =
            std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Reading::new(name, &text).read()
    }
}

/// Every page of the book, and README.
pub fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder").flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_str().expect("UTF-8"));
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A page that is being read.
struct Reading<'a> {
    text: &'a str,
    page: Page,
    /// Request of the comment before the next block.
    mark: Mark,
    /// The language and the line of the fenced block that is open.
    fence: Option<(String, usize)>,
    /// The text of what is open: a fenced block, or a heading.
    open: String,
    heading: bool,
}

impl<'a> Reading<'a> {
    fn new(name: &str, text: &'a str) -> Reading<'a> {
        let page = Page { name: name.to_owned(), blocks: vec![], links: vec![], anchors: vec![] };
        Reading { text, page, mark: Mark::Plain, fence: None, open: String::new(), heading: false }
    }

    fn read(mut self) -> Page {
        for (event, place) in Parser::new_ext(self.text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = self.text[..place.start].matches('\n').count() + 1;
            self.event(event, line);
        }
        self.page
    }

    fn event(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Html(html) => self.mark = Mark::of(&html).unwrap_or_else(|| self.mark.clone()),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                self.fence = Some((language.to_string(), line));
                self.open.clear();
            }
            Event::End(TagEnd::CodeBlock) => self.fenced(),
            Event::Start(Tag::Heading { .. }) => {
                self.heading = true;
                self.open.clear();
            }
            Event::End(TagEnd::Heading(_)) => self.headed(),
            Event::End(TagEnd::Paragraph | TagEnd::Table | TagEnd::List(_)) => self.mark = Mark::Plain,
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.page.links.push(dest_url.into_string());
            }
            Event::Text(text) => self.open.push_str(&text),
            Event::Code(code) => {
                self.open.push_str(&code);
                if !self.heading {
                    self.spelled(&code, line);
                }
            }
            _ => {}
        }
    }

    /// A command line within a sentence.
    fn spelled(&mut self, code: &str, line: usize) {
        if code.starts_with("holdup ") {
            let command = Documented { line: code.to_owned(), prints: vec![], inline: true };
            self.page.blocks.push(Block { line, mark: self.mark.clone(), commands: vec![command] });
        }
    }

    fn fenced(&mut self) {
        let Some((language, line)) = self.fence.take() else { return };
        let mark = std::mem::replace(&mut self.mark, Mark::Plain);
        let commands = match language.as_str() {
            "sh" => script(&self.open),
            "console" => session(&self.open),
            _ => return,
        };
        self.page.blocks.push(Block { line, mark, commands });
    }

    fn headed(&mut self) {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let slug: String = self.open.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let again = self.page.anchors.iter().filter(|anchor| **anchor == slug).count();
        self.page.anchors.push(if again > 0 { format!("{slug}-{again}") } else { slug });
        (self.heading, self.mark) = (false, Mark::Plain);
    }
}

/// The commands of a shell script: its lines, without comments.
fn script(text: &str) -> Vec<Documented> {
    let lines = text.replace("\\\n", " ");
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| Documented { line: line.to_owned(), prints: vec![], inline: false }).collect()
}

/// The commands of a session: lines after `$ `, each with what it prints.
fn session(text: &str) -> Vec<Documented> {
    let mut commands: Vec<Documented> = Vec::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("$ ") {
            commands.push(Documented { line: line.to_owned(), prints: vec![], inline: false });
        } else {
            let last = commands.last_mut().expect("a session begins with `$ `");
            last.prints.push(line.trim_end().to_owned());
        }
    }
    commands
}
