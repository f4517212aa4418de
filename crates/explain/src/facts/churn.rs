//! Objects of the driver that are made and destroyed: how often, by the names of the calls.

/// A kind of object of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Object {
    Context,
    Module,
    Stream,
    Event,
    Graph,
    Pool,
    Texture,
    /// Another process's or another interface's memory, made accessible.
    Mapping,
}

/// How the names of the calls begin, after `cuda`, `cu` or `hip`, that make and destroy an object.
const OBJECTS: [(Object, &str, &str); 12] = [
    (Object::Module, "ModuleLoad", "ModuleUnload"),
    (Object::Module, "LibraryLoad", "LibraryUnload"),
    (Object::Context, "CtxCreate", "CtxDestroy"),
    (Object::Context, "DevicePrimaryCtxRetain", "DevicePrimaryCtxReset"),
    (Object::Stream, "StreamCreate", "StreamDestroy"),
    (Object::Event, "EventCreate", "EventDestroy"),
    (Object::Graph, "GraphInstantiate", "GraphExecDestroy"),
    (Object::Pool, "MemPoolCreate", "MemPoolDestroy"),
    (Object::Texture, "CreateTextureObject", "DestroyTextureObject"),
    (Object::Mapping, "IpcOpenMemHandle", "IpcCloseMemHandle"),
    (Object::Mapping, "ImportExternalMemory", "DestroyExternalMemory"),
    (Object::Mapping, "GraphicsGLRegister", "GraphicsUnregisterResource"),
];

/// Fewest rounds, each of an object that is made after one was destroyed, that are a habit: a choice.
const ROUNDS: u64 = 5;

/// Modules of the same kernels that are loaded again: so many times as many as there are kernels. A choice.
const SAME: u64 = 3;

/// How often a process made and destroyed objects of a kind.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Churn {
    pub made: u64,
    pub destroyed: u64,
    /// How often graphs were launched, or kernels of modules.
    pub launched: u64,
    /// How many kernels are in the modules that were used.
    pub kernels: u64,
    /// How often one was made after one was destroyed.
    rounds: u64,
    last_destroyed: bool,
}

impl Churn {
    pub fn add(&mut self, destroys: bool) {
        self.made += u64::from(!destroys);
        self.destroyed += u64::from(destroys);
        self.rounds += u64::from(self.last_destroyed && !destroys);
        self.last_destroyed = destroys;
    }

    /// Whether most objects live for a round: those that are kept are not destroyed before the end. Graphs that are launched once or twice
    /// are of no more use, whether they are destroyed or not, and so are modules of the same few kernels.
    pub fn is_habit(&self) -> bool {
        let is_used_up = self.launched >= self.made && self.launched <= self.made * 2;
        let is_used_up = is_used_up && self.made >= self.kernels * SAME;
        self.comes_back() && self.destroyed * 2 >= self.made || self.made > ROUNDS && is_used_up
    }
}

impl Churn {
    /// Whether they are made and destroyed again and again.
    pub fn comes_back(&self) -> bool {
        self.rounds >= ROUNDS
    }

    /// Whether these are objects of processes that come and go: of three generations at least, as several may live at once.
    pub fn is_of_generations(&self) -> bool {
        self.rounds >= 2 && self.made > ROUNDS
    }
}

/// The name of a call without the prefix of its interface.
pub(super) fn bare(name: &str) -> Option<&str> {
    ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix))
}

pub(super) fn launches_graph(name: &str) -> bool {
    bare(name).is_some_and(|bare| bare.starts_with("GraphLaunch"))
}

/// The kind of object that a call makes or destroys, and whether it destroys it.
pub(super) fn object(name: &str) -> Option<(Object, bool)> {
    let bare = bare(name)?;
    OBJECTS.iter().find_map(|(object, makes, destroys)| {
        let destroys = bare.starts_with(destroys);
        (destroys || bare.starts_with(makes)).then_some((*object, destroys))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_by_the_names_of_their_calls() {
        assert_eq!(object("cudaStreamCreateWithFlags"), Some((Object::Stream, false)));
        assert_eq!(object("cuStreamDestroy_v2"), Some((Object::Stream, true)));
        assert_eq!(object("cudaGraphInstantiateWithFlags"), Some((Object::Graph, false)));
        assert_eq!(object("cudaGraphExecDestroy"), Some((Object::Graph, true)));
        assert_eq!(object("cuIpcOpenMemHandle_v2"), Some((Object::Mapping, false)));
        assert_eq!(object("cudaIpcGetMemHandle"), None, "it makes nothing");
        assert_eq!(object("cudaGraphLaunch"), None);
    }

    /// Objects that are made (`+`) and destroyed (`-`).
    fn churn(calls: &str) -> Churn {
        let mut churn = Churn::default();
        calls.chars().for_each(|call| churn.add(call == '-'));
        churn
    }

    #[test]
    fn objects_that_are_kept_are_no_habit() {
        let of = |calls: &str| churn(calls).is_habit();
        assert!(of("+-+-+-+-+-+-"));
        assert!(of("++--++--++--++--++--++--"));
        assert!(!of("++++++------"), "a set for the whole program");
        assert!(!of("+-+-+-"), "a few");
        assert!(!of("+++++++++++++++++++-+-+-+-+-+-"), "most are kept");
    }

    #[test]
    fn modules_of_the_same_kernels_are_a_habit() {
        let of = |made, launched, kernels| Churn { made, launched, kernels, ..Churn::default() }.is_habit();
        assert!(of(30, 30, 2));
        assert!(!of(30, 30, 20), "most kernels are new");
        assert!(!of(30, 300, 2), "each is launched many times");
        assert!(!of(4, 4, 1), "a few");
    }

    #[test]
    fn processes_come_and_go_in_generations() {
        let of = |calls: &str| churn(calls).is_of_generations();
        assert!(of("++--++--++--"));
        assert!(!of("++++++------"), "ranks of one job");
        assert!(!of("+-+-+-"), "a few");
    }
}
