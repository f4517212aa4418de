//! The unwind tables of this program's libraries, beside the crate gimli's reading of them.

use super::rule::FRAME_POINTER;
use super::*;
use crate::loader::Loader;
use crate::objects;
use gimli::{BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Pointer, Register, RegisterRule};
use gimli::{Operation, UnwindContext, UnwindSection};

/// The same by the crate gimli.
fn by_gimli(table: &UnwindTable, address: usize) -> Option<CallerRule> {
    // SAFETY: libraries of this process, which are not unloaded.
    let bytes = |start: usize, end: usize| unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start), end - start)
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(table.header.start as u64);
    let header = EhFrameHdr::new(bytes(table.header.start, table.header.end), NativeEndian);
    let header = header.parse(&bases, 8).ok()?;
    let Pointer::Direct(start) = header.eh_frame_ptr() else { return None };
    let entries = EhFrame::new(bytes(start as usize, table.end), NativeEndian);
    let bases = bases.set_eh_frame(start);
    let at = address as u64;
    let found = header.table()?.fde_for_address(&entries, &bases, at, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = found.unwind_info_for_address(&entries, &bases, &mut context, at).ok()?;
    let place = |expression: gimli::UnwindExpression<usize>, wanted: &[bool]| {
        let mut operations = expression.get(&entries).ok()?.operations(row_encoding());
        let Ok(Some(Operation::RegisterOffset { register, offset, .. })) = operations.next() else {
            return None;
        };
        let rest: Vec<_> = std::iter::from_fn(|| operations.next().ok().flatten()).collect();
        let is_word = matches!(rest[..], [Operation::Deref { .. }]);
        let base = Base::of(register.0.into()).filter(|_| is_word || rest.is_empty())?;
        wanted.contains(&is_word).then_some(Place { base, offset })
    };
    let (stack, is_saved) = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            (Place { base: Base::of(register.0.into())?, offset: *offset }, false)
        }
        CfaRule::Expression(expression) => (place(*expression, &[true])?, true),
    };
    let saved = |offset| Place { base: Base::Caller, offset };
    let frame = match row.register(Register(FRAME_POINTER as u16)) {
        None | Some(RegisterRule::SameValue) => None,
        Some(RegisterRule::Offset(offset)) => Some(saved(offset)),
        Some(RegisterRule::Expression(expression)) => Some(place(expression, &[false])?),
        _ => return None,
    };
    let address = match row.register(Register(RETURN_ADDRESS as u16)) {
        Some(RegisterRule::Offset(offset)) => Some(saved(offset)),
        Some(RegisterRule::Expression(expression)) => Some(place(expression, &[false])?),
        Some(RegisterRule::Undefined) => None,
        _ => return None,
    };
    let is_signal = found.cie().is_signal_trampoline();
    Some(CallerRule { stack, is_saved, frame, address, is_signal })
}

/// How expressions are written.
fn row_encoding() -> gimli::Encoding {
    gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 }
}

/// Renews the table of objects; where each begins.
fn renew(begins: &mut dyn FnMut(usize)) {
    let loader = Loader::hold_at_start();
    assert!(loader.is_some(), "nobody holds it for long");
    let Some(loader) = loader else { return };
    objects::renew(&loader);
    loader.each(&mut |object| {
        begins(object.range().start);
        std::ops::ControlFlow::Continue(())
    });
}

#[test]
fn every_loaded_table_is_read_as_gimli_reads_it() {
    let (mut asked, mut answered) = (0, 0);
    let mut places = vec![every_loaded_table_is_read_as_gimli_reads_it as *const () as usize];
    renew(&mut |start| places.push(start));
    for place in places {
        let (Some(range), Some(table)) = (objects::range_around(place), objects::unwind_table(place)) else {
            continue;
        };
        for address in range.step_by(61) {
            // SAFETY: libraries of this process, which are not unloaded.
            let rule = unsafe { caller_rule(&table, address) };
            assert_eq!(rule, by_gimli(&table, address), "{address:#x} of {table:x?}");
            (asked, answered) = (asked + 1, answered + usize::from(rule.is_some()));
        }
    }
    assert!(answered > 10_000, "{answered} of {asked}");
}

#[test]
fn no_table_is_too_strange() {
    let place = no_table_is_too_strange as *const () as usize;
    renew(&mut |_| {});
    let table = objects::unwind_table(place);
    // SAFETY: part of this program.
    let header = table.and_then(|table| unsafe { Bytes::at(table.header.start, table.header.end) });
    let mut header = header.and_then(|header| header.bytes.get(..4096)).unwrap_or_default().to_vec();
    assert_eq!(header.len(), 4096, "this program has a table");
    let mut random = 1u64;
    for _ in 0..20_000 {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let at = (random >> 33) as usize % header.len();
        header[at] = (random >> 56) as u8;
        let bytes = Bytes { bytes: &header, address: header.as_ptr().addr() };
        let skipped = bytes.skip(at);
        assert!(skipped.is_some(), "it is within");
        _ = skipped.and_then(|skipped| rule(bytes, skipped, place));
        _ = bytes.skip(at).and_then(common);
    }
}
