//! Shapes that are hard to read: long files and functions, wide tuples in signatures, and names that say nothing.

use std::io;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Signature, TypeTuple};

/// Lines of a function, from its signature to its end.
const FUNCTION: usize = 60;
/// Lines of a file.
const FILE: usize = 500;
/// Fields of a tuple in a signature.
const TUPLE: usize = 3;
/// Names of types and files that name nothing.
const BANNED: [&str; 9] = ["Known", "Of", "Over", "Asked", "What", "Look", "Kept", "First", "Own"];

/// One shape, in the order in which they are printed: by kind, the largest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    kind: Kind,
    size: std::cmp::Reverse<usize>,
    line: usize,
    name: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Function,
    Tuple,
    Name,
}

impl Shape {
    fn new(kind: Kind, size: usize, line: usize, name: &str) -> Shape {
        Shape { kind, size: std::cmp::Reverse(size), line, name: name.to_owned() }
    }

    fn text(&self, file: &str) -> String {
        let Shape { kind, size: std::cmp::Reverse(size), line, name } = self;
        match kind {
            Kind::File => format!("{file}:{line}: {size} lines"),
            Kind::Function => format!("{file}:{line}: function {name} has {size} lines"),
            Kind::Tuple => format!("{file}:{line}: function {name} has a tuple of {size} fields"),
            Kind::Name => format!("{file}:{line}: `{name}` names nothing"),
        }
    }
}

/// The shapes of every crate's `src`, one per line: `FILE:LINE: SHAPE`.
pub fn shapes(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in super::sources(root)?.into_iter().filter(|name| name.contains("/src/")) {
        let text = std::fs::read_to_string(root.join(&name))?;
        let parsed = syn::parse_file(&text).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        found.extend(of_file(&name, &text, &parsed).into_iter().map(|shape| (shape, name.clone())));
    }
    found.sort();
    Ok(found.into_iter().map(|(shape, file)| shape.text(&file)).collect())
}

fn of_file(name: &str, text: &str, parsed: &syn::File) -> Vec<Shape> {
    let mut reading = Reading { found: Vec::new() };
    let lines = text.lines().count();
    if lines > FILE {
        reading.found.push(Shape::new(Kind::File, lines, 1, name));
    }
    let stem =
        Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if BANNED.iter().any(|banned| banned.to_lowercase() == stem) {
        reading.found.push(Shape::new(Kind::Name, 0, 1, &stem));
    }
    reading.visit_file(parsed);
    reading.found
}

struct Reading {
    found: Vec<Shape>,
}

impl Reading {
    fn function(&mut self, of: &Signature, end: usize) {
        let line = of.fn_token.span.start().line;
        let lines = end + 1 - line;
        let name = of.ident.to_string();
        if lines > FUNCTION {
            self.found.push(Shape::new(Kind::Function, lines, line, &name));
        }
        let mut widest = Widest(0);
        widest.visit_signature(of);
        if widest.0 > TUPLE {
            self.found.push(Shape::new(Kind::Tuple, widest.0, line, &name));
        }
    }

    fn named(&mut self, name: &syn::Ident) {
        if BANNED.iter().any(|banned| name == banned) {
            self.found.push(Shape::new(Kind::Name, 0, name.span().start().line, &name.to_string()));
        }
    }
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_item_fn(&mut self, of: &'ast syn::ItemFn) {
        self.function(&of.sig, end(&of.block));
        visit::visit_item_fn(self, of);
    }

    fn visit_impl_item_fn(&mut self, of: &'ast syn::ImplItemFn) {
        self.function(&of.sig, end(&of.block));
        visit::visit_impl_item_fn(self, of);
    }

    fn visit_trait_item_fn(&mut self, of: &'ast syn::TraitItemFn) {
        let last = of.default.as_ref().map_or_else(|| of.sig.fn_token.span.start().line, end);
        self.function(&of.sig, last);
        visit::visit_trait_item_fn(self, of);
    }

    fn visit_item_struct(&mut self, of: &'ast syn::ItemStruct) {
        self.named(&of.ident);
        visit::visit_item_struct(self, of);
    }

    fn visit_item_enum(&mut self, of: &'ast syn::ItemEnum) {
        self.named(&of.ident);
        visit::visit_item_enum(self, of);
    }

    fn visit_item_trait(&mut self, of: &'ast syn::ItemTrait) {
        self.named(&of.ident);
        visit::visit_item_trait(self, of);
    }

    fn visit_item_type(&mut self, of: &'ast syn::ItemType) {
        self.named(&of.ident);
        visit::visit_item_type(self, of);
    }

    fn visit_item_mod(&mut self, of: &'ast syn::ItemMod) {
        if !of.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, of);
        }
    }
}

/// Line on which a block ends.
fn end(block: &syn::Block) -> usize {
    block.brace_token.span.close().end().line
}

/// Fields of the widest tuple in a signature.
struct Widest(usize);

impl<'ast> Visit<'ast> for Widest {
    fn visit_type_tuple(&mut self, of: &'ast TypeTuple) {
        self.0 = self.0.max(of.elems.len());
        visit::visit_type_tuple(self, of);
    }
}

fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(name: &str, text: &str) -> Vec<String> {
        of_file(name, text, &syn::parse_str(text).unwrap()).iter().map(|shape| shape.text(name)).collect()
    }

    #[test]
    fn limits_are_the_last_size_that_is_no_finding() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "\n".repeat(lines - 2));
        assert!(shapes("a.rs", &function(60)).is_empty());
        assert_eq!(shapes("a.rs", &function(61)), ["a.rs:1: function f has 61 lines"]);
        assert!(shapes("a.rs", &"\n".repeat(500)).is_empty());
        assert_eq!(shapes("a.rs", &"\n".repeat(501)), ["a.rs:1: 501 lines"]);
        assert!(shapes("a.rs", "fn f(_: (A, B, C)) {}").is_empty());
        let wide = "trait T { fn f(&self) -> Vec<(A, B, C, D)>; }";
        assert_eq!(shapes("a.rs", wide), ["a.rs:1: function f has a tuple of 4 fields"]);
    }

    #[test]
    fn banned_names_are_found_in_types_and_files_and_not_in_tests() {
        let text = "struct Known;\nstruct Knowns;\n#[cfg(test)]\nmod tests { enum Look {} }";
        assert_eq!(
            shapes("own.rs", text),
            ["own.rs:1: `own` names nothing", "own.rs:1: `Known` names nothing"]
        );
    }
}
