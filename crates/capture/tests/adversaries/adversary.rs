//! How an adversary is declared.

/// A program that does what nobody expects.
pub struct Adversary {
    /// The name of its test.
    pub name: &'static str,
    /// A description: a sentence without its full stop.
    pub does: &'static str,
    /// Its source below `programs`.
    pub source: &'static str,
    /// Arguments of the program.
    pub words: &'static [&'static str],
    /// For its compiler.
    pub flags: &'static [&'static str],
    /// Libraries that it loads, by their sources; they lie where the loader finds them.
    pub libraries: &'static [&'static str],
    /// Programs that it starts.
    pub beside: &'static [Beside],
    pub preloads: &'static [Preload],
    pub environment: &'static [(&'static str, &'static str)],
    pub ends: End,
    /// Recording of its first process.
    pub recorded: Expected,
    /// And of its children, if it has any that call the driver.
    pub children: Option<Expected>,
    /// Where it is recorded to.
    pub place: Place,
    /// Only root may do what it does.
    pub is_for_root: bool,
}

/// A library that is preloaded, after holdup's unless it says otherwise.
#[derive(Clone, Copy)]
pub enum Preload {
    /// One of ours, by its source.
    Built(&'static str),
    /// The first file that begins so in a package of Debian.
    Package { package: &'static str, file: &'static str },
    /// One of ours that is preloaded before holdup's.
    First(&'static str),
}

/// A program that an adversary starts, by its source.
#[derive(Clone, Copy)]
pub enum Beside {
    Static(&'static str),
    /// With another C library.
    Musl(&'static str),
}

/// Where a recording lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Folder,
    /// A file system of so many bytes.
    Disk(u32),
    /// A file system that cannot be written.
    ReadOnly,
}

/// How a program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// Expectation of the recording of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Every call is there.
    Recorded,
    /// Every call is there or counted as dropped.
    Counted,
    /// There is no file of it, or it is as [`Expected::Counted`].
    Either,
    /// There is no file of it.
    Nothing,
}

impl Expected {
    /// Words for the page.
    pub fn words(self) -> &'static str {
        match self {
            Expected::Recorded => "every call is recorded",
            Expected::Counted => "calls that are not recorded are counted",
            Expected::Either => "recorded or left alone",
            Expected::Nothing => "not recorded",
        }
    }
}

/// One that returns 0, and of which every call is recorded.
pub const fn adversary(name: &'static str, source: &'static str, does: &'static str) -> Adversary {
    Adversary {
        name,
        does,
        source,
        words: &[],
        flags: &[],
        libraries: &[],
        beside: &[],
        preloads: &[],
        environment: &[],
        ends: End::Exit(0),
        recorded: Expected::Recorded,
        children: None,
        place: Place::Folder,
        is_for_root: false,
    }
}

impl Adversary {
    pub const fn words(self, words: &'static [&'static str]) -> Adversary {
        Adversary { words, ..self }
    }

    pub const fn flags(self, flags: &'static [&'static str]) -> Adversary {
        Adversary { flags, ..self }
    }

    pub const fn libraries(self, libraries: &'static [&'static str]) -> Adversary {
        Adversary { libraries, ..self }
    }

    pub const fn beside(self, beside: &'static [Beside]) -> Adversary {
        Adversary { beside, ..self }
    }

    pub const fn preloads(self, preloads: &'static [Preload]) -> Adversary {
        Adversary { preloads, ..self }
    }

    pub const fn environment(self, environment: &'static [(&'static str, &'static str)]) -> Adversary {
        Adversary { environment, ..self }
    }

    pub const fn ends(self, ends: End) -> Adversary {
        Adversary { ends, ..self }
    }

    pub const fn recorded(self, recorded: Expected) -> Adversary {
        Adversary { recorded, ..self }
    }

    pub const fn children(self, children: Expected) -> Adversary {
        Adversary { children: Some(children), ..self }
    }

    pub const fn place(self, place: Place) -> Adversary {
        Adversary { place, ..self }
    }

    /// Does what only root may.
    pub const fn needs_root(self) -> Adversary {
        Adversary { is_for_root: true, ..self }
    }
}
