"""What changed between two runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdup.fleet._query import Cost, Summary

LEAST = 0.001
"""Least change of a cause, as a part of the GPUs' time."""


@dataclass(frozen=True)
class Change:
    """A cause at a place in two runs."""

    cause: str
    place: str | None
    call: str | None
    before: float
    """What it cost before, as a part of the time of all GPUs, 0 to 1."""
    after: float


@dataclass(frozen=True)
class Changes:
    """What changed since another run."""

    run: str
    before_median_step_ns: int | None
    median_step_ns: int | None
    before_wait_share: float
    """What GPUs waited for late ranks, as a part of their time, 0 to 1."""
    wait_share: float
    new_late: tuple[int, ...]
    """Ranks that cost at least 0.1 % of the GPUs' time now and did not before."""
    gone_late: tuple[int, ...]
    causes: tuple[Change, ...]
    """Causes by what changed most, as parts of the GPUs' time."""


def changes(now: Summary, before: Summary) -> Changes:
    """Compares a run with an earlier one. Runs have different lengths, so times are compared as parts of the GPUs' time."""
    late_now, late_before = _late(now), _late(before)
    return Changes(
        run=before.run,
        before_median_step_ns=before.median_step_ns,
        median_step_ns=now.median_step_ns,
        before_wait_share=before.wait_ns / max(before.span_ns, 1),
        wait_share=now.wait_ns / max(now.span_ns, 1),
        new_late=tuple(sorted(late_now - late_before)),
        gone_late=tuple(sorted(late_before - late_now)),
        causes=_causes(now, before),
    )


def _late(summary: Summary) -> set[int]:
    return {late.rank for late in summary.late_ranks if late.rank is not None and late.cost_ns >= LEAST * summary.span_ns}


def _causes(now: Summary, before: Summary) -> tuple[Change, ...]:
    found: dict[tuple[str, str], tuple[Cost, float, float]] = {}
    for cost in before.costs:
        first, was, _ = found.get(_key(cost), (cost, 0.0, 0.0))
        found[_key(cost)] = (first, was + cost.share, 0.0)
    for cost in now.costs:
        _, was, became = found.get(_key(cost), (cost, 0.0, 0.0))
        found[_key(cost)] = (cost, was, became + cost.share)
    rows = [Change(cost.cause, cost.place, cost.call, was, became) for cost, was, became in found.values()]
    rows = [row for row in rows if abs(row.after - row.before) >= LEAST]
    return tuple(sorted(rows, key=lambda row: -abs(row.after - row.before)))


def _key(cost: Cost) -> tuple[str, str]:
    """A place whose line moved stays the same place.

    >>> _key(Cost("gil", "a.py:31 load", None, 1, 0, 0.1, 1, 0)) == _key(Cost("gil", "a.py:33 load", None, 1, 0, 0.1, 1, 0))
    True
    """
    return cost.cause, re.sub(r":\d+(?= |$)", "", cost.place or "") or cost.call or ""
