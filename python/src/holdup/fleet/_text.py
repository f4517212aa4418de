"""A run as text and JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from holdup.fleet._against import Change, Changes
from holdup.fleet._query import Cost, LateRank, Part, Summary, counted

LATE = 5
"""Late ranks of the text."""
COSTS = 8
"""Causes of the text."""
NODES = 5
"""Machines of the text."""
LEAST = 0.001
"""Least share of what the text has, as a part of the GPUs' time; late ranks as a part of the costliest."""


def duration(ns: float) -> str:
    """A duration with three digits.

    >>> duration(1_234_567), duration(3_600_000_000_000), duration(420)
    ('1.23 ms', '1.00 h', '420 ns')
    """
    for unit, size in (("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            value = ns / size
            return f"{value:.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f} {unit}"
    return f"{ns:.0f} ns"


def gpu_time(ns: float) -> str:
    """A time of GPUs together.

    >>> gpu_time(7_200_000_000_000), gpu_time(5e9)
    ('2.00 GPU h', '5.00 GPU s')
    """
    number, unit = duration(ns).split(" ")
    return f"{number} GPU {unit}"


def percent(share: float) -> str:
    """A share.

    >>> percent(0.1234), percent(0.004), percent(0)
    ('12 %', '0.4 %', '0 %')
    """
    return f"{share * 100:.0f} %" if share >= 0.0095 or share == 0 else f"{max(share * 100, 0.1):.1f} %"


def visible(text: str) -> str:
    """A name that cannot end a line or command a terminal.

    >>> visible("a\\x1b[31m\\nb")
    'a\\\\x1b[31m\\\\nb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def where(part: Part | Cost | Change) -> str:
    """The place or the call of a part."""
    if part.place:
        return visible(part.place)
    if part.call:
        return visible(part.call)
    return "its GPU worked meanwhile" if part.cause == "collective-wait" else ""


def text(summary: Summary, changes: Changes | None = None, top: int | None = None) -> str:
    """The run in some twenty lines."""
    lines = [_head(summary), ""]
    lines += [f"note: {visible(remark)}" for remark in summary.remarks]
    lines += [""] if summary.remarks else []
    lines += _late(summary, LATE if top is None else top)
    lines += _costs(summary, COSTS if top is None else top)
    lines += _nodes(summary, NODES if top is None else top)
    lines += _clocks(summary)
    if changes is not None:
        lines += ["", *changes_text(changes, COSTS if top is None else top)]
    return "\n".join(lines).rstrip() + "\n"


def _head(summary: Summary) -> str:
    of = f" of {summary.world_size:,}" if summary.world_size and summary.world_size != summary.ranks else ""
    words = [
        f"run {visible(summary.run)}",
        f"{counted(summary.ranks, 'rank')}{of}" if summary.ranks else counted(summary.digests, "trace"),
        counted(summary.hosts, "node"),
        gpu_time(summary.span_ns),
        f"{summary.events:,} events",
    ]
    if summary.median_step_ns:
        words.append(f"median step {duration(summary.median_step_ns)}")
    return " · ".join(words)


def _late(summary: Summary, top: int) -> list[str]:
    if not summary.collectives:
        return ["No collectives of several ranks: which rank is late is unknown.", ""]
    if not summary.late_ranks:
        return [f"No rank was late at {counted(summary.collectives, 'collective')}.", ""]
    first = summary.late_ranks[0]
    share = percent(summary.wait_ns / max(summary.span_ns, 1))
    lines = [f"GPUs waited {share} of their time for late ranks ({gpu_time(summary.wait_ns)}, {counted(summary.collectives, 'collective')})."]
    shown = [late for late in summary.late_ranks[:top] if late.cost_ns >= first.cost_ns * LEAST]
    for late in shown:
        lines.append(f"  {late_rank(late, summary.collectives)}")
        lines += [f"    {percent(part.share):>5}  {part.cause:<18} {where(part)}".rstrip() for part in late.causes[:3] if part.share >= 0.05]
    if len(summary.late_ranks) > len(shown):
        rest = sum(late.cost_ns for late in summary.late_ranks[len(shown):])
        lines.append(f"  and {counted(len(summary.late_ranks) - len(shown), 'rank')}, {gpu_time(rest)} together")
    return [*lines, ""]


def late_rank(late: LateRank, collectives: int) -> str:
    """A late rank in one line."""
    name = f"rank {late.rank}" if late.rank is not None else visible(late.trace)
    host = f" ({visible(late.host)})" if late.host else ""
    return (
        f"{name}{host} was the last at {late.late:,} of {collectives:,}, {duration(late.late_ns)} after the first (median): "
        f"cost {gpu_time(late.cost_ns)}"
    )


def _costs(summary: Summary, top: int) -> list[str]:
    shown = [cost for cost in summary.costs[:top] if cost.share >= LEAST]
    if not shown:
        return []
    lines = ["What cost most GPU time, idle and in waits of other ranks:"]
    for cost in shown:
        rank = "" if cost.most_rank is None else f", {'rank' if cost.gpus == 1 else 'most rank'} {cost.most_rank}"
        named = f"{cost.cause:<18} {where(cost)}".rstrip()
        lines.append(f"  {percent(cost.share):>5}  {gpu_time(cost.ns):>12}  {named} ({counted(cost.gpus, 'GPU')}{rank})")
    return [*lines, ""]


def _nodes(summary: Summary, top: int) -> list[str]:
    if not summary.nodes:
        return []
    lines = ["Nodes that differ from the others:"]
    for node in summary.nodes[:top]:
        lines.append(f"  {visible(node.host)}: {node.cause} {percent(node.share)} of the time, usually {percent(node.usual)}")
    if len(summary.nodes) > top:
        lines.append(f"  and {len(summary.nodes) - top:,} more")
    return [*lines, ""]


def _clocks(summary: Summary) -> list[str]:
    if len(summary.clocks) < 2 or not summary.collectives:
        return []
    ahead = [clock.ahead_ns for clock in summary.clocks]
    within = max(clock.within_ns for clock in summary.clocks if not clock.jump_ns)
    return [
        f"Clocks of {counted(len(ahead), 'rank')} differ by up to {duration(max(ahead) - min(ahead))}; fitted by the ends of collectives, "
        f"which agree within {duration(within)}."
    ]


def changes_text(changes: Changes, top: int) -> list[str]:
    """What changed since another run."""
    lines = [f"Against run {visible(changes.run)}:"]
    if changes.median_step_ns and changes.before_median_step_ns:
        change = changes.median_step_ns / changes.before_median_step_ns - 1
        lines.append(f"  median step {duration(changes.before_median_step_ns)} -> {duration(changes.median_step_ns)} ({change * 100:+.1f} %)")
    lines.append(f"  waits for late ranks {percent(changes.before_wait_share)} -> {percent(changes.wait_share)} of the GPUs' time")
    for title, ranks in (("late now, not before", changes.new_late), ("late before, not now", changes.gone_late)):
        if ranks:
            lines.append(f"  {title}: rank {', '.join(map(str, ranks[:top]))}{', …' if len(ranks) > top else ''}")
    for change_ in changes.causes[:top]:
        lines.append(
            f"  {percent(change_.before):>5} -> {percent(change_.after):>5}  {change_.cause:<18} {where(change_)}".rstrip()
        )
    if not changes.causes:
        lines.append("  no cause changed by 0.1 % of the GPUs' time or more")
    return lines


def as_json(summary: Summary, changes: Changes | None = None) -> str:
    """All of it, described by docs/schema/fleet.json: times in ns, shares from 0 to 1."""
    body: dict[str, Any] = {"schema": "holdup/fleet/1"}
    body.update(_plain(dataclasses.replace(summary, heat=None)))
    del body["heat"]
    body["against"] = None if changes is None else _plain(changes)
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value)


