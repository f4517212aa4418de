//! Arms for whatever else in a `match` over names that grow: a new cause or kind of record would run into them unseen.

use std::io;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemUse, Macro, Pat, UseTree};

/// Enums of which every `match` names all variants. A fix is a struct, and its id a text.
const EVERYWHERE: [&str; 2] = ["Cause", "Evidence"];

/// Such enums among the kinds of records, by the names of `spool`: elsewhere these names are others'.
const RECORDS: [&str; 8] =
    ["Kind", "Step", "Reference", "CallMade", "Operation", "Plain", "Deferred", "Watched"];

/// Crates that use the kinds of records.
const OF_RECORDS: [&str; 5] =
    ["crates/spool/", "crates/interpose/", "crates/capture/", "crates/import/", "crates/watch/"];

/// Places that a check of one file found.
#[derive(Default)]
struct Found {
    /// Lines of arms that take whatever else.
    arms: Vec<usize>,
    /// Uses of `matches!` with such names, which answer `false` for a new one.
    questions: usize,
}

/// Findings in the whole source.
pub struct Wildcards {
    /// One per arm: `FILE:LINE`.
    pub arms: Vec<String>,
    /// Uses of `matches!` over the same enums.
    pub questions: usize,
}

/// The arms for whatever else in every crate, except in `except`, by folder.
pub fn wildcards(root: &Path, except: &[String]) -> io::Result<Wildcards> {
    let mut all = Wildcards { arms: Vec::new(), questions: 0 };
    for name in super::sources(root)? {
        if !name.contains("/src/") || except.iter().any(|crate_| name.starts_with(&format!("{crate_}/"))) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&name))?;
        let parsed = syn::parse_file(&text).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        let found = of_file(&parsed, OF_RECORDS.iter().any(|folder| name.starts_with(folder)));
        all.arms.extend(found.arms.iter().map(|line| format!("{name}:{line}: an arm for whatever else")));
        all.questions += found.questions;
    }
    Ok(all)
}

fn of_file(file: &syn::File, has_kinds: bool) -> Found {
    let mut names = Names { has_kinds, bare: Vec::new() };
    names.visit_file(file);
    let mut reading = Reading { names, found: Found::default() };
    reading.visit_file(file);
    reading.found
}

/// Variants that a file may name without their enum.
struct Names {
    has_kinds: bool,
    bare: Vec<String>,
}

impl Names {
    fn is_watched(&self, name: &str) -> bool {
        EVERYWHERE.contains(&name) || (self.has_kinds && RECORDS.contains(&name))
    }

    fn of_tree(&mut self, tree: &UseTree, parent: &str) {
        match tree {
            UseTree::Path(one) => self.of_tree(&one.tree, &one.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.of_tree(tree, parent)),
            UseTree::Name(one) if self.is_watched(parent) => self.bare.push(one.ident.to_string()),
            UseTree::Rename(one) if self.is_watched(parent) => self.bare.push(one.rename.to_string()),
            UseTree::Glob(_) | UseTree::Name(_) | UseTree::Rename(_) => {}
        }
    }

    /// Whether a pattern names a variant of such an enum, at its top or in a tuple, a reference or a wrapper such as `Some`.
    fn names(&self, pattern: &Pat) -> bool {
        match pattern {
            Pat::Or(or) => or.cases.iter().any(|case| self.names(case)),
            Pat::Paren(one) => self.names(&one.pat),
            Pat::Reference(one) => self.names(&one.pat),
            Pat::Ident(one) => {
                self.bare.iter().any(|name| one.ident == name)
                    || one.subpat.as_ref().is_some_and(|(_, inner)| self.names(inner))
            }
            Pat::Path(one) => self.is_variant(&one.path),
            Pat::TupleStruct(one) => {
                self.is_variant(&one.path) || one.elems.iter().any(|elem| self.names(elem))
            }
            Pat::Struct(one) => self.is_variant(&one.path),
            Pat::Tuple(one) => one.elems.iter().any(|elem| self.names(elem)),
            _ => false,
        }
    }

    fn is_variant(&self, path: &syn::Path) -> bool {
        let mut ends = path.segments.iter().rev();
        let variant = ends.next();
        match ends.next() {
            // A constant of the enum's type, in capitals, is no variant.
            Some(of) => {
                self.is_watched(&of.ident.to_string()) && variant.is_some_and(|one| !is_constant(&one.ident))
            }
            None => variant.is_some_and(|one| self.bare.iter().any(|name| one.ident == name)),
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, of: &'ast ItemUse) {
        self.of_tree(&of.tree, "");
    }
}

fn is_constant(name: &syn::Ident) -> bool {
    name.to_string().chars().all(|letter| !letter.is_lowercase())
}

/// Whether a pattern matches anything in each of its places, with or without a name.
fn takes_all(pattern: &Pat, names: &Names) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(one) => one.subpat.is_none() && !names.names(pattern) && begins_small(&one.ident),
        Pat::Paren(one) => takes_all(&one.pat, names),
        Pat::Reference(one) => takes_all(&one.pat, names),
        Pat::Or(or) => or.cases.iter().any(|case| takes_all(case, names)),
        _ => false,
    }
}

fn begins_small(name: &syn::Ident) -> bool {
    name.to_string().starts_with(|letter: char| letter.is_lowercase() || letter == '_')
}

/// Whether an arm takes every variant: all of it is a wildcard, or the place where others name one is.
fn hides(pattern: &Pat, names: &Names, other: &Pat) -> bool {
    match (pattern, other) {
        (pattern, _) if takes_all(pattern, names) => true,
        (Pat::Or(or), _) => or.cases.iter().any(|case| hides(case, names, other)),
        (_, Pat::Or(or)) => or.cases.iter().any(|case| hides(pattern, names, case)),
        (Pat::Tuple(one), Pat::Tuple(other)) => hides_in(&one.elems, &other.elems, names),
        (Pat::TupleStruct(one), Pat::TupleStruct(other)) if end(&one.path) == end(&other.path) => {
            !names.is_variant(&one.path) && hides_in(&one.elems, &other.elems, names)
        }
        _ => false,
    }
}

/// The last name of a path.
fn end(path: &syn::Path) -> Option<&syn::Ident> {
    path.segments.last().map(|segment| &segment.ident)
}

type Elements = syn::punctuated::Punctuated<Pat, syn::Token![,]>;

/// Whether elements take all where the elements of another pattern name a variant.
fn hides_in(elements: &Elements, others: &Elements, names: &Names) -> bool {
    let pairs = elements.iter().zip(others);
    let mut bools = pairs.clone().filter_map(|(one, other)| Some((truth(one)?, truth(other)?)));
    // `(true, _)` takes nothing that `(false, Cause::Gil)` has.
    bools.all(|(one, other)| one == other)
        && pairs.filter(|(_, other)| names.names(other)).any(|(one, other)| hides(one, names, other))
}

/// The value of a pattern that is `true` or `false`.
fn truth(pattern: &Pat) -> Option<bool> {
    match pattern {
        Pat::Lit(syn::ExprLit { lit: syn::Lit::Bool(value), .. }) => Some(value.value),
        _ => None,
    }
}

struct Reading {
    names: Names,
    found: Found,
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_expr_match(&mut self, of: &'ast syn::ExprMatch) {
        let named: Vec<&Pat> =
            of.arms.iter().map(|arm| &arm.pat).filter(|pattern| self.names.names(pattern)).collect();
        for arm in &of.arms {
            // A guard leaves the other variants to the arms below.
            let is_open =
                arm.guard.is_none() && named.iter().any(|other| hides(&arm.pat, &self.names, other));
            if is_open {
                self.found.arms.push(arm.fat_arrow_token.spans[0].start().line);
            }
        }
        visit::visit_expr_match(self, of);
    }

    fn visit_macro(&mut self, of: &'ast Macro) {
        if of.path.is_ident("matches") {
            let parse = |input: syn::parse::ParseStream<'_>| {
                input.parse::<syn::Expr>()?;
                input.parse::<syn::Token![,]>()?;
                let pattern = Pat::parse_multi_with_leading_vert(input)?;
                input.parse::<proc_macro2::TokenStream>()?;
                Ok(pattern)
            };
            let pattern = syn::parse::Parser::parse2(parse, of.tokens.clone());
            self.found.questions += usize::from(pattern.is_ok_and(|pattern| self.names.names(&pattern)));
        }
        visit::visit_macro(self, of);
    }

    fn visit_item_mod(&mut self, of: &'ast syn::ItemMod) {
        if !of.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, of);
        }
    }
}

fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(text: &str) -> Vec<usize> {
        of_file(&syn::parse_str(text).unwrap(), true).arms
    }

    #[test]
    fn an_arm_for_whatever_else_is_found_wherever_the_variant_stands() {
        for arm in ["_", "other", "Cause::Lock | _", "&_"] {
            assert_eq!(
                arms(&format!("fn f() {{ match c {{\nCause::Gil => 1,\n{arm} => 2 }} }}")),
                [3],
                "{arm}"
            );
        }
        assert_eq!(arms("fn f() { match c {\nSome(Cause::Gil) => 1,\nSome(_) => 2,\nNone => 3 } }"), [3]);
        assert_eq!(arms("fn f() { match c {\n(Cause::Gil, 1) => 1,\n(_, 2) => 2 } }"), [3]);
        assert_eq!(arms("use a::Cause::{Gil, Lock};\nfn f() { match c {\nGil => 1,\n_ => 2 } }"), [4]);
        assert_eq!(arms("fn f() { match c {\nspool::Kind::Call => 1,\n_ => 2 } }"), [3]);
    }

    #[test]
    fn every_step_of_the_importer_is_known() {
        let kinds = include_str!("../../../crates/spool/src/kinds.rs");
        let begins = |line: &'static str| line.strip_prefix("    ")?.strip_suffix(" {");
        let steps = kinds.lines().filter_map(begins).filter(|name| name.chars().all(char::is_alphabetic));
        let steps: Vec<&str> = steps.collect();
        assert_eq!(steps, RECORDS[2..], "`kinds!` declares other steps");
    }

    #[test]
    fn a_match_that_names_all_or_asks_of_something_else_is_none() {
        for body in [
            "Cause::Gil => 1, Cause::Lock => 2",
            "Cause::Gil => 1, other if other.is_late() => 2, Cause::Lock => 3",
            "Some(Cause::Gil) => 1, Some(Cause::Lock) | None => 2",
            "Other::Gil => 1, _ => 2",
            "(Cause::Gil, _) => 1, (Cause::Lock, _) => 2",
            "(true, _) => 1, (false, Cause::Gil) => 2, (false, Cause::Lock) => 3",
        ] {
            assert!(arms(&format!("fn f() {{ match c {{ {body} }} }}")).is_empty(), "{body}");
        }
        let file =
            syn::parse_str("fn f() { matches!(c, Cause::Gil if x) || matches!(c, Other::A) }").unwrap();
        assert_eq!(of_file(&file, true).questions, 1);
    }
}
