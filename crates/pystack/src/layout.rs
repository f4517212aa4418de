//! Where CPython's structures have their fields, release by release.
//!
//! For 3.10, 3.11 and 3.12 they are constants, taken with `offsetof` from the headers of the releases named at each
//! table; a minor release keeps them (they are part of its ABI, or of structures that its patch releases left
//! alone). From 3.13 the interpreter publishes most of them itself, in `_Py_DebugOffsets` at the start of
//! `_PyRuntime`. All are for 64-bit builds with a global interpreter lock.

/// Offsets that are the same in 3.10 to 3.14: `PyObject`, `PyVarObject`, `PyBytesObject`, `PyASCIIObject`.
pub(crate) mod object {
    /// `PyObject.ob_type`
    pub(crate) const TYPE: usize = 8;
    /// `PyVarObject.ob_size`, also `PyASCIIObject.length`
    pub(crate) const SIZE: usize = 16;
    /// `PyBytesObject.ob_sval`; `PyASCIIObject.state` is at the same place
    pub(crate) const BYTES: usize = 32;
    /// `PyASCIIObject.state`
    pub(crate) const STATE: usize = 32;
    /// As much of a string or bytes object as has the fields above.
    pub(crate) const HEAD: usize = 40;
}

/// How a thread state leads to the innermost frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Innermost {
    /// The thread state points at it.
    Direct,
    /// The thread state points at a `_PyCFrame`, which points at it from this offset.
    Through(usize),
}

/// How a frame says where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    /// `f_lasti`, an `int` at this offset: the last instruction's number in units of two bytes.
    Index(usize),
    /// A pointer at this offset into the code object, whose bytecode begins at `code_start`. It is `prev_instr`,
    /// the last code unit of the last instruction, before 3.13 and `instr_ptr`, the first one of the current
    /// instruction, since; the distance to `code_start` is what the interpreter itself calls `lasti` in both.
    Pointer(usize),
}

/// Which lines a code object has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lines {
    /// Pairs (3.10).
    Pairs,
    /// The location table (3.11 and later).
    Locations,
}

/// Where the global interpreter locks (GIL) are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gils {
    /// One for all interpreters: at this offset of `_PyRuntime` (`ceval.gil`).
    One(usize),
    /// Each interpreter points at its lock (`ceval.gil`), its own or that of the main one.
    Each {
        /// `_PyRuntimeState.interpreters.head`
        head: usize,
        /// `PyInterpreterState.next`
        next: usize,
        /// `PyInterpreterState.ceval.gil`
        gil: usize,
    },
}

/// `struct _gil_runtime_state` of builds with a GIL, Include/internal/pycore_gil.h: the same in 3.10 to 3.14 on 64-bit
/// Linux, where `unsigned long` and pointers have eight bytes.
pub(crate) mod gil {
    /// `last_holder`
    pub(crate) const HOLDER: usize = 8;
    /// `locked`
    pub(crate) const LOCKED: usize = 16;
    /// `cond`
    pub(crate) const CONDITION: usize = 32;
}

/// The offsets of one release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// `_PyRuntimeState._finalizing`
    pub(crate) finalizing: usize,
    /// `PyThreadState.frame`, `.cframe` or `.current_frame`
    pub(crate) thread_frame: usize,
    pub(crate) innermost: Innermost,
    /// `PyThreadState.thread_id`
    pub(crate) thread_id: usize,
    /// `PyThreadState.native_thread_id`, where there is one.
    pub(crate) native_id: Option<usize>,
    /// Where interpreters have their locks.
    pub(crate) gils: Gils,
    /// As much of a frame as has the fields below.
    pub(crate) frame_size: usize,
    /// `f_back` or `previous`
    pub(crate) frame_previous: usize,
    /// `f_code` or `f_executable`
    pub(crate) frame_code: usize,
    /// Bits of it that are a tag, not address (`_PyStackRef`).
    pub(crate) frame_code_tag: usize,
    pub(crate) frame_position: Position,
    /// `owner`, where frames have one.
    pub(crate) frame_owner: Option<usize>,
    /// `co_filename`
    pub(crate) code_file: usize,
    /// `co_qualname`, or `co_name` where there is none
    pub(crate) code_name: usize,
    /// `co_firstlineno`
    pub(crate) code_first_line: usize,
    /// `co_linetable`
    pub(crate) code_lines: usize,
    pub(crate) lines: Lines,
    /// `_co_firsttraceable`: the first instruction of which the interpreter speaks to others.
    pub(crate) code_first_traceable: Option<usize>,
    /// `co_code_adaptive`, or the size of the structure where code is elsewhere
    pub(crate) code_start: usize,
    /// `sizeof(PyASCIIObject)`: where an ASCII string's characters begin
    pub(crate) ascii_size: usize,
    /// `sizeof(PyCompactUnicodeObject)`: where another string's characters begin
    pub(crate) compact_size: usize,
}

/// Room for as much of a thread state, a frame and a code object as any layout wants.
pub(crate) const THREAD_ROOM: usize = 256;
pub(crate) const FRAME_ROOM: usize = 128;
pub(crate) const CODE_ROOM: usize = 256;

/// `owner` of generators' frames: such are always complete.
pub(crate) const OWNED_BY_GENERATOR: u8 = 1;
/// The first `owner` of frames that stand for C code: `FRAME_OWNED_BY_CSTACK` in 3.12 and 3.13,
/// `FRAME_OWNED_BY_INTERPRETER` in 3.14 (where the other one is 4).
pub(crate) const OWNED_BY_C: u8 = 3;

/// CPython 3.10.13: Include/cpython/{pystate,frameobject,code,unicodeobject}.h, Include/internal/pycore_runtime.h.
pub(crate) const V3_10: Layout = Layout {
    finalizing: 16,
    thread_frame: 24,
    innermost: Innermost::Direct,
    thread_id: 176,
    native_id: None,
    gils: Gils::One(352),
    frame_size: 112,
    frame_previous: 24,
    frame_code: 32,
    frame_code_tag: 0,
    frame_position: Position::Index(96),
    frame_owner: None,
    code_file: 104,
    code_name: 112,
    code_first_line: 40,
    code_lines: 120,
    lines: Lines::Pairs,
    code_first_traceable: None,
    code_start: 176,
    ascii_size: 48,
    compact_size: 72,
};

/// CPython 3.11.7: Include/cpython/{pystate,code,unicodeobject}.h, Include/internal/pycore_{frame,runtime}.h.
/// There, `owner` never names C code: frames of C exist since 3.12.
pub(crate) const V3_11: Layout = Layout {
    finalizing: 24,
    thread_frame: 56,
    innermost: Innermost::Through(8),
    thread_id: 152,
    native_id: Some(160),
    gils: Gils::One(360),
    frame_size: 72,
    frame_previous: 48,
    frame_code: 32,
    frame_code_tag: 0,
    frame_position: Position::Pointer(56),
    frame_owner: Some(69),
    code_file: 112,
    code_name: 128,
    code_first_line: 72,
    code_lines: 136,
    lines: Lines::Locations,
    code_first_traceable: Some(168),
    code_start: 184,
    ascii_size: 48,
    compact_size: 72,
};

/// CPython 3.12.1: the same headers.
pub(crate) const V3_12: Layout = Layout {
    innermost: Innermost::Through(0),
    thread_id: 136,
    native_id: Some(144),
    gils: Gils::Each { head: 40, next: 0, gil: 384 },
    frame_previous: 8,
    frame_code: 0,
    frame_owner: Some(70),
    code_first_line: 68,
    code_first_traceable: Some(176),
    code_start: 192,
    ascii_size: 40,
    compact_size: 56,
    ..V3_11
};

/// Where the interpreter has its thread states: what a reader of another process follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lists {
    /// `_PyRuntimeState.interpreters.head`
    pub(crate) interpreters: usize,
    /// `PyInterpreterState.next`
    pub(crate) interpreter_next: usize,
    /// `PyInterpreterState.tstate_head` or `.threads.head`
    pub(crate) threads: usize,
    /// `PyThreadState.next`
    pub(crate) thread_next: usize,
    /// `PyThreadState.native_thread_id`, where there is one.
    pub(crate) thread_native: Option<usize>,
}

/// The same releases and headers as the layouts: Include/internal/pycore_{runtime,interp}.h besides.
const LISTS_3_10: Lists =
    Lists { interpreters: 32, interpreter_next: 0, threads: 8, thread_next: 8, thread_native: None };
const LISTS_3_11: Lists =
    Lists { interpreters: 40, interpreter_next: 0, threads: 16, thread_next: 8, thread_native: Some(160) };
const LISTS_3_12: Lists = Lists { threads: 72, thread_native: Some(144), ..LISTS_3_11 };

impl Lists {
    /// Lists of a release that does not publish its own.
    pub(crate) fn fixed(minor: u8) -> Option<Lists> {
        match minor {
            10 => Some(LISTS_3_10),
            11 => Some(LISTS_3_11),
            12 => Some(LISTS_3_12),
            _ => None,
        }
    }

    /// Lists that 3.13 and later publish, of words that [`Layout::published`] has accepted.
    pub(crate) fn published(words: &[u64; DEBUG_WORDS], hex: u64) -> Option<Lists> {
        let groups = groups(hex)?;
        let at = |group: usize, field: usize| {
            let offset = usize::try_from(*words.get(group + field)?).ok()?;
            (offset < 1 << 24).then_some(offset)
        };
        let lists = Lists {
            interpreters: at(groups.runtime, 2)?,
            interpreter_next: at(groups.interpreter, 2)?,
            threads: at(groups.interpreter, 3)?,
            thread_next: at(groups.thread, 2)?,
            thread_native: Some(at(groups.thread, 6)?),
        };
        lists.fits().then_some(lists)
    }

    /// `PyInterpreterState.gc.collecting`, as 3.13 and later publish it.
    pub(crate) fn collecting(words: &[u64; DEBUG_WORDS], hex: u64) -> Option<usize> {
        let groups = groups(hex)?;
        let [gc, collecting] = [groups.interpreter + groups.collector, groups.string + 5];
        let offset = words.get(gc)?.checked_add(*words.get(collecting)?)?;
        usize::try_from(offset).ok().filter(|offset| *offset < 1 << 24)
    }

    /// The fields of a thread state lie in the room that it is read into.
    fn fits(&self) -> bool {
        self.thread_next.max(self.thread_native.unwrap_or(0)) + 8 <= THREAD_ROOM
    }
}

/// How many 64-bit words of `_Py_DebugOffsets` are read: more than any release has.
pub(crate) const DEBUG_WORDS: usize = 96;

/// Where `_Py_DebugOffsets` has its groups, in words; each begins with the `size` of the structure it describes.
struct Groups {
    runtime: usize,
    interpreter: usize,
    /// The fields of that group with `gc` and `ceval.gil`.
    collector: usize,
    gil: usize,
    thread: usize,
    frame: usize,
    code: usize,
    object: usize,
    bytes: usize,
    /// The collector's group is right behind it.
    string: usize,
    /// `_PyStackRef` in place of a pointer to the code: the bits that are its tag.
    tag: usize,
}

/// CPython 3.13.0, Include/internal/pycore_runtime.h.
static GROUPS_3_13: Groups = Groups {
    runtime: 3,
    interpreter: 6,
    collector: 4,
    gil: 8,
    thread: 19,
    frame: 28,
    code: 34,
    object: 44,
    bytes: 64,
    string: 67,
    tag: 0,
};

/// CPython 3.14.10, Include/internal/pycore_debug_offsets.h and pycore_stackref.h (`Py_TAG_BITS`).
static GROUPS_3_14: Groups = Groups {
    runtime: 3,
    interpreter: 6,
    collector: 5,
    gil: 9,
    thread: 22,
    frame: 31,
    code: 39,
    object: 50,
    bytes: 74,
    string: 77,
    tag: 3,
};

/// The groups of the release whose `Py_Version` this is.
fn groups(hex: u64) -> Option<&'static Groups> {
    match hex >> 16 {
        0x030d => Some(&GROUPS_3_13),
        0x030e => Some(&GROUPS_3_14),
        _ => None,
    }
}

impl Layout {
    /// The layout of a release that does not publish its own.
    pub(crate) fn fixed(minor: u8) -> Option<Layout> {
        match minor {
            10 => Some(V3_10),
            11 => Some(V3_11),
            12 => Some(V3_12),
            _ => None,
        }
    }

    /// The layout that 3.13 and later publish. `hex` is the `Py_Version` that it must be of.
    pub(crate) fn published(words: &[u64; DEBUG_WORDS], hex: u64) -> Option<Layout> {
        let groups = groups(hex)?;
        // Free-threaded builds keep bytecode per thread and have other object headers: refused.
        if words[0] != u64::from_ne_bytes(*b"xdebugpy") || words[1] != hex || words[2] != 0 {
            return None;
        }
        let at = |group: usize, field: usize| -> Option<usize> {
            let (size, offset) = (*words.get(group)?, *words.get(group + field)?);
            (offset < size && size < 1 << 24).then_some(usize::try_from(offset).ok()?)
        };
        let of_gil = |field: usize| words.get(groups.interpreter + groups.gil + field);
        let in_lock = |field: usize| of_gil(field)?.checked_sub(*of_gil(1)?);
        let as_expected = at(groups.object, 1)? == object::TYPE
            && at(groups.bytes, 1)? == object::SIZE
            && at(groups.bytes, 2)? == object::BYTES
            && at(groups.string, 1)? == object::STATE
            && at(groups.string, 2)? == object::SIZE
            // Within the lock of an interpreter's own, which is a part of it.
            && in_lock(3)? == gil::LOCKED as u64
            && in_lock(4)? == gil::HOLDER as u64;
        let code_start = at(groups.code, 9)?;
        let ascii_size = at(groups.string, 3)?;
        let layout = Layout {
            finalizing: at(groups.runtime, 1)?,
            thread_frame: at(groups.thread, 4)?,
            innermost: Innermost::Direct,
            thread_id: at(groups.thread, 5)?,
            native_id: Some(at(groups.thread, 6)?),
            gils: Gils::Each {
                head: at(groups.runtime, 2)?,
                next: at(groups.interpreter, 2)?,
                gil: at(groups.interpreter, groups.gil)?,
            },
            frame_size: at(groups.frame, 4)?,
            frame_previous: at(groups.frame, 1)?,
            frame_code: at(groups.frame, 2)?,
            frame_code_tag: groups.tag,
            frame_position: Position::Pointer(at(groups.frame, 3)?),
            frame_owner: Some(at(groups.frame, 5)?),
            code_file: at(groups.code, 1)?,
            code_name: at(groups.code, 3)?,
            code_first_line: at(groups.code, 5)?,
            code_lines: at(groups.code, 4)?,
            lines: Lines::Locations,
            // Not published; `int _co_firsttraceable; void *co_extra; char co_code_adaptive[]` in both releases.
            code_first_traceable: Some(code_start.checked_sub(16)?),
            code_start,
            ascii_size,
            // `Py_ssize_t utf8_length; char *utf8;` follow in both releases.
            compact_size: ascii_size + 16,
        };
        (as_expected && layout.fits()).then_some(layout)
    }

    /// Every field lies in the room that its structure is read into.
    fn fits(&self) -> bool {
        let (Position::Index(position) | Position::Pointer(position)) = self.frame_position;
        let frame = [self.frame_previous, self.frame_code, position];
        let code = [self.code_file, self.code_name, self.code_first_line, self.code_lines];
        self.thread_size() <= THREAD_ROOM
            && self.frame_size <= FRAME_ROOM
            && self.code_start <= CODE_ROOM
            && frame.iter().all(|at| at + 8 <= self.frame_size)
            && self.frame_owner.is_none_or(|at| at < self.frame_size)
            && code.iter().all(|at| at + 8 <= self.code_start)
            && (object::HEAD..=object::HEAD + 8).contains(&self.ascii_size)
    }

    /// As much of a thread state as has the fields above.
    pub(crate) fn thread_size(&self) -> usize {
        self.thread_frame.max(self.thread_id).max(self.native_id.unwrap_or(0)) + 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `_Py_DebugOffsets` with the values of CPython 3.13.0.
    fn debug_offsets() -> [u64; DEBUG_WORDS] {
        let mut words = [0; DEBUG_WORDS];
        let mut group = |at: usize, fields: &[u64]| words[at..at + fields.len()].copy_from_slice(fields);
        group(0, &[u64::from_ne_bytes(*b"xdebugpy"), 0x030d_00f0, 0]);
        group(3, &[4096, 608, 632]);
        group(6, &[300_000, 7_272, 7_264, 7_344, 7_600, 7_900, 7_908, 7_916, 16, 7_752, 0, 7_768, 7_760]);
        group(19, &[400, 0, 8, 16, 72, 152, 160, 288, 32]);
        group(28, &[80, 8, 0, 56, 72, 70]);
        group(34, &[208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        group(44, &[16, 8]);
        group(64, &[40, 16, 32]);
        group(67, &[64, 32, 16, 40]);
        group(71, &[264, 184]);
        words
    }

    #[test]
    fn fixed_layouts_fit() {
        for minor in 10..=12 {
            assert!(Layout::fixed(minor).unwrap().fits(), "{minor}");
        }
        assert_eq!(Layout::fixed(9), None);
        assert_eq!(Layout::fixed(13), None);
    }

    #[test]
    fn published_layouts() {
        let layout = Layout::published(&debug_offsets(), 0x030d_00f0).unwrap();
        assert_eq!((layout.code_start, layout.code_first_traceable), (200, Some(184)));
        assert_eq!(layout.compact_size, 56);
        assert_eq!(layout.gils, Gils::Each { head: 632, next: 7_264, gil: 16 });
    }

    #[test]
    fn lists() {
        for minor in 10..=12 {
            assert!(Lists::fixed(minor).unwrap().fits(), "{minor}");
        }
        let lists = Lists::published(&debug_offsets(), 0x030d_00f0).unwrap();
        assert_eq!((lists.interpreters, lists.interpreter_next, lists.threads), (632, 7264, 7344));
        assert_eq!((lists.thread_next, lists.thread_native), (8, Some(160)));
        assert_eq!(Lists::collecting(&debug_offsets(), 0x030d_00f0), Some(7_600 + 184));
        let mut words = debug_offsets();
        words[19 + 6] = 1 << 20;
        assert_eq!(Lists::published(&words, 0x030d_00f0), None, "beyond the room for a thread state");
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        let refused = |word: usize, value: u64| {
            let mut words = debug_offsets();
            words[word] = value;
            Layout::published(&words, 0x030d_00f0).is_none()
        };
        assert!(refused(0, 0), "no cookie");
        assert!(refused(1, 0x030d_01f0), "another release's table");
        assert!(refused(2, 1), "free-threaded");
        assert!(refused(23, 4096), "a field beyond its structure");
        assert!(refused(20 + 3, 300), "a field beyond the room for it");
        assert!(refused(45, 16), "another object header");
        assert!(refused(6 + 11, 7_776), "another lock");
        assert_eq!(Layout::published(&debug_offsets(), 0x030f_00f0), None, "a release to come");
    }
}
