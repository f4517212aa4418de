//! The list: where hot code begins, what it must not reach, and what it may.

use serde::Deserialize;

/// The list, from the workspace's root.
pub(crate) const LIST: &str = "crates/capture/hot.toml";

/// The C library's function that calls the system by a number, where the number is unknown.
pub(crate) const BY_NUMBER: &str = "syscall";

/// `crates/capture/hot.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) never: Vec<Never>,
    #[serde(default)]
    pub(crate) allowed: Vec<Allowed>,
    #[serde(default)]
    harmless: Vec<Harmless>,
    #[serde(default)]
    pub(crate) passes: Vec<Pass>,
    #[serde(default)]
    pub(crate) pointers: Vec<Pointers>,
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
    /// Functions of such names that hot code may reach.
    #[serde(default)]
    except: Vec<String>,
}

/// System calls that hot code may make, by their names or by the C library's functions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    pub(crate) names: Vec<String>,
    why: String,
    /// The most calls, or the longest time.
    bound: String,
    /// The functions that may call; all if it is not given.
    from: Option<Vec<String>>,
    /// The roots from which it may be reached; all if it is not given.
    roots: Option<String>,
}

/// Other libraries' functions that neither wait nor allocate nor call the system.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Harmless {
    why: String,
    names: Vec<String>,
}

/// Another library's function that the program called itself: the library has a function of the same name in its place,
/// which calls it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pass {
    /// The functions in its place.
    pub(crate) roots: Vec<String>,
    /// The functions that they may call: that of their own name if it is not given.
    calls: Option<Vec<String>>,
    /// Functions that they call and that may do it for them.
    #[serde(default)]
    through: Vec<String>,
    why: String,
}

/// Functions that call by a pointer, which cannot be followed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointers {
    pub(crate) from: Vec<String>,
    /// The functions that the pointers lead to.
    to: String,
    /// The reason why these do nothing that is forbidden.
    why: String,
}

/// Functions where hot code begins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roots {
    pub(crate) what: String,
    why: String,
    /// The `never`s that hold for these; all if it is not given.
    never: Option<Vec<String>>,
    pub(crate) names: Vec<String>,
    /// Functions whose address these take and that hot code never calls. Needed if these may reach something that is
    /// forbidden elsewhere.
    #[serde(default)]
    callbacks: Vec<String>,
}

/// A function that hot code calls and that is not hot itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    pub(crate) name: String,
    why: String,
    /// Why the thread can hold no lock there.
    held: String,
}

/// A call, as the list is asked about it.
pub(crate) struct HotCall<'a> {
    pub(crate) roots: &'a Roots,
    /// The root where hot code began, as the list has it.
    pub(crate) root: &'a str,
    /// All names of the function that calls.
    pub(crate) caller: &'a [String],
    pub(crate) name: &'a str,
}

/// The list's answer about a call of the system or of another library's function.
pub(crate) enum Answer<'a> {
    Harmless,
    /// The program called it: by the number of the pass.
    Passed(usize),
    /// A system call that may be made: by its number in the list.
    Allowed(usize),
    Never(&'a Never),
    /// It may be called, but not from here.
    Elsewhere,
    /// No list has it.
    Unlisted,
}

impl List {
    pub(crate) fn read(text: &str) -> Result<List, String> {
        let list: List = toml::from_str(text).map_err(|error| error.to_string())?;
        list.check_reasons()?;
        let is_group = |what: &String| list.roots.iter().any(|roots| roots.what == *what);
        let is_never = |what: &String| list.never.iter().any(|never| never.what == *what);
        let mut asked = list.roots.iter().flat_map(|roots| roots.never.iter().flatten());
        if let Some(unknown) = asked.find(|what| !is_never(what)) {
            return Err(format!("no `never` is called `{unknown}`"));
        }
        let mut groups = list.allowed.iter().filter_map(|allowed| allowed.roots.as_ref());
        if let Some(unknown) = groups.find(|what| !is_group(what)) {
            return Err(format!("no roots are called `{unknown}`"));
        }
        let everywhere =
            list.allowed.iter().filter(|allowed| allowed.from.is_none() && allowed.roots.is_none());
        let mut everywhere = everywhere.flat_map(|allowed| &allowed.names);
        let must_say =
            |name: &&String| name.as_str() == BY_NUMBER || list.never.iter().any(|never| never.has(name));
        match everywhere.find(must_say) {
            Some(name) => Err(format!("{name}: `allowed` must say who may call it: add `from`")),
            None => Ok(list),
        }
    }

    /// Each entry has its reasons.
    fn check_reasons(&self) -> Result<(), String> {
        fn first(names: &[String]) -> &str {
            names.first().map_or("an entry without names", String::as_str)
        }
        let mut reasons: Vec<(&str, &str, &str)> = Vec::new();
        reasons.extend(self.never.iter().map(|never| (never.what.as_str(), "why", never.why.as_str())));
        reasons.extend(self.roots.iter().map(|roots| (roots.what.as_str(), "why", roots.why.as_str())));
        reasons.extend(self.harmless.iter().map(|all| (first(&all.names), "why", all.why.as_str())));
        reasons.extend(self.passes.iter().map(|pass| (first(&pass.roots), "why", pass.why.as_str())));
        for allowed in &self.allowed {
            let name = first(&allowed.names);
            reasons.extend([(name, "why", allowed.why.as_str()), (name, "bound", allowed.bound.as_str())]);
        }
        for pointers in &self.pointers {
            let name = first(&pointers.from);
            reasons.extend([(name, "to", pointers.to.as_str()), (name, "why", pointers.why.as_str())]);
        }
        for stop in &self.stop {
            let name = stop.name.as_str();
            reasons.extend([(name, "why", stop.why.as_str()), (name, "held", stop.held.as_str())]);
        }
        match reasons.iter().find(|(.., why)| why.trim().is_empty()) {
            Some((name, field, _)) => Err(format!("{name}: `{field}` is empty")),
            None => Ok(()),
        }
    }

    /// The entry by which some roots must not reach a function.
    pub(crate) fn never(&self, roots: &Roots, name: &str) -> Option<&Never> {
        let is_asked = |never: &&Never| roots.never.as_ref().is_none_or(|asked| asked.contains(&never.what));
        self.never.iter().filter(is_asked).find(|never| never.has(name))
    }

    /// The entry by which a function may call by a pointer.
    pub(crate) fn pointers(&self, caller: &[String]) -> Option<usize> {
        self.pointers.iter().position(|pointers| has_any(&pointers.from, caller))
    }

    /// Whether hot code may call the system or another library's function.
    pub(crate) fn ask(&self, asked: &HotCall<'_>) -> Answer<'_> {
        if let Some(pass) = self.passes.iter().position(|pass| pass.is_for(asked)) {
            return Answer::Passed(pass);
        }
        // Large files have names of their own, and are no others.
        let name = asked.name.strip_suffix("64").unwrap_or(asked.name);
        let of = |allowed: &&Allowed| has(&allowed.names, name);
        if let Some(allowed) = self.allowed.iter().position(|allowed| of(&allowed) && allowed.is_for(asked)) {
            return Answer::Allowed(allowed);
        }
        if let Some(never) = self.never(asked.roots, asked.name) {
            return Answer::Never(never);
        }
        // One that these roots may reach.
        let is_free = self.never.iter().any(|never| never.has(asked.name));
        if is_free || self.harmless.iter().any(|harmless| has(&harmless.names, asked.name)) {
            return Answer::Harmless;
        }
        if self.allowed.iter().any(|allowed| of(&allowed)) { Answer::Elsewhere } else { Answer::Unlisted }
    }
}

impl Roots {
    /// Whether these must not reach anything of what is forbidden.
    pub(crate) fn is_strict(&self) -> bool {
        self.never.is_none()
    }

    /// Whether a function whose address these take is called by these only.
    pub(crate) fn calls_back(&self, name: &str) -> bool {
        has(&self.callbacks, name)
    }
}

impl Never {
    pub(crate) fn has(&self, name: &str) -> bool {
        has(&self.names, name) && !has(&self.except, name)
    }
}

impl Allowed {
    fn is_for(&self, asked: &HotCall<'_>) -> bool {
        self.roots.as_ref().is_none_or(|roots| *roots == asked.roots.what)
            && self.from.as_ref().is_none_or(|from| has_any(from, asked.caller))
    }
}

impl Pass {
    fn is_for(&self, asked: &HotCall<'_>) -> bool {
        let is_called = match &self.calls {
            Some(calls) => has(calls, asked.name),
            None => asked.root.rsplit("::").next() == Some(asked.name),
        };
        is_called
            && has(&self.roots, asked.root)
            && (has_any(&self.through, asked.caller) || has_any(&[asked.root.to_owned()], asked.caller))
    }
}

fn has(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

fn has_any(patterns: &[String], names: &[String]) -> bool {
    names.iter().any(|name| has(patterns, name))
}

/// Whether a function has a name of the list: its path, whatever its type arguments. `*` stands for anything.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty() || rest.starts_with("::<");
    }
    while let Some(part) = parts.next() {
        match parts.peek() {
            None => return rest.ends_with(part),
            Some(_) => match rest.split_once(part) {
                Some((_, behind)) => rest = behind,
                None => return false,
            },
        }
    }
    true
}
