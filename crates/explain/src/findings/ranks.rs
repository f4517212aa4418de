//! Several traces, each of a rank of one program: fits their clocks by the ends of their collectives, and compares the ranks.
//!
//! Clocks of two hosts differ, and each trace has its own time 0. The kernels of a collective end at about the same time on all
//! ranks, so the difference of their ends is that of the clocks.

use crate::account::Ranks;
use crate::account::collectives::{FEWEST, Kernel, MOST, TOGETHER, streams};
use trace::{FAR, Ns, Selection, Trace};

/// Most collectives by which the beginnings of two traces may differ: a choice.
const SKIPPED: isize = 64;

/// Most that the clocks of two hosts differ, ns, where a trace states when it was made: a choice. Another run of the same
/// program is further away.
const APART: Ns = 1_000_000_000;

/// Reason why ranks cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// The traces are not of one run: their collectives have no reason to fit.
    Unrelated,
    /// Two traces are of the same rank.
    SameRank,
    /// The ends of the collectives of this trace, counted from 0, do not fit those of the first.
    Clock(usize),
}

/// Whether a trace has kernels of collectives.
pub fn has_collectives(trace: &Trace) -> bool {
    !streams(trace).is_empty()
}

/// Compares the ranks of several traces, each of one rank, on the clock of the first.
///
/// # Errors
/// If the traces are not of ranks of one run, or their clocks cannot be fitted.
pub fn compare(traces: &[&Trace]) -> Result<Ranks, Unfit> {
    are_ranks(traces)?;
    let first = traces.first().ok_or(Unfit::Unrelated)?;
    let of_first = streams(first);
    let mut all = Trace { meta: first.meta.clone(), ..Trace::default() };
    let (mut agree, mut ends) = (0, Vec::new());
    for (at, trace) in traces.iter().enumerate() {
        let shift = match at {
            0 => 0,
            _ => {
                let fit = fit(&of_first, &streams(trace), expected(first, trace)).ok_or(Unfit::Clock(at))?;
                agree = agree.max(fit.within);
                fit.shift
            }
        };
        if !is_near(trace, shift) {
            return Err(Unfit::Clock(at));
        }
        all.append(trace, shift);
        ends.push(all.devices.len());
    }
    let mut ranks = crate::accounts(&all, &Selection::default()).ranks.ok_or(Unfit::Clock(1))?;
    ranks.clocks_agree_ns = Some(agree);
    for rank in &mut ranks.ranks {
        let of = ends.partition_point(|end| *end <= rank.row.index());
        (rank.trace, rank.rank) = (Some(of), traces[of].meta.rank);
    }
    match (0..traces.len()).find(|at| ranks.ranks.iter().all(|rank| rank.trace != Some(*at))) {
        Some(missing) => Err(Unfit::Clock(missing)),
        None => Ok(ranks),
    }
}

/// Checks that traces can be of ranks of one run, as far as they state it.
fn are_ranks(traces: &[&Trace]) -> Result<(), Unfit> {
    let mut sizes: Vec<i64> = traces.iter().filter_map(|trace| trace.meta.world_size).collect();
    sizes.dedup();
    let mut ranks: Vec<i64> = traces.iter().filter_map(|trace| trace.meta.rank).collect();
    ranks.sort_unstable();
    match () {
        () if traces.len() < 2 || sizes.len() > 1 => Err(Unfit::Unrelated),
        () if ranks.windows(2).any(|pair| pair[0] == pair[1]) => Err(Unfit::SameRank),
        () if traces.iter().any(|trace| !trace.meta.recorded.is_empty()) => Err(Unfit::Unrelated),
        () => Ok(()),
    }
}

/// Whether all traces state that they are of ranks of a distributed program.
pub fn state_ranks(traces: &[&Trace]) -> bool {
    traces.iter().all(|trace| trace.meta.rank.is_some() && trace.meta.world_size.is_some())
}

/// By how much a trace's times are later than another one's by what both state of their time 0, ns.
fn expected(first: &Trace, other: &Trace) -> Option<Ns> {
    other.meta.epoch_unix_ns?.checked_sub(first.meta.epoch_unix_ns?)
}

/// Whether the times of a trace stay in range.
fn is_near(trace: &Trace, shift: Ns) -> bool {
    let is_near = |time: Ns| time.checked_add(shift).is_some_and(|time| (-FAR / 2..FAR / 2).contains(&time));
    trace.span().is_none_or(|(start, end)| is_near(start) && is_near(end))
}

/// A difference of two clocks that fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fit {
    /// To add to the other trace's times, ns.
    shift: Ns,
    /// Nine of ten ends differ by at most this then, ns.
    within: Ns,
}

/// The difference between the clocks of two traces; `None` if none fits, or if several do. Steps that take equally long fit
/// each other, too: of those the one is right that the traces' own clocks are near to.
fn fit(first: &[Vec<Kernel>], other: &[Vec<Kernel>], expected: Option<Ns>) -> Option<Fit> {
    let off = |fit: &Fit| expected.map_or(0, |expected| fit.shift.saturating_sub(expected).saturating_abs());
    let pairs = first.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let fits = pairs.flat_map(|(one, other)| {
        (-SKIPPED..=SKIPPED).filter_map(move |skipped| shifted(one, other, skipped))
    });
    let fits: Vec<Fit> = fits.filter(|fit| off(fit) <= APART).collect();
    let best = fits.iter().copied().min_by_key(|fit| (off(fit), fit.within))?;
    let is_other = |fit: &Fit| (fit.shift - best.shift).abs() > 2 * TOGETHER;
    let is_doubtful = |fit: &Fit| is_other(fit) && off(&best).saturating_mul(2) >= off(fit);
    (!fits.iter().any(is_doubtful)).then_some(best)
}

/// The difference of two clocks if each kernel of a stream belongs to the one of another that is `skipped` after it.
fn shifted(one: &[Kernel], other: &[Kernel], skipped: isize) -> Option<Fit> {
    let shorter = one.len().min(other.len());
    let one = one.get(usize::try_from(-skipped).unwrap_or(0)..)?;
    let other = other.get(usize::try_from(skipped).unwrap_or(0)..)?;
    let pairs = || one.iter().zip(other);
    let count = one.len().min(other.len());
    // A few fit each other by chance.
    if count < FEWEST || count < shorter / 2 || pairs().any(|(kernel, with)| kernel.kind != with.kind) {
        return None;
    }
    let mut apart: Vec<Ns> = pairs().map(|(kernel, with)| kernel.end.saturating_sub(with.end)).collect();
    let shift = *apart.select_nth_unstable(count / 2).1;
    apart.iter_mut().for_each(|apart| *apart = apart.saturating_sub(shift).saturating_abs());
    let within = *apart.select_nth_unstable((count * MOST).div_ceil(10) - 1).1;
    let overlap = |(kernel, with): (&Kernel, &Kernel)| {
        kernel.start < with.end.saturating_add(shift) && with.start.saturating_add(shift) < kernel.end
    };
    let overlapping = pairs().filter(|pair| overlap(*pair)).count();
    (within <= TOGETHER && overlapping * 10 >= count * MOST).then_some(Fit { shift, within })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{DeviceId, OpId};

    /// Kernels that end at these times and take 100 µs, µs.
    fn kernels(ends: &[Ns]) -> Vec<Vec<Kernel>> {
        let kernel = |(at, end): (usize, &Ns)| {
            let (op, device, end) = (OpId::new(at), DeviceId::new(0), end * 1000);
            Kernel { op, device, start: end - 100_000, end, kind: "AllReduce" }
        };
        vec![ends.iter().enumerate().map(kernel).collect()]
    }

    fn shift(first: &[Ns], other: &[Ns], expected: Option<Ns>) -> Option<Ns> {
        fit(&kernels(first), &kernels(other), expected.map(|us| us * 1000)).map(|fit| fit.shift / 1000)
    }

    #[test]
    fn clocks_are_fitted_by_ends() {
        let ends = [1000, 2100, 3300, 4250, 5700];
        let later = |by: Ns, from: usize| ends[from..].iter().map(|end| end - by).collect::<Vec<_>>();
        assert_eq!(shift(&ends, &later(700, 0), None), Some(700));
        assert_eq!(shift(&ends, &later(700, 1), None), Some(700));
        assert_eq!(shift(&later(0, 2), &later(700, 0), Some(690)), Some(700));
        // Another run.
        assert_eq!(shift(&ends, &later(700, 0), Some(2_000_000)), None);
        assert_eq!(shift(&ends, &[1000, 2200, 3100, 4400, 5500], None), None);
        assert_eq!(shift(&ends, &later(700, 3), None), None);
    }

    #[test]
    fn of_equal_steps_those_count_to_which_the_clocks_are_near() {
        let ends = [1000, 2000, 3000, 4000, 5000];
        assert_eq!(shift(&ends, &ends, None), None);
        assert_eq!(shift(&ends, &ends, Some(20)), Some(0));
        assert_eq!(shift(&ends, &ends, Some(-980)), Some(-1000));
        assert_eq!(shift(&ends, &ends, Some(450)), None);
    }
}
