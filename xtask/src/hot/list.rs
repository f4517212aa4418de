//! The list: where hot code begins, and what it must not reach.

use serde::Deserialize;

/// `crates/capture/hot.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) never: Vec<Never>,
    pub(crate) roots: Vec<Roots>,
    #[serde(default)]
    pub(crate) stop: Vec<Stop>,
}

/// Functions that hot code must not reach.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Never {
    pub(crate) what: String,
    why: String,
    names: Vec<String>,
}

/// Functions where hot code begins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roots {
    pub(crate) what: String,
    why: String,
    /// What these must not reach; everything where it is not given.
    never: Option<Vec<String>>,
    pub(crate) names: Vec<String>,
}

/// A function that hot code calls and that is not hot itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    pub(crate) name: String,
    why: String,
}

impl List {
    pub(crate) fn read(text: &str) -> Result<List, String> {
        let list: List = toml::from_str(text).map_err(|error| error.to_string())?;
        let reasons = list.never.iter().map(|never| (&never.what, &never.why));
        let reasons = reasons.chain(list.roots.iter().map(|roots| (&roots.what, &roots.why)));
        let mut reasons = reasons.chain(list.stop.iter().map(|stop| (&stop.name, &stop.why)));
        if let Some((what, _)) = reasons.find(|(_, why)| why.trim().is_empty()) {
            return Err(format!("{what}: `why` is empty"));
        }
        let mut asked = list.roots.iter().flat_map(|roots| roots.never.iter().flatten());
        match asked.find(|what| !list.never.iter().any(|never| never.what == **what)) {
            Some(unknown) => Err(format!("no `never` is called `{unknown}`")),
            None => Ok(list),
        }
    }

    /// What some roots must not reach.
    pub(crate) fn never_of(&self, roots: &Roots) -> Vec<&Never> {
        let asked = |never: &&Never| roots.never.as_ref().is_none_or(|asked| asked.contains(&never.what));
        self.never.iter().filter(asked).collect()
    }
}

impl Never {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| matches(pattern, name))
    }
}

/// Whether a function has a name of the list: its path, whatever its type arguments; or the beginning of it, where
/// the name ends in `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with("::<")),
    }
}
