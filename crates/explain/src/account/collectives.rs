//! Collectives of several ranks: which kernels belong together, and how long each waited for the last rank.
//!
//! A rank is a GPU. The kernels of a collective exchange data: the first waits until the last has begun, and all end at about
//! the same time. So kernels of one kind whose ends agree belong together, and nothing else is needed: no names of communicators,
//! and none of their members. If ends do not agree all along two streams, the streams do not exchange data with each other.

use crate::facts::Facts;
use rustc_hash::FxHashMap;
use trace::{DeviceId, Ns, OpId, Trace};
use waits::collective;

/// Most time between the ends of the kernels of one collective, ns; a shorter wait is none. The ends of 33 exchanges of two
/// GPUs in one recording of Nsight Systems are 0.3 to 27 µs apart.
pub(crate) const TOGETHER: Ns = 50_000;

/// Fewest kernels by which two streams are known to exchange data: a choice.
pub(crate) const FEWEST: usize = 3;

/// The part of the kernels of two streams, in tenths, that must have a counterpart: a choice.
pub(crate) const MOST: usize = 9;

/// A kernel of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kernel {
    pub op: OpId,
    pub device: DeviceId,
    pub start: Ns,
    pub end: Ns,
    pub kind: &'static str,
}

impl Kernel {
    /// Whether two kernels can belong to one collective.
    fn fits(&self, other: &Kernel) -> bool {
        self.kind == other.kind && self.start < other.end && other.start < self.end
    }
}

/// The kernels of one collective, each of another GPU, by start.
pub(super) struct Collective {
    pub kernels: Vec<Kernel>,
}

impl Collective {
    /// The kernel that began last: from then on data is exchanged.
    pub fn last(&self) -> Kernel {
        self.kernels[self.kernels.len() - 1]
    }

    pub fn end(&self) -> Ns {
        self.kernels.iter().map(|kernel| kernel.end).max().unwrap_or_default()
    }

    /// The kernel of a GPU.
    pub fn of(&self, device: DeviceId) -> Option<Kernel> {
        self.kernels.iter().copied().find(|kernel| kernel.device == device)
    }

    /// How much later than the first the last rank began, ns.
    pub fn late(&self) -> Ns {
        self.last().start - self.kernels[0].start
    }
}

/// A kernel that waits for the last rank of its collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub kernel: Kernel,
    /// When the last rank began: until then the kernel waits, ns.
    pub until: Ns,
    /// The last rank; `None` if it is not in the trace.
    pub last: Option<LastRank>,
}

/// The last rank of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LastRank {
    pub kernel: Kernel,
    /// A row of [`Collectives::all`].
    pub collective: usize,
}

/// The collectives of a trace.
#[derive(Default)]
pub(super) struct Collectives {
    /// The ones whose ranks are all in it, by end.
    pub all: Vec<Collective>,
    /// The kernels that wait, by the start of the last rank.
    pub waiting: Vec<Waiting>,
}

impl Collectives {
    /// Finds the collectives of a trace; none where the clocks of host and GPUs cannot be compared.
    pub fn of(facts: &Facts<'_>) -> Collectives {
        if !facts.one_clock() {
            return Collectives::default();
        }
        let streams = streams(facts.trace);
        let all = all(&streams);
        let mut waiting: Vec<Waiting> = all.iter().enumerate().flat_map(waiting).collect();
        if all.is_empty() {
            waiting.extend(streams.iter().flat_map(|kernels| of_one_rank(facts.trace, kernels)));
        }
        waiting.sort_by_key(|waiting| (waiting.until, waiting.kernel.op));
        Collectives { all, waiting }
    }

    /// Whether a GPU takes part in any.
    pub fn have(&self, device: DeviceId) -> bool {
        self.all.iter().any(|collective| collective.of(device).is_some())
    }
}

/// The collectives of a trace, by end.
fn all(streams: &[Vec<Kernel>]) -> Vec<Collective> {
    let mut all: Vec<Collective> =
        groups(streams).iter().flat_map(|group| together(streams, group)).collect();
    all.sort_by_key(|collective| (collective.end(), collective.last().op));
    all
}

/// The kernels of each collective of a trace whose ranks are all in it, by start. The clocks of its GPUs must agree.
pub fn collectives(trace: &Trace) -> Vec<Vec<OpId>> {
    let ops = |collective: Collective| collective.kernels.iter().map(|kernel| kernel.op).collect();
    all(&streams(trace)).into_iter().map(ops).collect()
}

/// The kernels of a collective that wait for its last rank.
fn waiting((at, collective): (usize, &Collective)) -> impl Iterator<Item = Waiting> {
    let late = collective.last();
    let waits = move |kernel: &&Kernel| late.start - kernel.start > TOGETHER;
    let last = Some(LastRank { kernel: late, collective: at });
    let of = move |kernel: &Kernel| Waiting { kernel: *kernel, until: late.start, last };
    collective.kernels.iter().filter(waits).map(of)
}

/// Fewest kernels that do the same by which the time is known that the exchange takes, the part of them that takes no longer, one in this
/// many, and the factor by which one that waited is longer: others that run beside it take a part of the GPU and of the links. Choices.
const ALIKE: usize = 8;
const SHORTEST: usize = 10;
const LONGER: Ns = 2;

/// The same factor for messages from rank to rank whose bytes are unknown: those of one kernel differ less in size. A choice.
const FAR_LONGER: Ns = 10;

/// The kind of kernels that send messages from rank to rank.
const MESSAGE: &str = "SendRecv";

/// The slowest link between ranks, bytes per ns, and the time that any exchange may take to begin, ns: gigabit Ethernet has 0.125. Choices.
const SLOWEST: f64 = 0.1;
const BEGINS: Ns = 10_000_000;

/// The slowest link between GPUs of one machine, bytes per ns, and the time that their exchanges take to begin, ns. Choices: PCIe 3.0 ×8 has
/// 7.9 GB/s in each direction, by its specification.
const SLOWEST_INSIDE: f64 = 3.0;
const BEGINS_INSIDE: Ns = 100_000;

/// The kernels of a stream that waited for ranks that are not in the trace: of those that exchange the same in the same communicator, the
/// ones that take far longer than the shortest; of few, those that take longer than any link does; of ranks in one machine, those that take
/// far longer than its links do. Without their bytes nobody knows which do the same, but for messages from rank to rank: stages of a
/// pipeline send the same again and again. An exchange of all ranks with all is made of such messages, too, of any size.
fn of_one_rank(trace: &Trace, kernels: &[Kernel]) -> Vec<Waiting> {
    let ops = &trace.ops;
    let mixes =
        || trace.strings.iter().any(|(_, text)| text.contains("all_to_all") || text.contains("alltoall"));
    let sends = kernels.iter().any(|kernel| kernel.kind == MESSAGE) && !mixes();
    let mut alike = FxHashMap::<_, Vec<Kernel>>::default();
    for kernel in
        kernels.iter().filter(|kernel| ops.bytes[kernel.op.index()] > 0 || sends && kernel.kind == MESSAGE)
    {
        let at = kernel.op.index();
        alike.entry((ops.name[at], ops.bytes[at], ops.communicator[at])).or_default().push(*kernel);
    }
    let waiting = alike.into_iter().flat_map(|((_, bytes, communicator), mut alike)| {
        let length = |kernel: &Kernel| kernel.end - kernel.start;
        alike.sort_by_key(|kernel| (length(kernel), kernel.op));
        let exchange = match alike.len() >= ALIKE {
            true => length(&alike[alike.len() / SHORTEST]),
            false if bytes == 0 => return Vec::new(),
            false => (bytes as f64 / SLOWEST) as Ns + BEGINS,
        };
        let inside = ranks_inside(trace.text(communicator), trace.devices.len()).filter(|_| bytes > 0);
        let inside = inside.map(|ranks| {
            let moved = bytes as f64 * passes(alike[0].kind, ranks) as f64;
            (moved / SLOWEST_INSIDE) as Ns + BEGINS_INSIDE
        });
        let exchange = inside.map_or(exchange, |inside| exchange.min(inside));
        let longer = if bytes == 0 { FAR_LONGER } else { LONGER };
        alike.retain(|kernel| length(kernel) > longer * exchange + TOGETHER);
        let waiting = |kernel: Kernel| Waiting { kernel, until: kernel.end - exchange, last: None };
        alike.into_iter().map(waiting).collect()
    });
    waiting.collect()
}

/// How often what a rank gives passes its link, at most: all get it, or it comes back as a sum.
fn passes(kind: &str, ranks: usize) -> usize {
    match kind {
        "AllGather" => ranks,
        "AllReduce" => 2,
        _ => 1,
    }
}

/// The number of ranks of a communicator, `NAME [0, 1, 2, 3]`, if they are in one machine of so many GPUs: ranks are numbered machine by
/// machine. `None` where some are left out.
fn ranks_inside(communicator: &str, gpus: usize) -> Option<usize> {
    let ranks = communicator.rsplit_once('[')?.1.strip_suffix(']')?;
    let ranks: Vec<usize> = ranks.split(',').map(|rank| rank.trim().parse().ok()).collect::<Option<_>>()?;
    let machine = ranks.first()?.checked_div(gpus)?;
    (ranks.len() > 1 && ranks.iter().all(|rank| rank / gpus == machine)).then_some(ranks.len())
}

/// The collectives' kernels of each stream that has any, by end.
pub(crate) fn streams(trace: &Trace) -> Vec<Vec<Kernel>> {
    // A trace has few names for many operations, and most traces have no collectives.
    let kinds: Vec<Option<&str>> = trace.strings.iter().map(|(_, text)| collective(text)).collect();
    if kinds.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut streams = vec![Vec::new(); trace.streams.len()];
    for (at, name) in trace.ops.name.iter().enumerate() {
        let stream = trace.ops.stream[at];
        if let (Some(kind), Some(device)) = (kinds[name.index()], trace.device_of_stream(stream).some()) {
            let (start, end) = (trace.ops.start[at], trace.ops.end[at]);
            streams[stream.index()].push(Kernel { op: OpId::new(at), device, start, end, kind });
        }
    }
    streams.retain(|kernels| !kernels.is_empty());
    streams.iter_mut().for_each(|kernels| kernels.sort_by_key(|kernel| (kernel.end, kernel.op)));
    streams
}

/// The streams that exchange data with each other, one of each GPU.
fn groups(streams: &[Vec<Kernel>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..streams.len()).collect();
    for (at, one) in streams.iter().enumerate() {
        for (with, other) in streams.iter().enumerate().skip(at + 1) {
            if group[at] != group[with] && exchange(one, other) {
                let (from, to) = (group[with], group[at]);
                group.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
    }
    let members = |of: usize| (0..streams.len()).filter(|stream| group[*stream] == of).collect::<Vec<_>>();
    let mut groups: Vec<Vec<usize>> = (0..streams.len()).map(members).collect();
    groups.retain(|group| group.len() > 1 && is_one_of_each(streams, group));
    groups
}

fn is_one_of_each(streams: &[Vec<Kernel>], group: &[usize]) -> bool {
    let mut devices: Vec<DeviceId> = group.iter().map(|stream| streams[*stream][0].device).collect();
    devices.sort_unstable();
    devices.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether two streams exchange data: as long as both have kernels, nearly all have a counterpart that ends with them.
fn exchange(one: &[Kernel], other: &[Kernel]) -> bool {
    let (Some((first, last)), Some((other_first, other_last))) = (ends(one), ends(other)) else {
        return false;
    };
    if one[0].device == other[0].device {
        return false;
    }
    let (from, to) = (first.max(other_first) - TOGETHER, last.min(other_last) + TOGETHER);
    let within =
        |kernels: &[Kernel]| kernels.iter().filter(|kernel| from <= kernel.end && kernel.end <= to).count();
    let pairs = pairs(one, other);
    let is_most = |kernels: &[Kernel]| pairs * 10 >= within(kernels) * MOST;
    pairs >= FEWEST && is_most(one) && is_most(other)
}

fn ends(kernels: &[Kernel]) -> Option<(Ns, Ns)> {
    Some((kernels.first()?.end, kernels.last()?.end))
}

/// The number of kernels that have a counterpart.
fn pairs(one: &[Kernel], other: &[Kernel]) -> usize {
    let (mut at, mut with, mut pairs) = (0, 0, 0);
    while let (Some(kernel), Some(counterpart)) = (one.get(at), other.get(with)) {
        if kernel.end.abs_diff(counterpart.end) <= TOGETHER as u64 && kernel.fits(counterpart) {
            (at, with, pairs) = (at + 1, with + 1, pairs + 1);
        } else if kernel.end < counterpart.end {
            at += 1;
        } else {
            with += 1;
        }
    }
    pairs
}

/// The collectives of streams that exchange data. One that lacks the kernel of a rank is none: that rank may be the last.
fn together(streams: &[Vec<Kernel>], group: &[usize]) -> Vec<Collective> {
    let mut kernels: Vec<Kernel> = group.iter().flat_map(|stream| streams[*stream].iter().copied()).collect();
    kernels.sort_by_key(|kernel| (kernel.end, kernel.op));
    let mut found: Vec<Vec<Kernel>> = Vec::new();
    for kernel in kernels {
        let is_one = |of: &Vec<Kernel>| {
            kernel.end - of[0].end <= TOGETHER
                && of.iter().all(|known| known.device != kernel.device && known.fits(&kernel))
        };
        match found.last_mut().filter(|of| is_one(of)) {
            Some(of) => of.push(kernel),
            None => found.push(vec![kernel]),
        }
    }
    found.retain(|kernels| kernels.len() == group.len());
    let collective = |mut kernels: Vec<Kernel>| {
        kernels.sort_by_key(|kernel| (kernel.start, kernel.op));
        Collective { kernels }
    };
    found.into_iter().map(collective).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_machine_are_told_by_their_numbers() {
        assert_eq!(ranks_inside("tp [8, 9, 10, 11]", 8), Some(4));
        assert_eq!(ranks_inside("dp [0, 8]", 8), None, "of two machines");
        assert_eq!(ranks_inside("dp [0, 1]", 1), None, "each process sees its own GPU alone");
        assert_eq!(ranks_inside("world [0, 1, ..., 7]", 8), None, "some are left out");
        assert_eq!(ranks_inside("tp", 8), None);
        assert_eq!(ranks_inside("", 0), None);
    }
}
