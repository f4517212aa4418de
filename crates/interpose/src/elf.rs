//! The objects loaded into this process, and the slots through which they call into others.

use libc::{c_int, c_void, dl_phdr_info};
use std::ffi::CStr;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Acquire;

/// Relocations that put a function's address into a slot.
#[cfg(target_arch = "x86_64")]
const SLOTS: [u32; 3] = [7, 6, 1]; // R_X86_64_JUMP_SLOT, GLOB_DAT, 64
#[cfg(target_arch = "aarch64")]
const SLOTS: [u32; 3] = [1026, 1025, 257]; // R_AARCH64_JUMP_SLOT, GLOB_DAT, ABS64

/// Entries of the dynamic section.
const STRTAB: i64 = 5;
const SYMTAB: i64 = 6;
const GNU_HASH: i64 = 0x6fff_fef5;

/// A symbol's type.
const FUNCTION: u8 = 2;

/// A relocation with addend (`Elf64_Rela`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

/// A symbol (`Elf64_Sym`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// An entry of the dynamic section (`Elf64_Dyn`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A loaded object.
pub struct Object<'a> {
    info: &'a dl_phdr_info,
}

/// A place in an object that holds the address of another object's function.
pub struct Slot<'a> {
    /// The function's name.
    pub name: &'a CStr,
    /// The place.
    pub place: *mut *mut c_void,
    /// Whether the loader makes it read-only once the object is loaded.
    guarded: bool,
    /// Whether it stays empty where nobody has the function.
    weak: bool,
    /// The function's number in the object's table of symbols.
    symbol: usize,
}

impl Slot<'_> {
    /// Value of the slot.
    pub fn value(&self) -> *mut c_void {
        self.cell().load(Acquire)
    }

    /// Whether the loader has yet to make it read-only.
    fn is_unguarded(&self) -> bool {
        self.guarded && is_writable(self.place)
    }

    /// The place as others may change it at the same time.
    pub fn cell(&self) -> &AtomicPtr<c_void> {
        // SAFETY: a slot is an aligned pointer in a loaded object.
        unsafe { AtomicPtr::from_ptr(self.place) }
    }
}

/// A place in an object's table of symbols that says where a function is that it makes public.
pub struct Export<'a> {
    /// The function's name.
    pub name: &'a CStr,
    place: *mut *mut c_void,
    base: u64,
    /// Protection of the page that it lies in, as `mprotect` takes it.
    pub protection: c_int,
}

impl Export<'_> {
    /// The function.
    pub fn function(&self) -> *mut c_void {
        (self.cell().load(Acquire) as u64).wrapping_add(self.base) as *mut c_void
    }

    /// Value of the place when it stands for that function: a look-up adds the address
    /// that the object is loaded at, wherever the function lies.
    pub fn value_for(&self, function: *mut c_void) -> *mut c_void {
        (function as u64).wrapping_sub(self.base) as *mut c_void
    }

    /// The place as others may read it at the same time.
    pub fn cell(&self) -> &AtomicPtr<c_void> {
        // SAFETY: an aligned word of a loaded object's table of symbols (`each_export` looks).
        unsafe { AtomicPtr::from_ptr(self.place) }
    }
}

/// Whether a place can be written to, as the kernel says. It adds nothing to what is there.
pub fn is_writable(place: *mut *mut c_void) -> bool {
    const OR: u32 = 1 << 28;
    // SAFETY: errno is the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: sets no bit of the first half of the place, and wakes nobody: nobody waits there.
    let code = unsafe { libc::syscall(libc::SYS_futex, place, operation, 0, 0usize, place, OR) };
    // SAFETY: as above.
    let failure = unsafe { std::mem::replace(&mut *errno, before) };
    code >= 0 || failure != libc::EFAULT
}

/// Where the unwind table of a library or program lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnwindTable {
    /// Its header (`.eh_frame_hdr`), from which the rest is found.
    pub header: Range<usize>,
    /// Behind the last address of the segment that it lies in.
    pub end: usize,
}

/// The hash of a name in the table of public symbols (`DT_GNU_HASH`).
pub fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

impl<'a> Object<'a> {
    /// An object by the loader's description.
    pub fn of(info: &'a dl_phdr_info) -> Object<'a> {
        Object { info }
    }

    /// How many objects had been loaded and unloaded when this one was described.
    pub fn counts(&self) -> (u64, u64) {
        (self.info.dlpi_adds, self.info.dlpi_subs)
    }

    /// From its first address to behind its last.
    pub fn range(&self) -> Range<usize> {
        let loads = || self.headers().iter().filter(|header| header.p_type == libc::PT_LOAD);
        let start = loads().map(|header| header.p_vaddr).min().unwrap_or(0);
        let end = loads().map(|header| header.p_vaddr.wrapping_add(header.p_memsz)).max().unwrap_or(0);
        self.base().wrapping_add(start) as usize..self.base().wrapping_add(end) as usize
    }

    /// Where it is loaded.
    pub fn base(&self) -> u64 {
        self.info.dlpi_addr
    }

    /// Its path; empty for the program.
    pub fn path(&self) -> &'a [u8] {
        if self.info.dlpi_name.is_null() {
            return b"";
        }
        // SAFETY: the loader's name ends in a zero byte.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }.to_bytes()
    }

    fn headers(&self) -> &'a [libc::Elf64_Phdr] {
        // SAFETY: the loader says how many program headers lie there.
        unsafe { std::slice::from_raw_parts(self.info.dlpi_phdr, self.info.dlpi_phnum.into()) }
    }

    /// Whether it contains an address.
    pub fn contains(&self, address: usize) -> bool {
        let within = |header: &libc::Elf64_Phdr| {
            let start = self.base().wrapping_add(header.p_vaddr);
            (start..start.wrapping_add(header.p_memsz)).contains(&(address as u64))
        };
        self.headers().iter().any(|header| header.p_type == libc::PT_LOAD && within(header))
    }

    /// Its unwind table.
    pub fn unwind_table(&self) -> Option<UnwindTable> {
        let header = self.headers().iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let start = self.base().wrapping_add(header.p_vaddr);
        let load = self.load_around(start)?;
        let end = self.base().wrapping_add(load.p_vaddr).wrapping_add(load.p_memsz) as usize;
        let start = start as usize;
        Some(UnwindTable { header: start..start.checked_add(header.p_memsz as usize)?, end })
    }

    /// An address as the dynamic section gives it: glibc relocates most, but not all of them.
    fn address(&self, value: u64) -> u64 {
        if value < self.base() { self.base().wrapping_add(value) } else { value }
    }

    /// Whether it says that it needs a library whose name starts so.
    pub fn needs(&self, start: &[u8]) -> bool {
        const NEEDED: i64 = 1;
        let strings = self.dynamic().iter().find(|entry| entry.tag == STRTAB);
        let Some(strings) = strings.map(|entry| self.address(entry.value)) else { return false };
        self.dynamic().iter().filter(|entry| entry.tag == NEEDED).any(|entry| {
            // SAFETY: the entry gives a place in the string table, whose strings end in zero bytes.
            let name = unsafe { CStr::from_ptr((strings + entry.value) as *const libc::c_char) };
            name.to_bytes().starts_with(start)
        })
    }

    /// The dynamic section, as far as it is used.
    fn dynamic(&self) -> &'a [Dynamic] {
        let Some(dynamic) = self.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
            return &[];
        };
        let first = self.base().wrapping_add(dynamic.p_vaddr) as *const Dynamic;
        let count = dynamic.p_memsz as usize / size_of::<Dynamic>();
        // SAFETY: the dynamic section lies in a loaded segment and has this size.
        let entries = unsafe { std::slice::from_raw_parts(first, count) };
        entries.split(|entry| entry.tag == 0).next().unwrap_or_default()
    }

    /// A function or variable that it makes public, and its bytes; objects without a GNU hash table have none.
    pub fn symbol(&self, name: &CStr, hash: u32) -> Option<(*mut c_void, usize)> {
        let (strings, symbols) = (self.table(STRTAB)?, self.table(SYMTAB)?);
        let hashes = self.table(GNU_HASH)? as *const u32;
        // SAFETY: the loader's own tables, which it reads in the same way: four numbers, a filter of 64-bit
        // words, the first symbol of each bucket, and a hash for each symbol, whose last bit ends a bucket.
        unsafe {
            let [buckets, first, words, shift] = hashes.cast::<[u32; 4]>().read();
            let filter = hashes.add(4).cast::<u64>();
            let word = filter.add((hash / 64 % words.max(1)) as usize).read();
            if buckets == 0 || word >> (hash % 64) & word >> (hash.unbounded_shr(shift) % 64) & 1 == 0 {
                return None;
            }
            let starts = filter.add(words as usize).cast::<u32>();
            let chain = starts.add(buckets as usize);
            let mut at = starts.add((hash % buckets) as usize).read();
            while at >= first {
                let here = chain.add((at - first) as usize).read();
                if here | 1 == hash | 1
                    && let Some(found) = self.public(strings, symbols, at, name)
                {
                    return Some(found);
                }
                at = if here & 1 == 0 { at + 1 } else { 0 };
            }
        }
        None
    }

    /// Calls `visit` with each function that it makes public.
    pub fn each_export(&self, visit: &mut dyn FnMut(Export<'a>)) {
        let (Some(strings), Some(symbols), Some(count)) =
            (self.table(STRTAB), self.table(SYMTAB), self.symbol_count())
        else {
            return;
        };
        for at in 1..u64::from(count) {
            let address = symbols.wrapping_add(at.wrapping_mul(size_of::<Symbol>() as u64));
            // SAFETY: one of the object's own symbols.
            let symbol = unsafe { (address as *const Symbol).read_unaligned() };
            let place = address.wrapping_add(offset_of!(Symbol, value) as u64);
            let Some(protection) = self.protection(place) else { return };
            if symbol.section == 0 || symbol.info & 0xf != FUNCTION || !place.is_multiple_of(8) {
                continue;
            }
            // SAFETY: names lie in the string table and end in zero bytes.
            let name = unsafe { CStr::from_ptr((strings + u64::from(symbol.name)) as *const libc::c_char) };
            visit(Export { name, place: place as *mut *mut c_void, base: self.base(), protection });
        }
    }

    /// How many public symbols it has: one table of hashes has the number, the other ends with the last.
    fn symbol_count(&self) -> Option<u32> {
        const HASH: i64 = 4;
        if let Some(hashes) = self.table(HASH) {
            // SAFETY: the loader's own table: how many buckets, and how many symbols.
            return Some(unsafe { (hashes as *const u32).add(1).read() });
        }
        let hashes = self.table(GNU_HASH)? as *const u32;
        // SAFETY: the loader's own table: four numbers, a filter of 64-bit words, the first symbol of each bucket, and a
        // hash for each symbol. The last bucket that is not empty leads to the last symbols.
        unsafe {
            let [buckets, first, words, _] = hashes.cast::<[u32; 4]>().read();
            let starts = hashes.add(4).cast::<u64>().add(words as usize).cast::<u32>();
            let chain = starts.add(buckets as usize);
            let mut at = (0..buckets as usize).map(|bucket| starts.add(bucket).read()).max()?;
            if at < first {
                return None;
            }
            while chain.add((at - first) as usize).read() & 1 == 0 {
                at += 1;
            }
            Some(at + 1)
        }
    }

    /// A table that the dynamic section says where to find.
    fn table(&self, tag: i64) -> Option<u64> {
        let entry = self.dynamic().iter().find(|entry| entry.tag == tag)?;
        Some(self.address(entry.value)).filter(|at| self.contains(*at as usize))
    }

    /// Protection of the segment that a place lies in, as `mprotect` takes it.
    fn protection(&self, place: u64) -> Option<c_int> {
        let flags = self.load_around(place)?.p_flags;
        let when = |flag: u32, what: c_int| if flags & flag == 0 { 0 } else { what };
        Some(
            when(libc::PF_R, libc::PROT_READ)
                | when(libc::PF_W, libc::PROT_WRITE)
                | when(libc::PF_X, libc::PROT_EXEC),
        )
    }

    /// The address and size of a symbol if it has that name and is defined here.
    ///
    /// # Safety
    ///
    /// The tables are the object's, and the symbol's number is one of them.
    unsafe fn public(
        &self,
        strings: u64,
        symbols: u64,
        at: u32,
        name: &CStr,
    ) -> Option<(*mut c_void, usize)> {
        const THREAD_LOCAL: u8 = 6;
        const INDIRECT: u8 = 10;
        // SAFETY: the caller's promise; names end in zero bytes.
        let (symbol, its_name) = unsafe {
            let symbol = (symbols as *const Symbol).add(at as usize).read_unaligned();
            (symbol, CStr::from_ptr((strings + u64::from(symbol.name)) as *const libc::c_char))
        };
        let plain = symbol.section != 0 && !matches!(symbol.info & 0xf, THREAD_LOCAL | INDIRECT);
        let address = self.base().wrapping_add(symbol.value) as *mut c_void;
        (plain && its_name == name).then_some((address, symbol.size as usize))
    }

    /// Whether the loader is done with it.
    pub fn is_loaded(&self) -> bool {
        let mut done = true;
        self.each_slot(&mut |slot| {
            let filled = self.is_filled(&slot) || slot.weak && slot.value().is_null();
            done = done && filled && !slot.is_unguarded();
        });
        done
    }

    /// Calls `visit` with each slot for a function of another object.
    pub fn each_slot(&self, visit: &mut dyn FnMut(Slot<'a>)) {
        let find = |tag: i64| self.dynamic().iter().find(|entry| entry.tag == tag).map(|entry| entry.value);
        const RELA: i64 = 7;
        const RELASZ: i64 = 8;
        const STRSZ: i64 = 10;
        const PLTRELSZ: i64 = 2;
        const PLTREL: i64 = 20;
        const JMPREL: i64 = 23;
        /// So many relocations at the start of a table name no symbol: mostly nearly all of them.
        const RELACOUNT: i64 = 0x6fff_fff9;
        let (Some(strings), Some(symbols), Some(string_bytes)) = (find(STRTAB), find(SYMTAB), find(STRSZ))
        else {
            return;
        };
        let jump_slots = (find(PLTREL) == Some(RELA as u64)).then(|| (find(JMPREL), find(PLTRELSZ)));
        let nameless = find(RELACOUNT).unwrap_or(0) as usize;
        for (start, bytes, skipped) in [
            jump_slots.map_or((None, None, 0), |(start, bytes)| (start, bytes, 0)),
            (find(RELA), find(RELASZ), nameless),
        ] {
            let (Some(start), Some(bytes)) = (start, bytes) else { continue };
            let start = self.address(start);
            if !self.contains(start as usize) {
                continue;
            }
            for at in skipped..bytes as usize / size_of::<Rela>() {
                // SAFETY: the relocation tables lie in loaded segments and have this size.
                let entry = unsafe { (start as *const Rela).add(at).read_unaligned() };
                let name = self.name(&entry, self.address(strings), self.address(symbols), string_bytes);
                if let Some((name, weak)) = name {
                    let place = self.base().wrapping_add(entry.offset);
                    if self.is_data(place) {
                        let guarded = self.is_guarded(place);
                        let symbol = (entry.info >> 32) as usize;
                        visit(Slot { name, place: place as *mut *mut c_void, guarded, weak, symbol });
                    }
                }
            }
        }
    }

    /// The version of the function that a slot is for, as the object was linked; `None` where it says none.
    pub fn version(&self, slot: &Slot<'_>) -> Option<&'a CStr> {
        const VERSYM: i64 = 0x6fff_fff0;
        const VERNEED: i64 = 0x6fff_fffe;
        const VERNEEDNUM: i64 = 0x6fff_ffff;
        const HIDDEN: u16 = 0x8000;
        let (strings, versions, mut need) = (self.table(STRTAB)?, self.table(VERSYM)?, self.table(VERNEED)?);
        let needs = self.dynamic().iter().find(|entry| entry.tag == VERNEEDNUM)?.value;
        // SAFETY: the loader's own tables: a number for each symbol; for each library that is needed an `Elf64_Verneed`
        // with a chain of `Elf64_Vernaux`, of which the loader checked that it ends.
        unsafe {
            let number = (versions as *const u16).add(slot.symbol).read_unaligned() & !HIDDEN;
            for _ in 0..needs {
                // Version and count in two bytes each, the library's name, the first entry, the next library.
                let [counted, _, first, next] = (need as *const [u32; 4]).read_unaligned();
                let count = counted >> 16;
                let mut entry = need + u64::from(first);
                for _ in 0..count {
                    let [_, other, name, following] = (entry as *const [u32; 4]).read_unaligned();
                    if (other >> 16) as u16 & !HIDDEN == number {
                        return Some(CStr::from_ptr((strings + u64::from(name)) as *const libc::c_char));
                    }
                    entry += u64::from(following);
                }
                need += u64::from(next);
            }
        }
        None
    }

    /// The name of the imported function that a relocation is for, and whether it is a weak one.
    fn name(&self, entry: &Rela, strings: u64, symbols: u64, string_bytes: u64) -> Option<(&'a CStr, bool)> {
        let (kind, number) = (entry.info as u32, (entry.info >> 32) as usize);
        let place = self.base().wrapping_add(entry.offset) as usize;
        if !SLOTS.contains(&kind) || number == 0 || entry.addend != 0 || !self.contains(place) {
            return None;
        }
        // SAFETY: relocations number symbols of the object's own table.
        let symbol = unsafe { (symbols as *const Symbol).add(number).read_unaligned() };
        const UNTYPED: u8 = 0;
        const WEAK: u8 = 2;
        let imported = symbol.section == 0 && matches!(symbol.info & 0xf, FUNCTION | UNTYPED);
        if !imported || u64::from(symbol.name) >= string_bytes {
            return None;
        }
        // SAFETY: the name lies within the string table, whose strings end in zero bytes.
        let name = unsafe { CStr::from_ptr((strings + u64::from(symbol.name)) as *const libc::c_char) };
        Some((name, symbol.info >> 4 == WEAK))
    }

    /// Whether a place may be written to while the object is loaded.
    fn is_data(&self, place: u64) -> bool {
        self.load_around(place).is_some_and(|load| load.p_flags & libc::PF_W != 0)
    }

    /// The segment that a place lies in.
    fn load_around(&self, place: u64) -> Option<&'a libc::Elf64_Phdr> {
        let within = |header: &&libc::Elf64_Phdr| {
            let start = self.base().wrapping_add(header.p_vaddr);
            header.p_type == libc::PT_LOAD && (start..start.wrapping_add(header.p_memsz)).contains(&place)
        };
        self.headers().iter().find(within)
    }

    /// Whether the loader makes the place read-only in the end: it does so for whole pages.
    fn is_guarded(&self, place: u64) -> bool {
        let Some(relro) = self.headers().iter().find(|header| header.p_type == libc::PT_GNU_RELRO) else {
            return false;
        };
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as u64;
        let start = self.base().wrapping_add(relro.p_vaddr);
        let end = start.wrapping_add(relro.p_memsz);
        (start & !(page - 1)..end & !(page - 1)).contains(&place)
    }

    /// Whether the loader is done with a slot. Until then it holds nothing, or an address as the
    /// object's file has it, to which the loader will add where the object lies.
    pub fn is_filled(&self, slot: &Slot<'_>) -> bool {
        let value = slot.value() as usize;
        let unmoved = self.base() != 0 && self.contains((self.base() as usize).wrapping_add(value));
        value != 0 && (self.contains(value) || !unmoved)
    }

    /// Whether the loader is done with a slot and the page it lies in.
    pub fn is_finished(&self, slot: &Slot<'_>) -> bool {
        self.is_filled(slot) && !slot.is_unguarded()
    }
}
