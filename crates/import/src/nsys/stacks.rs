//! Call stacks: one row per frame, numbered by stack and depth.

use super::reader::Nsys;
use crate::Problem;
use crate::sqlite::{Builder, Value};
use crate::stacks::Stacks;
use rustc_hash::FxHashMap;
use trace::{Frame, FrameId, StackId};

pub(super) const CUDA: &str = "CUDA_CALLCHAINS";
pub(super) const OS: &str = "OSRT_CALLCHAINS";
pub(super) const SAMPLES: &str = "SAMPLING_CALLCHAINS";

/// Stacks by the number that rows use for them.
pub(super) type StackIds = FxHashMap<i64, StackId>;

impl Nsys<'_> {
    /// Reads a table of stacks and returns them by number.
    ///
    /// A stack's rows are adjacent. If they are not, its later rows are lost: collecting them would need the whole
    /// table in memory.
    pub(super) fn stacks(&mut self, table: &str) -> Result<StackIds, Problem> {
        let mut shared = Stacks::default();
        let mut read_stacks = StackIds::default();
        let mut id = 0;
        let mut frames: Vec<(i64, FrameId)> = Vec::new();
        let read = |rows: &mut Builder<'_>, [row_id, depth, symbol, module]: [Value<'_>; 4]| {
            let Builder { names, trace, .. } = rows;
            let row_id = row_id.int().ok_or("no stack id")?;
            let depth = depth.int().ok_or("no depth")?;
            if row_id != id {
                if read_stacks.contains_key(&row_id) {
                    return Err("stack in several pieces".into());
                }
                finish(&mut frames, |frames| _ = read_stacks.insert(id, shared.stack(trace, frames)));
                id = row_id;
            }
            let function = names.sym_or_empty(&mut trace.strings, symbol)?;
            let module = names.sym_or_empty(&mut trace.strings, module)?;
            frames.push((depth, shared.frame(trace, Frame { function, module, ..Frame::default() })));
            Ok(())
        };
        self.rows.each(table, ["id", "stackDepth", "symbol", "module"], read)?;
        let trace = &mut self.rows.trace;
        finish(&mut frames, |frames| _ = read_stacks.insert(id, shared.stack(trace, frames)));
        Ok(read_stacks)
    }
}

/// Gives `take` the collected frames, innermost (depth 0) last, and clears them.
fn finish(frames: &mut Vec<(i64, FrameId)>, mut take: impl FnMut(&[FrameId])) {
    if frames.is_empty() {
        return;
    }
    frames.sort_by_key(|&(depth, _)| std::cmp::Reverse(depth));
    let outermost_first: Vec<FrameId> = frames.drain(..).map(|(_, frame)| frame).collect();
    take(&outermost_first);
}
