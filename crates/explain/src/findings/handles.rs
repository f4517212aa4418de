//! Fixes of calls that make and destroy handles and plans of libraries.

use crate::Fix;
use crate::facts::handles::handle;
use crate::rules::fixes::{EAGER_LOADING, KEPT_OBJECT, POOL_ALLOCATOR};
use trace::{StackId, Trace};

/// Fewest calls that show that handles are made again and again: a choice.
const FEWEST: usize = 8;

/// The fixes of calls with these stacks: to keep the handle, if most of them make or destroy one, in place of what helps single allocations.
pub(super) fn fixes(trace: &Trace, stacks: impl Iterator<Item = StackId>, mut fixes: Vec<Fix>) -> Vec<Fix> {
    let replaced = [POOL_ALLOCATOR, EAGER_LOADING];
    if !fixes.iter().any(|fix| replaced.contains(fix)) {
        return fixes;
    }
    let (mut all, mut makers) = (0, 0);
    for stack in stacks.filter(|stack| stack.is_some()) {
        all += 1;
        makers += usize::from(makes_a_handle(trace, stack));
    }
    if makers >= FEWEST && makers * 2 >= all {
        fixes.retain(|fix| !replaced.contains(fix));
        fixes.insert(0, KEPT_OBJECT);
    }
    fixes
}

fn makes_a_handle(trace: &Trace, stack: StackId) -> bool {
    let callers = std::iter::successors(stack.some(), |stack| trace.stacks.caller[stack.index()].some());
    let mut frames = callers.filter_map(|stack| trace.stacks.frame[stack.index()].some());
    frames.any(|frame| handle(trace.text(trace.frames.function[frame.index()])).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Frame, Stack};

    #[test]
    fn who_makes_handles_again_and_again_keeps_one() {
        let mut trace = Trace::default();
        let mut stack = |function: &str| {
            let function = trace.strings.intern(function);
            let frame = trace.frames.push(Frame { function, ..Frame::default() });
            trace.stacks.push(Stack { frame, ..Stack::default() })
        };
        let (maker, other) = (stack("cublasCreate_v2"), stack("resize"));
        let of = |makers: usize, others: usize, fix: Fix| {
            let stacks = std::iter::repeat_n(maker, makers).chain(std::iter::repeat_n(other, others));
            fixes(&trace, stacks, vec![fix])
        };
        assert_eq!(of(8, 8, POOL_ALLOCATOR), [KEPT_OBJECT]);
        assert_eq!(of(7, 0, POOL_ALLOCATOR), [POOL_ALLOCATOR], "control: few");
        assert_eq!(of(8, 9, POOL_ALLOCATOR), [POOL_ALLOCATOR], "near miss: most are of others");
        assert_eq!(of(8, 0, KEPT_OBJECT), [KEPT_OBJECT]);
    }
}
