//! One event of a viewer: a slice of time with arguments, and the arrows that begin or end there.

use super::names::Name;
use trace::Ns;

/// Declares a closed list of words with one number each, so that writers can intern them by number.
macro_rules! words {
    ($(#[$doc:meta])* $list:ident { $($word:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $list { $($word,)+ }

        impl $list {
            /// Number of words.
            pub const COUNT: usize = [$($list::$word,)+].len();

            pub fn text(self) -> &'static str {
                match self { $($list::$word => $text,)+ }
            }
        }
    };
}

words! {
    /// The category of an event.
    Category {
        Call = "call",
        Kernel = "kernel",
        Memcpy = "memcpy",
        Memset = "memset",
        OtherOp = "operation",
        Operator = "operator",
        User = "user",
        Python = "python",
        Overhead = "overhead",
        OtherRange = "range",
        Wait = "wait",
        Loss = "loss",
        Counter = "counter",
        About = "about",
        Engine = "engine",
        State = "state",
        Release = "release",
        Sample = "sample",
    }
}

words! {
    /// The name of an argument.
    Key {
        Api = "api",
        Block = "block",
        BlockedNs = "blocked ns",
        Bytes = "bytes",
        CalledBy = "called by",
        Confidence = "confidence",
        Copy = "direction",
        Correlation = "correlation",
        Domain = "domain",
        DynamicShared = "dynamic shared memory",
        Evidence = "evidence",
        Finding = "finding",
        From = "from",
        GraphNode = "graph node",
        Grid = "grid",
        Handoff = "hand-off ns",
        HeldIn = "held in",
        Holder = "holder",
        HolderPlace = "holder at",
        Holders = "threads that held it",
        Kernel = "kernel",
        Layer = "lock of",
        Library = "library",
        Lock = "lock",
        LockKind = "kind of lock",
        LockMode = "lock mode",
        LostNs = "lost ns",
        Object = "object",
        Operator = "operator",
        Place = "place",
        Rate = "GB/s",
        Registers = "registers",
        ReleasedIn = "released in",
        Releaser = "released by",
        ReleaserPlace = "released at",
        Result = "result",
        RunnableNs = "runnable ns",
        RunningNs = "running ns",
        Stack = "stack",
        State = "state at the end",
        StaticShared = "static shared memory",
        Stream = "stream",
        SystemCall = "system call",
        To = "to",
        WaitsFor = "waits for",
    }
}

/// A part of a track's time.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    pub start: Ns,
    pub end: Ns,
    pub name: Name,
    pub category: Category,
}

/// The arguments and arrows of a slice.
#[derive(Default)]
pub(crate) struct Detail<'a> {
    pub args: Vec<(Key, Value<'a>)>,
    pub flows: Vec<Flow>,
}

impl<'a> Detail<'a> {
    pub fn clear(&mut self) {
        self.args.clear();
        self.flows.clear();
    }

    pub fn add(&mut self, key: Key, value: Value<'a>) {
        self.args.push((key, value));
    }

    /// Adds a number, unless it is 0, which in a trace means "not stated".
    pub fn add_stated(&mut self, key: Key, number: i64) {
        if number != 0 {
            self.add(key, Value::Int(number));
        }
    }

    /// Adds a word of a closed vocabulary, unless it is `unknown`.
    pub fn add_known(&mut self, key: Key, word: &'static str) {
        if word != "unknown" {
            self.add(key, Value::Text(word));
        }
    }
}

/// The value of an argument.
pub(crate) enum Value<'a> {
    Int(i64),
    Real(f64),
    Text(&'a str),
    Made(String),
    Name(Name),
    List(Vec<Name>),
}

/// An end of an arrow.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    /// The same at both ends, unique within the export.
    pub id: u64,
    pub name: Name,
    pub category: Category,
    /// The time in the slice at which it begins or ends: if possible, not before the other end.
    pub at: Ns,
    pub is_start: bool,
}
