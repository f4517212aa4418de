"""The types of an explanation, as `holdup explain --format json` prints it.

Made of docs/schema/explain.json by make_results.py: do not edit. Times are integers in nanoseconds, shares numbers
from 0 to 1. A field whose name is one of Python's words ends in an underscore (`or_`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class GpuClock:
    """How far GPU times can be from the host's, in the median second; of recordings."""

    early_ns: int
    """GPU times are too early by at most this."""
    late_ns: int
    """GPU times are too late by at most this."""
    wrong_ns: int
    """In some second they are off by at least this."""


@dataclass(frozen=True)
class Setting:
    """A value of a variable of the environment, and the processes that have it."""

    name: Literal['CUDA_MODULE_LOADING', 'CUDA_DEVICE_MAX_CONNECTIONS', 'CUDA_LAUNCH_BLOCKING']
    """A variable of the environment."""
    value: str | None
    """Its value; null where the trace states none."""
    processes: int
    """Processes with CUDA's work that have it."""


@dataclass(frozen=True)
class TraceSummary:
    """The trace in numbers."""

    source: Literal['holdup', 'kineto', 'nsys', 'nvprof', 'other']
    """Format the trace came in."""
    source_version: str
    """Version of that format, as far as it states one."""
    path: str
    """The file."""
    duration_ns: int
    """First start to last end, ns."""
    processes: int
    """Processes with calls or GPU operations."""
    threads: int
    """Host threads with calls."""
    calls: int
    """Host calls."""
    ops: int
    """GPU operations."""
    unmatched_calls: int
    """Launches without a GPU operation."""
    unmatched_ops: int
    """GPU operations without a call."""
    lost_records: int
    """Records dropped by the source or unreadable."""
    lost_reasons: dict[str, int]
    """Why records could not be read, with counts."""
    left_out: dict[str, int]
    """Records not imported on purpose, with counts."""
    truncated: bool
    """Whether the input ended early."""
    clock: Literal['aligned', 'separate']
    """Whether host and GPU times are on one clock."""
    driver: str
    """Version of the driver: its own (580.95.05), or the CUDA it supports (13.0)."""
    runtime: str
    """Version of the CUDA runtime."""
    libraries: dict[str, str]
    """Versions of other libraries by name."""
    notes: tuple[str, ...]
    """Further remarks, one sentence each."""
    selected_ns: int | None = None
    """The selected part of duration_ns, ns; absent if all of it is selected."""
    gpu_clock: GpuClock | None = None
    """How far GPU times can be from the host's, in the median second; of recordings."""
    settings: tuple[Setting, ...] | None = None
    """Variables of the environment that change what CUDA does, as far as the trace states them."""


@dataclass(frozen=True)
class Verdict:
    """Where most of the GPUs' time goes, in a sentence."""

    text: str
    """How busy the GPUs were, and what they lost most time to."""
    bound: Literal['gpu', 'host', 'driver', 'copies', 'start-up', 'no-demand', 'unknown']
    """Where most of the GPUs' time goes."""
    gpu_busy_share: float | None
    """The part of the GPUs' time, without start-up, in which they had any operation, 0 to 1; null without operations.
    """
    refused: Literal['lost', 'clock', None]
    """Why nobody can say: records were lost, or the clocks of host and GPU cannot be compared."""


@dataclass(frozen=True)
class Place:
    """A place in the program's source."""

    file: str
    """Source file, or library."""
    line: int
    """Line from 1; 0 when unknown."""
    function: str
    """Function or operator."""


@dataclass(frozen=True)
class FailedCall:
    """Calls of one function that failed with one error."""

    call: str
    """The function."""
    error: int
    """The number that it returned."""
    error_name: str
    """The error's name (cudaErrorInvalidResourceHandle); empty if unknown."""
    count: int
    """Number of calls."""
    of: int
    """Number of calls of the function, whether they failed or not."""
    first_ns: int
    """Start of the first of them, ns from the trace's start."""
    last_ns: int
    """Start of the last of them, ns from the trace's start."""
    where: tuple[Place, ...]
    """Where they were made, most calls first."""


@dataclass(frozen=True)
class Late:
    """Operations that came late."""

    engine: str
    """What they are."""
    kernel: str
    """The kernel's name; empty for copies."""
    stream: int
    """The stream."""
    call: str
    """The call that asked for it; empty where the trace has none."""
    library: str
    """The library whose call or kernel it is; empty where unknown."""
    where: Place | None
    """Where most of the calls that asked for them were made; null where unknown."""
    behind: dict[str, Any] | None
    """What they waited for last, as far as known."""
    count: int
    """How many."""
    lost_ns: int
    """Overlap lost to them, ns."""


@dataclass(frozen=True)
class Example:
    """A stretch of the trace's time."""

    start_ns: int
    """Start, from the trace's start, ns."""
    duration_ns: int
    """Time lost, ns."""


@dataclass(frozen=True)
class LostOverlap:
    """Overlap that was lost to one cause."""

    rule: Literal['default-stream', 'issue-order', 'connections', 'one-stream', 'pageable-memory', 'synchronization']
    """What kept operations from overlapping."""
    lost_ns: int
    """Overlap lost, ns."""
    count: int
    """In how many pieces."""
    evidence: Literal['lock', 'record', 'sample', 'timing']
    confidence: Literal['certain', 'likely', 'possible']
    also: tuple[Literal[
        'default-stream', 'issue-order', 'connections', 'one-stream', 'pageable-memory', 'synchronization'], ...,
    ]
    """What else has to go before anything overlaps."""
    operations: tuple[Late, ...]
    """The operations that came late, most time first; of many, the first."""
    kinds: int
    """How many kinds of operations that are."""
    examples: tuple[Example, ...]
    """The longest pieces."""


@dataclass(frozen=True)
class Overlap:
    """What the copies and kernels of a GPU overlapped."""

    device: int
    """CUDA device index."""
    name: str
    """Marketing name."""
    copies_in_ns: int
    """Time with copies from the host, ns."""
    copies_out_ns: int
    """Time with copies to the host, ns."""
    kernels_ns: int
    """Time with kernels or fills, ns."""
    other_ns: int
    """Time with copies within devices or between them, or migrations of unified memory, ns."""
    busy_ns: int
    """Time with any operation, ns."""
    two_ns: int
    """Time with at least two of copies in, copies out and kernels, ns."""
    three_ns: int
    """Time with all three, ns."""
    copy_engines: int | None
    """Copy engines; null where the trace does not say: then one is assumed."""
    possible_ns: int
    """How much time overlap could save, ns."""
    reached_ns: int
    """How much it saved, ns."""
    judged: bool
    """Whether the GPU's clock fits the host's, so that losses have causes."""
    lost: tuple[LostOverlap, ...]
    """The part of possible_ns - reached_ns with a known cause, most time first."""


@dataclass(frozen=True)
class Steady:
    """What the accounts are of: what a program repeats."""

    start_ns: int
    """Start, ns from the trace's start."""
    end_ns: int
    """End, ns from the trace's start."""


@dataclass(frozen=True)
class StartUp:
    """What a program does before it repeats anything."""

    duration_ns: int
    """Its time, ns."""
    program_ns: int
    """The time of the whole program, ns."""
    thread: dict[str, Any] | None
    """What the thread that made the first call did meanwhile, as in `threads`."""


@dataclass(frozen=True)
class Ending:
    """What a program does after the GPUs' last work."""

    duration_ns: int
    """Its time, ns."""
    program_ns: int
    """The time of the whole program, ns."""
    thread: dict[str, Any] | None
    """What the thread that made the first call did meanwhile, as in `threads`."""


@dataclass(frozen=True)
class BusyTime:
    """busy_ns by what the GPU did."""

    kernels_ns: int
    """Only kernels, graphs and operations of unknown kind ran, ns."""
    copies_ns: int
    """Only copies and fills ran, ns."""
    both_ns: int
    """Both ran, ns."""


@dataclass(frozen=True)
class MainCopies:
    """The copies that take a quarter of busy_ns or more; null where they take less."""

    call: str
    """The call that asks for most of them, by time."""
    where: Place | None
    """Where most of these calls are made, by time; null where unknown."""


@dataclass(frozen=True)
class SmallKernels:
    """Kernels that have blocks for less than half of the multiprocessors; null where they fill the GPU, or where
    their grids or its multiprocessors are unknown.
    """

    filled: float
    """The part of the multiprocessors for which they have blocks, at most and on average over their time, 0 to 1."""
    kernel: str
    """The kernel that takes most of their time."""
    where: Place | None
    """Where most of its launches are, by time; null where unknown."""


@dataclass(frozen=True)
class MainCommunication:
    """Operations that are most of exposed_communication_ns; null if it never communicates."""

    call: str
    """The call that issues most of them, by the time for which nothing else runs."""
    where: Place | None
    """Where most of these calls are made, by time; null where unknown."""


@dataclass(frozen=True)
class AccountPart:
    """A part of the time of a GPU or a thread."""

    cause: str
    """The cause, one of `holdup causes`."""
    ns: int
    """Its time, ns."""
    where: tuple[Place, ...]
    """Where in the source, most time first; at most three."""
    calls: tuple[str, ...]
    """The calls in which, or before which, the time passed, most first; at most three."""
    finding: str | None
    """Id of the finding that has most of this time; null if most of it is in none. Of what a slow step had more of:
    of the difference.
    """


@dataclass(frozen=True)
class HeldBackStream:
    """What an operation that was held back waited for."""

    stream: int
    """The stream whose operation was ready."""
    behind: int | None
    """The stream whose operation it waited for; null if unknown."""
    ns: int
    """The time, ns."""


@dataclass(frozen=True)
class HeldBack:
    """A part of a GPU's busy time in which it had room and an operation waited."""

    cause: str
    """The cause."""
    ns: int
    """Its time, ns."""
    evidence: Literal['lock', 'record', 'timing', 'sample']
    """What it rests on."""
    confidence: Literal['certain', 'likely', 'possible']
    """How sure it is."""
    finding: str | None
    """Id of the finding that has most of this time; null if most of it is in none."""
    streams: tuple[HeldBackStream, ...]
    """What waited for what, most time first; at most three."""


@dataclass(frozen=True)
class GpuAccount:
    """Where a GPU's time went."""

    device: int
    """CUDA device index."""
    name: str
    """Marketing name."""
    span_ns: int
    """From the first call of any process that uses it to the end of its last operation, ns."""
    busy_ns: int
    """Time with any operation, ns; a collective's kernel that waits for a later rank is none."""
    busy: BusyTime
    """busy_ns by what the GPU did."""
    main_copies: MainCopies | None
    """The copies that take a quarter of busy_ns or more; null where they take less."""
    small_kernels: SmallKernels | None
    """Kernels that have blocks for less than half of the multiprocessors; null where they fill the GPU, or where
    their grids or its multiprocessors are unknown.
    """
    exposed_communication_ns: int
    """The part of busy_ns in which nothing but communication ran: kernels that exchange data between GPUs, and copies
    between them.
    """
    main_communication: MainCommunication | None
    """Operations that are most of exposed_communication_ns; null if it never communicates."""
    collective_wait_ns: int | None
    """Idle time in which a collective's kernel waited for a later rank, ns; null if its collectives have no
    counterpart in the trace, so that this time is a part of exposed_communication_ns.
    """
    idle: tuple[AccountPart, ...]
    """The rest by root cause, most first; with busy_ns it adds up to span_ns."""
    held_back: tuple[HeldBack, ...]
    """The part of busy_ns in which an operation was ready, had room, and waited, by cause, most first; the room is
    estimated.
    """


@dataclass(frozen=True)
class ThreadAccount:
    """Where a thread's time went."""

    pid: int
    """Process id."""
    tid: int
    """Thread id."""
    name: str
    """The thread's name."""
    span_ns: int
    """From its first event to its last, ns."""
    calls: int
    """Number of its CUDA calls; nested ones count once."""
    launches: int
    """Number of its launches of kernels and graphs."""
    parts: tuple[AccountPart, ...]
    """That time by what the thread did, most first; adds up to span_ns."""


@dataclass(frozen=True)
class WaitPart:
    """A part of the time in which operations waited."""

    cause: str
    """The cause."""
    ns: int
    """Its time, ns."""
    evidence: Literal['lock', 'record', 'timing', 'sample']
    """What it rests on."""
    confidence: Literal['certain', 'likely', 'possible']
    """How sure it is."""
    finding: str | None
    """Id of the finding that has most of the part in which the operations held the GPU back; null if most of it is in
    none.
    """


@dataclass(frozen=True)
class StreamAccount:
    """What the operations of a stream waited for."""

    device: int
    """CUDA device index."""
    pid: int
    """Process id."""
    stream: int
    """CUPTI's number of the stream."""
    ops: int
    """Number of its operations."""
    busy_ns: int
    """Times of its operations, summed, ns."""
    waiting_ns: int
    """Time between ready and start, summed over its operations, ns."""
    waiting: tuple[WaitPart, ...]
    """That time by cause, most first; adds up to waiting_ns."""


@dataclass(frozen=True)
class Rank:
    """One rank of a distributed program."""

    rank: int | None
    """Its number, where one of several traces states it."""
    trace: int | None
    """Of several traces the position of the one that it is in, from 0; null in one trace."""
    device: int
    """CUDA device index."""
    pid: int
    """The process that launches its collectives."""
    collectives: int
    """The collectives that it takes part in."""
    late: int
    """Those at which it was the last, more than 50 µs after the first."""
    late_ns: int
    """How much later than the first it began then, ns: the median."""
    cost_ns: int
    """Idle time of the other GPUs that waited for it, ns."""
    causes: tuple[AccountPart, ...]
    """That time by what the rank did instead, most first; adds up to cost_ns."""


@dataclass(frozen=True)
class Ranks:
    """Which rank was late at the collectives; null where no collective's ranks are all known. Where several traces
    are of the ranks of one run, each has the same.
    """

    collectives: int
    """Collectives of which the kernels of all ranks are known."""
    clocks_agree_ns: int | None
    """How well the clocks of several traces agree once they are fitted: nine of ten ends of collectives are at most
    this apart, ns; null in one trace.
    """
    ranks: tuple[Rank, ...]
    """Each rank, in the order of devices or traces."""


@dataclass(frozen=True)
class Accounts:
    """Where all of each GPU's and each thread's time went."""

    refused: Literal['lost', 'clock', None]
    """Why the idle time of GPUs has no causes: records were lost, or the clocks of host and GPU cannot be compared.
    """
    steady: Steady | None
    """What the accounts, the findings and the overlap are of: what the program repeats; null if it is all of the
    selected time.
    """
    start_up: StartUp | None
    """What the program does before it repeats anything; null if no start-up stands out."""
    ending: Ending | None
    """What the program does after the GPUs' last work; null if that does not stand out."""
    gpus: tuple[GpuAccount, ...]
    """The GPUs with operations."""
    threads: tuple[ThreadAccount, ...]
    """The threads."""
    streams: tuple[StreamAccount, ...]
    """The streams with operations; none where refused is set."""
    ranks: Ranks | None
    """Which rank was late at the collectives; null where no collective's ranks are all known. Where several traces
    are of the ranks of one run, each has the same.
    """


@dataclass(frozen=True)
class StepTime:
    """The median step."""

    duration_ns: int
    """Duration, ns."""
    busy_ns: int
    """Time with any operation of the GPU, ns."""
    idle: tuple[AccountPart, ...]
    """The rest by root cause, most first; without a GPU, what the thread did. With busy_ns it adds up to duration_ns.
    """


@dataclass(frozen=True)
class SlowStep:
    """A step that took longer than most."""

    name: str
    """Name of its range; empty if it is none."""
    start_ns: int
    """Start, ns from the trace's start."""
    duration_ns: int
    """Duration, ns."""
    busy_more_ns: int
    """How much longer than in the median step the GPU was busy, ns."""
    more: tuple[AccountPart, ...]
    """What it had more of than the median step, most first; less is negative. With busy_more_ns it adds up to what it
    took longer.
    """


@dataclass(frozen=True)
class Steps:
    """What a program repeats, as a training loop does."""

    name: str
    """Name of the ranges without their numbers, of the call that launches graphs, or of the kernel with which steps
    begin.
    """
    source: Literal['ranges', 'graph-launches', 'kernels', 'threads']
    """What shows where steps begin."""
    pid: int
    """Process id."""
    tid: int
    """Id of the thread whose steps they are, or most of them."""
    threads: int
    """Number of threads that do such steps side by side."""
    requests: bool
    """Whether they are requests: between them their threads wait for what comes from outside, or from other threads;
    that time is no part of them.
    """
    device: int | None
    """The GPU that the process uses most; null without GPU operations."""
    count: int
    """Number of steps."""
    warm_up: int
    """How many steps the program had before these, to settle: some of them took much longer."""
    mean_ns: int
    """Mean duration, ns."""
    per_second: float
    """How many there are in a second, from the start of the first to the end of the last."""
    median_ns: int
    """Duration of the median step, ns."""
    spread_ns: int
    """From the first quartile of the durations to the third, ns."""
    median: StepTime
    """The median step."""
    total: StepTime
    """All steps together."""
    slow: tuple[SlowStep, ...]
    """Slow steps, the longest first."""


@dataclass(frozen=True)
class Pauses:
    """Pauses of a thread between two calls."""

    count: int
    """Their number."""
    ns: int
    """Their time, ns."""
    after: str
    """The function that was called before."""
    before: str
    """The function that was called next."""


@dataclass(frozen=True)
class FindingThread:
    """A thread that lost time."""

    pid: int
    tid: int
    thread: str
    call: str
    """Empty outside calls."""


@dataclass(frozen=True)
class Party:
    """Who waited, in which call."""

    pid: int
    """Process id."""
    tid: int
    """Thread id."""
    thread: str
    """The thread's name; its id where it has none."""
    threads: int
    """How many threads this stands for."""
    call: str
    """The call; empty for waits and locks outside calls."""
    detail: str
    """What the call did."""
    where: tuple[Place, ...]
    """Where the calls were made, most time first."""


@dataclass(frozen=True)
class ChainLink:
    """A thread in a chain of waits."""

    pid: int
    tid: int
    thread: str
    cause: str
    """What it waited for; of the root, what it did."""
    call: str | None
    where: Place | None
    """Where the root was."""


@dataclass(frozen=True)
class Tree:
    """A function in a tree of calls."""

    depth: int
    """How many functions of the tree are around it."""
    file: str
    """Source file, or library."""
    line: int
    """Line from 1; 0 when unknown."""
    function: str
    """Function."""
    share: float
    """The part of all samples that lie in it, 0 to 1."""


@dataclass(frozen=True)
class ThreadGain:
    """What a fix would gain for the thread that gains most."""

    pid: int
    """Its process."""
    tid: int
    """Its id."""
    share: float
    """By how much earlier it would be done, as a part of the program's time."""


@dataclass(frozen=True)
class Gain:
    """What a fix would gain."""

    share: float
    """The best guess, as a part of the program's time; negative for a loss."""
    low: float
    """The least; no gain is certain unless it is above 0."""
    high: float
    """The most, or what the thread gains."""
    once: float
    """What the fix takes once, when processes start and end; the others have it in them."""
    thread: ThreadGain | None
    """The thread that would be done much earlier than the program, if there is one."""


@dataclass(frozen=True)
class Applied:
    """Lines of code that apply a fix."""

    language: Literal['python', 'cpp', 'julia', 'fortran', 'sh']
    """The language of the lines."""
    code: str
    """The lines, with a line end after each; names such as step and gpu stand for the program's own."""
    where: Place | None
    """Where to apply them."""
    source: str | None
    """The program's own line there, without the white space around it; null if its file is not here or changed since
    the recording.
    """


@dataclass(frozen=True)
class Fix:
    """A change to the program that helps."""

    id: str
    text: str
    """What to do."""
    safety: str
    """When it is safe."""
    gain: Gain | None
    """What it would gain alone, as holdup whatif predicts; null if that is not predicted, or if the fix has nothing
    to change in this trace.
    """
    applied: Applied | None
    """Lines of code that apply it; null if there are none for the finding's framework."""


@dataclass(frozen=True)
class Finding:
    """One cause with its threads, times, evidence and fixes."""

    id: str
    """H1, H2 … in order."""
    cause: Literal[
        'driver-lock', 'application-lock', 'pageable-staging', 'pageable-order', 'hidden-sync', 'explicit-sync',
        'implicit-device-sync', 'queue-full', 'blocking-launch', 'first-use', 'allocation', 'pool-trim',
        'object-churn', 'page-faults', 'page-migration', 'profiler-overhead', 'copy-engine-busy', 'gil', 'lock',
        'blocked', 'no-cpu', 'kernel-build', 'data-loading', 'feeding', 'file-writing', 'file-reading',
        'garbage-collection', 'host-code', 'no-demand', 'own-work', 'launch-latency', 'dependency', 'default-stream',
        'connection-aliasing', 'issue-order', 'time-slicing', 'gpu-full', 'collective-wait', 'start-up',
        'unexplained', 'not-recorded',
    ]
    """Why."""
    of_account: bool
    """Whether the account alone found it: its time is in no slow call and in none of the sums above."""
    phase: Literal['once', 'recurring']
    """Whether it costs in few stretches or again and again."""
    cost_ns: int
    """GPU time lost at this root, ns: idle, each moment once; without records of the GPUs, lost_ns."""
    cost_share: float
    """cost_ns as a part of the time of all GPUs, 0 to 1; without records of the GPUs, share."""
    removal_gain: float | None
    """Part of the time of what the program repeats that it would gain if what the finding finds did not exist, by a
    replay; null where none predicts it. A finding ranks by it if it is more than cost_share.
    """
    lost_ns: int
    """Host time lost by the waiter, ns."""
    share: float
    """lost_ns as a part of the waiting threads' spans, 0 to 1."""
    count: int
    """Calls that lost time, or waits outside calls."""
    short_calls: int
    """Number of short calls of the same cause whose cost to the GPUs the finding has besides, where they cost more
    than the slow ones lost; else 0.
    """
    other_calls: int
    """Number of calls, of those that count and short_calls have, that are of other functions than the waiter's call.
    """
    pauses: Pauses | None
    """The pauses between two calls that have most of the time, if they have half of it."""
    max_ns: int
    """Most time lost in one of them, ns."""
    threads: tuple[FindingThread, ...]
    """Every thread that lost time, once with each call, most first."""
    waiter: Party
    """Who waited, in which call."""
    holder: Party | None
    """Whom it waited for, where there is one."""
    or_: tuple[Party, ...]
    """Others that fit as well."""
    chain: tuple[ChainLink, ...]
    """The threads that waited for each other in the longest stretch, the root first; empty if none waited for
    another.
    """
    evidence: Literal['lock', 'record', 'sample', 'timing']
    confidence: Literal['certain', 'likely', 'possible']
    because: str
    """The evidence in words, with the figures."""
    why: str
    """The mechanism in one sentence."""
    where: tuple[Place, ...]
    """Where the waiter's calls were made, most time first."""
    work: str | None
    """Who does what is done at the first place, as people call it (torch.save); null if that is not known work."""
    inner: tuple[Place, ...]
    """What has at least half of the samples below the first place: the deepest function with a line, then the deepest
    one, or the deepest library, without.
    """
    tree: tuple[Tree, ...]
    """The stacks of these samples as a tree: each function before those that it calls."""
    examples: tuple[Example, ...]
    """The longest waits."""
    framework: Literal['pytorch', 'cupy', 'jax', 'python', 'julia', 'fortran', 'cuda', None]
    """What its calls were made with: a framework, another Python program, or CUDA's own functions; null if the
    program uses several and the calls' stacks do not show which.
    """
    fixes: tuple[Fix, ...]
    """How to fix it."""


@dataclass(frozen=True)
class Result:
    """The explanation of one trace."""

    schema: Literal['holdup/explain/1']
    trace: TraceSummary
    """The trace in numbers."""
    verdict: Verdict
    chosen_calls: int
    """Calls that the selection matches."""
    slow_call_ns: int
    """Host time in calls above the threshold; nested calls count once, ns."""
    slow_calls: int
    """Number of those calls."""
    explained_ns: int
    """The part of slow_call_ns that findings explain, ns."""
    own_work_ns: int
    """The part of slow_call_ns that such calls cost anyway, ns; no finding counts it."""
    short_wait_ns: int
    """Recorded waits for locks in calls below the threshold, where they add up to findings, ns."""
    outside_wait_ns: int
    """Recorded waits for locks outside calls, ns."""
    min_wait_ns: int
    """The threshold, ns."""
    failed_calls: tuple[FailedCall, ...]
    """Calls that failed, by function and error, most first; not those that answer that work is not done yet."""
    overlap: tuple[Overlap, ...]
    """How the copies and kernels of each GPU overlapped."""
    accounts: Accounts
    """Where all of each GPU's and each thread's time went."""
    steps: Steps | None
    """What the program repeats, as a training loop does; null if no steps were found."""
    gains_absent: Literal['selection', 'size', 'misfit', 'refused', None]
    """Why no fix has a gain: only a part of the trace is explained, the trace is too large to be replayed beside
    that, its replay does not fit, or it cannot be replayed; null if gains are predicted, if no change predicts the
    findings' fixes, or with --gains never.
    """
    findings: tuple[Finding, ...]
    """Most GPU time lost first. Empty if none matters: then minor_findings has them."""
    minor_findings: tuple[Finding, ...]
    """All findings, where none costs 1 % of the GPUs' time."""
