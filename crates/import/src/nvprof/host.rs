//! Host time that the program marked (NVTX) or the tracer and the driver used.

use super::times::{TIMES, times};
use crate::Problem;
use crate::overhead::cupti;
use crate::sqlite::{Builder, Value};
use rustc_hash::FxHashMap;
use trace::{Ns, Range, RangeKind, Sym, ThreadId};

pub(super) const OVERHEAD: &str = "CUPTI_ACTIVITY_KIND_OVERHEAD";
pub(super) const MARKER: &str = "CUPTI_ACTIVITY_KIND_MARKER";

/// Flags of a marker.
const INSTANT: i64 = 1;
const START: i64 = 2;
const END: i64 = 4;

/// One end of a range; the other end is another row.
struct Marker {
    time: Ns,
    name: Sym,
    thread: ThreadId,
}

pub(super) fn read(rows: &mut Builder<'_>) -> Result<(), Problem> {
    overhead(rows)?;
    markers(rows)
}

fn overhead(rows: &mut Builder<'_>) -> Result<(), Problem> {
    let columns = ["start", "end", "overheadKind", "objectKind", "objectId"];
    rows.each(OVERHEAD, columns, |rows, [start, end, kind, object_kind, object]| {
        let times = times(start, end)?;
        let name = rows.trace.strings.intern(cupti(kind.int().unwrap_or(0)));
        rows.overhead(times, object_thread(object_kind, object), name);
        Ok(())
    })
}

/// Pairs the two rows of each range by their id, in any order.
fn markers(rows: &mut Builder<'_>) -> Result<(), Problem> {
    let (mut starts, mut ends) = (FxHashMap::default(), FxHashMap::default());
    let mut instants = 0;
    let columns = ["timestamp", "flags", "id", "name", "objectKind", "objectId"];
    rows.each(MARKER, columns, |rows, [time, flags, id, name, object_kind, object]| {
        let flags = flags.int().unwrap_or(0);
        if flags & INSTANT != 0 {
            instants += 1;
            return Ok(());
        }
        let time = time.int().filter(|time| TIMES.contains(time)).ok_or("no usable time")?;
        let id = id.int().ok_or("no id")?;
        let thread = rows.thread(object_thread(object_kind, object));
        if flags & START != 0 {
            let name = rows.names.sym(&mut rows.trace.strings, name)?;
            starts.insert(id, Marker { time, name, thread });
        } else if flags & END != 0 {
            ends.insert(id, time);
        } else {
            return Err("neither start nor end".into());
        }
        let (Some(start), Some(&end)) = (starts.get(&id), ends.get(&id)) else { return Ok(()) };
        let Marker { time: start, name, thread } = *start;
        starts.remove(&id);
        ends.remove(&id);
        if end < start {
            return Err("ends before it starts".into());
        }
        rows.trace.ranges.push(Range { start, end, thread, kind: RangeKind::User, name, ..Range::default() });
        Ok(())
    })?;
    let trace = &mut rows.trace;
    trace.meta.lost.records("CUPTI_ACTIVITY_KIND_MARKER: start without an end", starts.len() as u64);
    trace.meta.lost.records("CUPTI_ACTIVITY_KIND_MARKER: end without a start", ends.len() as u64);
    trace.meta.leave_out("NVTX marks", instants);
    Ok(())
}

/// Process and thread of a thread's object id: two 32-bit numbers in a blob.
fn object_thread(kind: Value, object: Value) -> Option<(i64, i64)> {
    const THREAD: i64 = 2;
    let bytes = object.blob().filter(|_| kind.int() == Some(THREAD))?;
    let pid = u32::from_le_bytes(bytes.get(0..4)?.try_into().ok()?);
    let tid = i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    Some((i64::from(pid), i64::from(tid)))
}
