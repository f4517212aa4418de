//! Modules of a crate and the names that each uses of the others, as the source has them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// Segments of a module's path from its crate's root.
pub type ModulePath = Vec<String>;

/// Names of one module.
#[derive(Default)]
struct Module {
    /// Row of [`Source::files`].
    file: usize,
    /// Items that are defined in it.
    defined: Vec<String>,
    /// Names that it imports, with their paths.
    imported: HashMap<String, Vec<String>>,
    /// Names among these that it hands on.
    handed_on: HashSet<String>,
    /// Modules of which it imports everything.
    globs: Vec<Vec<String>>,
}

/// A name that a file uses, and the module in which it does.
struct Used {
    file: usize,
    module: ModulePath,
    path: Vec<String>,
}

/// Source of one crate.
#[derive(Default)]
pub struct Source {
    /// Paths of its files from its folder `src`.
    pub files: Vec<String>,
    modules: HashMap<ModulePath, Module>,
    used: Vec<Used>,
}

impl Source {
    /// Reads a crate's files. `names` are their paths from `folder`, which is `src`.
    pub fn read(folder: &Path, names: &[String]) -> io::Result<Source> {
        let mut source = Source::default();
        for name in names {
            let text = std::fs::read_to_string(folder.join(name))?;
            let parsed =
                syn::parse_file(&text).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
            source.files.push(name.clone());
            let file = source.files.len() - 1;
            Reading { source: &mut source, file, module: module_of(name) }.items(&parsed.items);
        }
        Ok(source)
    }

    /// Arrows from each file to those whose names it uses, with one such name each.
    pub fn arrows(&self) -> HashMap<(usize, usize), String> {
        let mut arrows = HashMap::new();
        for Used { file, module, path } in &self.used {
            if let Some(other) = self.resolve(module, path, 0).filter(|other| other != file) {
                arrows.entry((*file, other)).or_insert_with(|| path.join("::"));
            }
        }
        arrows
    }

    /// Row of the file that defines a path, seen from a module; `None` for what is not of this crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<usize> {
        const DEEPEST: usize = 16;
        let (first, mut rest) = path.split_first()?;
        let mut at: ModulePath = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            name => {
                let child = [from, &[name.to_owned()]].concat();
                if self.modules.contains_key(&child) {
                    child
                } else {
                    let target = self.modules.get(from)?.imported.get(name)?;
                    let longer = [target.as_slice(), rest].concat();
                    // An import of the name itself leads nowhere else.
                    let is_new = depth < DEEPEST && target.as_slice() != path;
                    return is_new.then(|| self.resolve(from, &longer, depth + 1)).flatten();
                }
            }
        };
        while let Some((next, others)) = rest.split_first() {
            if next == "super" {
                at.pop();
            } else {
                let child = [at.as_slice(), std::slice::from_ref(next)].concat();
                if !self.modules.contains_key(&child) {
                    return self.item(&at, next, others, depth);
                }
                at = child;
            }
            rest = others;
        }
        self.modules.get(&at).map(|module| module.file)
    }

    /// Row of the file that defines an item of a module: there, or where the module has it from.
    fn item(&self, module: &[String], name: &str, rest: &[String], depth: usize) -> Option<usize> {
        const DEEPEST: usize = 16;
        let of = self.modules.get(module)?;
        if depth >= DEEPEST || of.defined.iter().any(|known| known == name) {
            return Some(of.file);
        }
        if let Some(target) = of.imported.get(name) {
            return self.resolve(module, &[target.as_slice(), rest].concat(), depth + 1);
        }
        let of_glob = |glob: &Vec<String>| {
            let longer = [glob.as_slice(), &[name.to_owned()]].concat();
            self.has(module, glob, name).then(|| self.resolve(module, &longer, depth + 1)).flatten()
        };
        of.globs.iter().find_map(of_glob)
    }

    /// Whether a module of this crate, seen from another one, defines a name or hands it on.
    fn has(&self, from: &[String], path: &[String], name: &str) -> bool {
        let relative = |start: &[String], rest: &[String]| [start, rest].concat();
        let at = match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some("self") => relative(from, &path[1..]),
            Some("super") => relative(&from[..from.len().saturating_sub(1)], &path[1..]),
            _ => relative(from, path),
        };
        let of = self.modules.get(&at);
        of.is_some_and(|of| {
            of.handed_on.contains(name)
                || of.defined.iter().any(|known| known == name)
                || !of.globs.is_empty()
        })
    }
}

/// Path of the module that a file is.
fn module_of(name: &str) -> ModulePath {
    let path = name.trim_end_matches(".rs");
    let segments = path.split('/').filter(|segment| !matches!(*segment, "lib" | "main" | "mod"));
    segments.map(str::to_owned).collect()
}

/// Reads the items of one file.
struct Reading<'a> {
    source: &'a mut Source,
    file: usize,
    module: ModulePath,
}

impl Reading<'_> {
    fn items(&mut self, items: &[Item]) {
        let file = self.file;
        self.source.modules.entry(self.module.clone()).or_default().file = file;
        items.iter().for_each(|item| self.item(item));
    }

    fn item(&mut self, item: &Item) {
        if is_test(attributes(item)) {
            return;
        }
        match item {
            Item::Use(of) => {
                let is_handed_on = !matches!(of.vis, syn::Visibility::Inherited);
                self.tree(&of.tree, Vec::new(), is_handed_on);
            }
            Item::Mod(inner) => {
                if let Some((_, items)) = &inner.content {
                    self.module.push(inner.ident.to_string());
                    self.items(items);
                    self.module.pop();
                }
            }
            item => {
                let file = self.file;
                let module = self.source.modules.entry(self.module.clone()).or_default();
                module.file = file;
                module.defined.extend(name(item));
                self.visit_item(item);
            }
        }
    }

    fn tree(&mut self, tree: &UseTree, mut path: Vec<String>, is_handed_on: bool) {
        match tree {
            UseTree::Path(one) => {
                path.push(one.ident.to_string());
                self.tree(&one.tree, path, is_handed_on);
            }
            UseTree::Name(one) if one.ident == "self" => {
                let name = path.last().cloned().unwrap_or_default();
                self.import(name, path, is_handed_on);
            }
            UseTree::Name(one) => {
                path.push(one.ident.to_string());
                self.import(one.ident.to_string(), path, is_handed_on);
            }
            UseTree::Rename(one) => {
                path.push(one.ident.to_string());
                self.import(one.rename.to_string(), path, is_handed_on);
            }
            UseTree::Glob(_) => {
                let module = self.source.modules.entry(self.module.clone()).or_default();
                module.globs.push(path);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(tree, path.clone(), is_handed_on));
            }
        }
    }

    fn import(&mut self, name: String, path: Vec<String>, is_handed_on: bool) {
        let module = self.source.modules.entry(self.module.clone()).or_default();
        module.imported.insert(name.clone(), path.clone());
        if is_handed_on {
            module.handed_on.insert(name);
        } else {
            self.uses(path);
        }
    }

    fn uses(&mut self, path: Vec<String>) {
        self.source.used.push(Used { file: self.file, module: self.module.clone(), path });
    }
}

impl<'ast> Visit<'ast> for Reading<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        if segments.len() > 1 {
            self.uses(segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, of: &'ast syn::ItemUse) {
        self.tree(&of.tree, Vec::new(), false);
    }

    /// Skips the modules that may see an item: naming them uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(one) => &one.attrs,
        Item::Use(one) => &one.attrs,
        Item::Fn(one) => &one.attrs,
        Item::Impl(one) => &one.attrs,
        Item::Struct(one) => &one.attrs,
        Item::Const(one) => &one.attrs,
        _ => &[],
    }
}

/// Name that an item defines.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(one) => &one.ident,
        Item::Enum(one) => &one.ident,
        Item::Fn(one) => &one.sig.ident,
        Item::Macro(one) => one.ident.as_ref()?,
        Item::Static(one) => &one.ident,
        Item::Struct(one) => &one.ident,
        Item::Trait(one) => &one.ident,
        Item::Type(one) => &one.ident,
        Item::Union(one) => &one.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
