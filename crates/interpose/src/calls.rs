//! Functions that stand before the driver's entry points.
//!
//! The driver's functions take integers and pointers only, so one kind of function can stand
//! before all of them: it passes on as many words as the longest takes. Words that a shorter
//! function does not take are whatever lies in the registers and on the caller's stack.

use crate::elf::{self, Object};
use crate::thread::{CallRef, Thread};
use crate::{Function, Hooks, Launch, Span, Ticks, hooks, is_recording, launches, names, now, patch};
use libc::{c_char, c_int, c_void};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};

/// Words passed on: `cuLaunchKernel` takes 11, the longest of others 13.
pub const ARGUMENTS: usize = 14;

/// Most functions that can be wrapped.
const MOST: usize = 768;

/// It may unwind: a thread can be cancelled inside a call, which is in the driver's own waits.
type Entry = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> c_int;

/// A function of the driver that is wrapped.
#[repr(align(32))]
pub struct Wrapped {
    /// The driver's function.
    real: AtomicPtr<c_void>,
    number: AtomicU32,
    shape: AtomicU32,
    /// 1 when it launches a kernel, else 0.
    launches: AtomicU32,
    name: AtomicU32,
}

impl Wrapped {
    /// None yet.
    pub(crate) const fn new() -> Wrapped {
        Wrapped {
            real: AtomicPtr::new(std::ptr::null_mut()),
            number: AtomicU32::new(0),
            launches: AtomicU32::new(0),
            shape: AtomicU32::new(0),
            name: AtomicU32::new(0),
        }
    }

    /// The driver's function; null for none yet.
    #[inline]
    pub(crate) fn real(&self) -> *mut c_void {
        self.real.load(Acquire)
    }

    /// Makes it stand for a function. Only then may a thunk of it be handed out.
    pub(crate) fn set(&self, Function { number, shape, launch }: Function, real: *mut c_void) {
        self.number.store(number, Relaxed);
        self.shape.store(shape, Relaxed);
        self.launches.store((launch != Launch::No).into(), Relaxed);
        self.real.store(real, Release);
    }

    /// In a fork's child: it has no name.
    pub(crate) fn forget_name(&self) {
        self.name.store(0, Relaxed);
    }

    /// Its number, as [`Hooks::number`] gave it.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number.load(Relaxed)
    }

    /// Its [`Function::shape`].
    #[inline]
    pub fn shape(&self) -> u32 {
        self.shape.load(Relaxed)
    }

    /// Its name for this process, once [`Hooks::name`] gave one.
    #[inline]
    pub fn name(&self) -> u32 {
        self.name.load(Relaxed)
    }
}

static WRAPPED: [Wrapped; MOST] = [const { Wrapped::new() }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What to hand out for a function of the driver: one that tells of its calls if they are worth it,
/// else the function itself. One of `cuGetProcAddress` wraps what it gives.
pub fn wrap(name: &CStr, real: *mut c_void) -> *mut c_void {
    let bytes = name.to_bytes();
    if real.is_null() {
        return real;
    }
    if bytes.starts_with(b"cuGetProcAddress") {
        return look_up(real);
    }
    // A library may answer its own look-ups with what it was handed out itself.
    if !names::is_interesting(bytes) || is_thunk(real) {
        return real;
    }
    let known = &WRAPPED[..COUNT.load(Acquire).min(MOST)];
    let known = known.iter().position(|wrapped| wrapped.real() == real).and_then(thunk_of);
    known.or_else(|| launches::thunk_of(real)).or_else(|| add(name, real)).unwrap_or(real)
}

/// Whether a function is one that stands before another.
fn is_thunk(function: *mut c_void) -> bool {
    launches::is_thunk(function) || THUNKS.iter().any(|thunk| *thunk as *mut c_void == function)
}

/// The function that stands before the one in that place.
fn thunk_of(at: usize) -> Option<*mut c_void> {
    THUNKS.get(at).map(|thunk| *thunk as *mut c_void)
}

/// Makes a function stand before that one. A thunk is handed out as it is: no one wraps it again by
/// mistake.
fn add(name: &CStr, real: *mut c_void) -> Option<*mut c_void> {
    let function = (hooks()?.number)(name);
    let plain = if function.launch == Launch::Plain { launches::add(function, real) } else { None };
    plain.or_else(|| {
        let at = COUNT.fetch_add(1, AcqRel);
        WRAPPED.get(at)?.set(function, real);
        thunk_of(at)
    })
}

/// A function with a number of its own.
///
/// # Safety
///
/// As the driver's function that it stands for.
#[allow(clippy::too_many_arguments)]
unsafe extern "C-unwind" fn thunk<const AT: usize>(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    g: usize,
    h: usize,
    i: usize,
    j: usize,
    k: usize,
    l: usize,
    m: usize,
    n: usize,
) -> c_int {
    // SAFETY: the caller's own words.
    unsafe { run(&WRAPPED[AT], &[a, b, c, d, e, f, g, h, i, j, k, l, m, n]) }
}

/// The arguments of a wrapped call; those beyond what the function takes mean nothing.
pub type Arguments = [usize; ARGUMENTS];

/// # Safety
///
/// `args` are what the caller of `wrapped` gave.
#[inline]
unsafe fn run(wrapped: &'static Wrapped, args: &Arguments) -> c_int {
    let begun = begin(wrapped);
    // SAFETY: a function of the driver with integer and pointer arguments, of which it takes the first
    // ones; a thunk is handed out only after `real` was stored.
    let real = unsafe { std::mem::transmute::<*mut c_void, Entry>(wrapped.real()) };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *args;
    // SAFETY: as above.
    let result = unsafe { real(a, b, c, d, e, f, g, h, i, j, k, l, m, n) };
    if let Some(begun) = begun {
        let span = begun.end();
        (begun.hooks.called)(begun.thread, wrapped, args, span, result);
    }
    result
}

/// A call that is told of.
pub(crate) struct Begun {
    pub(crate) thread: &'static Thread,
    hooks: &'static Hooks,
    /// The call it is made in.
    outer: CallRef,
    start: Ticks,
}

impl Begun {
    /// The call is over.
    #[inline]
    pub(crate) fn end(&self) -> Span {
        let end = now();
        self.thread.set_call(self.outer);
        Span { start: self.start, end }
    }
}

/// A wrapped call begins; `None` when it is not to be told of.
#[inline]
pub(crate) fn begin(wrapped: &'static Wrapped) -> Option<Begun> {
    if !is_recording() {
        return None;
    }
    let (thread, hooks) = (Thread::current()?, hooks()?);
    let name = match wrapped.name() {
        name if name != 0 && !thread.is_unplaced() => name,
        _ => first(thread, hooks, wrapped),
    };
    let start = now();
    let outer = thread.enter(CallRef { function: name, since: start }, wrapped.launches.load(Relaxed));
    Some(Begun { thread, hooks, outer, start })
}

#[cold]
#[inline(never)]
fn first(thread: &'static Thread, hooks: &Hooks, wrapped: &Wrapped) -> u32 {
    let name = (hooks.name)(thread, wrapped.number());
    wrapped.name.store(name, Relaxed);
    name
}

macro_rules! thunks {
    ($($row:literal)*) => {
        [$(
            thunk::<{ $row * 16 }>, thunk::<{ $row * 16 + 1 }>, thunk::<{ $row * 16 + 2 }>,
            thunk::<{ $row * 16 + 3 }>, thunk::<{ $row * 16 + 4 }>, thunk::<{ $row * 16 + 5 }>,
            thunk::<{ $row * 16 + 6 }>, thunk::<{ $row * 16 + 7 }>, thunk::<{ $row * 16 + 8 }>,
            thunk::<{ $row * 16 + 9 }>, thunk::<{ $row * 16 + 10 }>, thunk::<{ $row * 16 + 11 }>,
            thunk::<{ $row * 16 + 12 }>, thunk::<{ $row * 16 + 13 }>, thunk::<{ $row * 16 + 14 }>,
            thunk::<{ $row * 16 + 15 }>,
        )*]
    };
}

static THUNKS: [Entry; MOST] = thunks!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
    24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
);

/// `cuGetProcAddress` and its second version, which has one argument more.
type LookUp = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_void) -> c_int;

static LOOK_UPS: [AtomicPtr<c_void>; 4] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 4];
static LOOK_UP_HOOKS: [LookUp; 4] =
    [look_up_hook::<0>, look_up_hook::<1>, look_up_hook::<2>, look_up_hook::<3>];

/// What to hand out for a version of `cuGetProcAddress`.
fn look_up(real: *mut c_void) -> *mut c_void {
    if LOOK_UP_HOOKS.iter().any(|hook| *hook as *mut c_void == real) {
        return real;
    }
    for (known, hook) in LOOK_UPS.iter().zip(LOOK_UP_HOOKS) {
        let before = known.compare_exchange(std::ptr::null_mut(), real, AcqRel, Acquire);
        if before.is_ok() || before == Err(real) {
            return hook as *mut c_void;
        }
    }
    real
}

/// # Safety
///
/// As `cuGetProcAddress`; a caller of the version with four arguments gives no fifth, and the
/// driver's function does not look at it.
unsafe extern "C" fn look_up_hook<const AT: usize>(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_void,
) -> c_int {
    let real = LOOK_UPS[AT].load(Acquire);
    // SAFETY: the hook is handed out only after the driver's function was stored.
    let result =
        unsafe { std::mem::transmute::<*mut c_void, LookUp>(real)(symbol, function, version, flags, status) };
    if result == 0 && !symbol.is_null() && !function.is_null() {
        // SAFETY: the driver took the name as a string and wrote the function's address there.
        unsafe { *function = wrap(CStr::from_ptr(symbol), *function) };
    }
    result
}

/// Most different functions of the driver that libraries are linked with.
const MOST_IMPORTS: usize = 512;

/// Longest name of one, with its zero byte; the driver's longest has 43 bytes.
const MOST_NAME: usize = 64;

/// A function of the driver that is looked up when it is first called.
struct Import {
    name: UnsafeCell<[u8; MOST_NAME]>,
    /// What goes into the slots; null to leave them alone.
    function: AtomicPtr<c_void>,
}
// SAFETY: names are written while IMPORTING is held, before IMPORTED counts them, and never again.
unsafe impl Sync for Import {}

static IMPORTS: [Import; MOST_IMPORTS] = [const {
    Import { name: UnsafeCell::new([0; MOST_NAME]), function: AtomicPtr::new(std::ptr::null_mut()) }
}; MOST_IMPORTS];
static IMPORTED: AtomicUsize = AtomicUsize::new(0);
/// Somebody is at it.
static IMPORTING: AtomicBool = AtomicBool::new(false);

/// Puts the wrapped functions into the slots of libraries and programs that are linked with the
/// driver instead of looking its functions up. `resolve` gives the function that a name stands for,
/// null for none: a slot may still hold what looks it up.
///
/// `resolve` runs while no library is looked at: it may wait for a thread that loads one, and that
/// thread for whoever looks.
pub fn wrap_imports(resolve: &dyn Fn(&CStr) -> *mut c_void) {
    if IMPORTING.swap(true, AcqRel) {
        return;
    }
    let before = IMPORTED.load(Acquire);
    each_import(true, &|_| true, &mut |slot, bound| {
        if bound.is_none() {
            remember(slot.name);
        }
    });
    for import in &IMPORTS[before..IMPORTED.load(Acquire)] {
        let real = resolve(import.name());
        let function = wrap(import.name(), real);
        if function != real {
            import.function.store(function, Release);
        }
    }
    fill_imports(true, &|_| true);
    IMPORTING.store(false, Release);
}

/// As [`wrap_imports`], for libraries that were loaded since and that say that they need the driver.
/// Nothing is looked up. False when a library was being loaded: try again. Unless `patient`, one that
/// looks so is taken as it is.
pub fn wrap_late_imports(patient: bool) -> bool {
    if IMPORTING.swap(true, AcqRel) {
        return false;
    }
    // Where relocations are many, reading them all takes longer than most calls.
    let finished = fill_imports(patient, &|object| object.needs(b"libcuda.so"));
    IMPORTING.store(false, Release);
    finished
}

/// In a fork's child: whoever was at it is not here, and functions have no names.
pub fn forget_all() {
    IMPORTING.store(false, Release);
    WRAPPED[..COUNT.load(Acquire).min(MOST)].iter().for_each(Wrapped::forget_name);
    launches::forget_all();
}

impl Import {
    fn name(&self) -> &CStr {
        // SAFETY: written before it was counted, and ends in a zero byte.
        unsafe { CStr::from_ptr(self.name.get().cast()) }
    }
}

/// The import of that name.
fn import(name: &CStr) -> Option<&'static Import> {
    let known = &IMPORTS[..IMPORTED.load(Acquire)];
    known.iter().find(|import| import.name() == name)
}

/// Makes a name known. One that is too long, or too many, is left alone.
fn remember(name: &CStr) {
    let (bytes, at) = (name.to_bytes_with_nul(), IMPORTED.load(Relaxed));
    if bytes.len() > MOST_NAME || import(name).is_some() {
        return;
    }
    if let Some(import) = IMPORTS.get(at) {
        // SAFETY: IMPORTING is held, and nobody reads what is not counted.
        unsafe { (&mut *import.name.get())[..bytes.len()].copy_from_slice(bytes) };
        IMPORTED.store(at + 1, Release);
    }
}

/// Changes all slots for which there is a function, in libraries that are `wanted`.
fn fill_imports(patient: bool, wanted: &dyn Fn(&Object<'_>) -> bool) -> bool {
    each_import(patient, wanted, &mut |slot, bound| {
        let function = match bound {
            // Whatever it is: the driver's function, or that of a library that stands before it.
            Some(real) => wrap(slot.name, real),
            None => import(slot.name).map_or(std::ptr::null_mut(), |import| import.function.load(Acquire)),
        };
        if !function.is_null() && bound != Some(function) {
            patch::put(&slot, function);
        }
    })
}

/// Calls `visit` with each slot for a function of the driver that is worth wrapping, and the
/// function that is in it unless that is still to be looked up. Slots that are wrapped are passed
/// over, and those that the loader is not done with: then it returns false.
fn each_import(
    patient: bool,
    wanted: &dyn Fn(&Object<'_>) -> bool,
    visit: &mut dyn FnMut(elf::Slot<'_>, Option<*mut c_void>),
) -> bool {
    let own = elf::range_around(look_up as *const c_void as usize);
    let mut finished = true;
    elf::each_object(&mut |object| {
        let path = object.path();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if object.contains(own.start) || name.starts_with(b"libcuda.so") || !wanted(&object) {
            return ControlFlow::Continue(());
        }
        object.each_slot(&mut |slot| {
            let bytes = slot.name.to_bytes();
            let wanted = names::is_interesting(bytes) || bytes.starts_with(b"cuGetProcAddress");
            if !bytes.starts_with(b"cu") || !wanted || own.contains(&(slot.value() as usize)) {
                return;
            }
            if object.is_finished(&slot) || !patient && object.is_filled(&slot) {
                let bound = !object.contains(slot.value() as usize);
                let function = slot.value();
                visit(slot, bound.then_some(function));
            } else {
                finished = false;
            }
        });
        ControlFlow::Continue(())
    });
    finished
}
