//! Appends a trace to another one, as further processes on further GPUs.

use crate::model::*;
use crate::moved::{Moved, Rows};
use crate::{Clock, Lost, Meta, Ns, Strings, Sym};

impl Trace {
    /// Appends the rows of another trace, `shift` ns later. Its processes and devices are others than this one's, even if they
    /// have the same numbers; only devices with one UUID are the same.
    pub fn append(&mut self, other: &Trace, shift: Ns) {
        self.append_meta(&other.meta);
        let texts = intern(&mut self.strings, &other.strings);
        let mut rows = self.rows().map(|rows| Rows::Behind(*rows));
        let (devices, are_new) = self.devices_of(other, &texts);
        rows.devices = devices;
        let to = Moved { rows: &rows, texts: Some(&texts), shift };
        macro_rules! append {
            ($($(#[$doc:meta])* $field:ident $columns:ident $id:ident;)*) => {$(
                append!(@ $field);
            )*};
            (@ devices) => {
                let mut new = other.devices.clone();
                new.retain(&are_new);
                self.devices.append_moved(&new, &to);
            };
            (@ $field:ident) => {
                self.$field.append_moved(&other.$field, &to);
            };
        }
        tables!(append);
    }

    fn append_meta(&mut self, of: &Meta) {
        let Meta { clock, threads_inferred, locks_watched, lost, left_out, .. } = of;
        let Lost { unmatched_calls, unmatched_ops, records, reasons, truncated } = lost;
        let meta = &mut self.meta;
        if *clock == Clock::Separate {
            meta.clock = Clock::Separate;
        }
        meta.threads_inferred |= threads_inferred;
        meta.locks_watched &= locks_watched;
        let own = &mut meta.lost;
        own.truncated |= truncated;
        for (own, more) in [
            (&mut own.records, records),
            (&mut own.unmatched_calls, unmatched_calls),
            (&mut own.unmatched_ops, unmatched_ops),
        ] {
            *own = own.saturating_add(*more);
        }
        reasons.iter().for_each(|(why, count)| own.reason(why, *count));
        left_out.iter().for_each(|(what, count)| meta.leave_out(what, *count));
    }

    /// The rows of another trace's devices, and which of them are not there yet.
    fn devices_of(&self, other: &Trace, texts: &[Sym]) -> (Rows, Vec<bool>) {
        let known = |uuid: Sym| match self.text(uuid) {
            "" => None,
            _ => self.devices.ids().find(|known| self.devices.uuid[*known] == uuid),
        };
        let known: Vec<_> = other.devices.uuid.iter().map(|uuid| known(texts[*uuid])).collect();
        let mut new = (self.devices.len()..).map(DeviceId::new);
        let rows = known.iter().filter_map(|known| known.or_else(|| new.next())).map(|row| row.0);
        (Rows::Each(rows.collect()), known.iter().map(|known| known.is_none()).collect())
    }
}

/// The symbol of each text in another interner.
fn intern(strings: &mut Strings, other: &Strings) -> Vec<Sym> {
    other.iter().map(|(_, text)| strings.intern(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process whose only call asked for the only operation of its device.
    fn one(pid: i64, name: &str) -> Trace {
        let mut trace = Trace::default();
        let [call, kernel] = [name, "k"].map(|name| trace.strings.intern(name));
        let process = trace.processes.push(Process { pid, ..Process::default() });
        let thread = trace.threads.push(Thread { process, tid: pid, ..Thread::default() });
        let device = trace.devices.push(Device::default());
        let context = trace.contexts.push(Context { process, device, number: 1 });
        let stream = trace.streams.push(Stream { context, number: 7 });
        let frame = trace.frames.push(Frame { function: call, ..Frame::default() });
        let stack = trace.stacks.push(Stack { frame, ..Stack::default() });
        let row = Call { start: 10, end: 20, thread, name: call, correlation: 1, stack, ..Call::default() };
        trace.calls.push(row);
        trace.ops.push(Op { start: 30, end: 40, name: kernel, stream, correlation: 1, ..Op::default() });
        trace.join();
        trace
    }

    #[test]
    fn rows_keep_what_they_refer_to() {
        let mut all = one(1, "a");
        all.append(&one(2, "b"), 100);
        all.append(&one(3, "a"), -5);
        let calls: Vec<_> = all.calls.ids().map(|call| all.calls.row(call)).collect();
        let seen = calls.iter().map(|call| {
            let function = all.frames.function[all.stacks.frame[call.stack].index()];
            (call.start, all.text(call.name), all.text(function), all.threads.tid[call.thread])
        });
        assert_eq!(seen.collect::<Vec<_>>(), [(10, "a", "a", 1), (110, "b", "b", 2), (5, "a", "a", 3)]);
        for (at, op) in all.ops.ids().map(|op| all.ops.row(op)).enumerate() {
            assert_eq!(op.call.index(), at);
            assert_eq!(all.device_of_stream(op.stream).index(), at);
            assert_eq!(all.process_of_stream(op.stream).index(), at);
        }
    }

    #[test]
    fn devices_with_one_uuid_are_one() {
        let with = |pid, uuid| {
            let mut trace = one(pid, "a");
            trace.devices.uuid[0] = trace.strings.intern(uuid);
            trace
        };
        let mut all = with(1, "x");
        [with(2, "y"), with(3, "x"), with(4, ""), with(5, "")].iter().for_each(|trace| all.append(trace, 0));
        let devices = all.ops.stream.iter().map(|stream| all.device_of_stream(*stream).index());
        assert_eq!(devices.collect::<Vec<_>>(), [0, 1, 0, 2, 3]);
    }
}
