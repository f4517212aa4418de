"""`holdup.explain`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdup import _html, results
from holdup._decode import decode
from holdup._program import HoldupError, run
from holdup._tables import Tables

if TYPE_CHECKING:
    import pandas

Path = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Explanation(results.Result):
    """Why the program of a trace waited. Its fields are those of `holdup explain --format json`; a notebook shows it as
    the report's first screen."""

    json: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """All that the program printed, as it was."""
    selection: tuple[str, ...] = field(default=(), compare=False)
    """The options that selected a part of the trace."""

    @property
    def tables(self) -> Tables:
        """The tables of the selected part of the trace: calls, operations, waits and others."""
        return Tables(self.trace.path, self.selection)

    def to_pandas(self) -> pandas.DataFrame:
        """The findings, most expensive first: times in ns, shares from 0 to 1, places as `file:line function`.

        Raises:
            ImportError: pandas is missing.
        """
        import pandas

        return pandas.DataFrame([_row(finding) for finding in self.findings or self.minor_findings], columns=COLUMNS)

    def __repr__(self) -> str:
        count = len(self.findings)
        return f"<Explanation of {self.trace.path}: {count} finding{'' if count == 1 else 's'}>"

    def __str__(self) -> str:
        """The verdict, and a line for each of the first findings."""
        lines = [_html.headline(self), self.verdict.text]
        for finding in _html.first(self):
            lines.append(f"{finding.id}  {_html.percent(finding.cost_share)}  {_html.summary(finding)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html.first_screen(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


COLUMNS = [
    "id", "cause", "phase", "cost_ns", "cost_share", "lost_ns", "share", "count", "max_ns", "thread", "call", "where",
    "holder_thread", "holder_call", "holder_where", "evidence", "confidence", "why", "because", "fixes",
]  # fmt: skip


def _row(finding: results.Finding) -> list[Any]:
    waiter, holder = finding.waiter, finding.holder
    return [
        finding.id, finding.cause, finding.phase, finding.cost_ns, finding.cost_share, finding.lost_ns, finding.share,
        finding.count, finding.max_ns, waiter.thread, waiter.call, _html.place(finding.where),
        holder.thread if holder else None, holder.call if holder else None,
        _html.place(holder.where) if holder else None, finding.evidence, finding.confidence, finding.why,
        finding.because, " ".join(fix.id for fix in finding.fixes),
    ]  # fmt: skip


def explain(
    path: Path,
    *,
    start: str | float | None = None,
    end: str | float | None = None,
    thread: str | int | None = None,
    name: str | None = None,
    range: str | None = None,
    min_wait: str | float | None = None,
) -> Explanation:
    """Explains a trace of any format that holdup reads.

    Args:
        path: The trace.
        start: Only events that end after this time from the trace's start: `"200ms"`, or a number of seconds.
        end: Only events that start before this time.
        thread: Only this thread: its id, or a part of its name.
        name: Only calls and GPU operations whose name contains this.
        range: Only calls within ranges (NVTX, `record_function`) whose name contains this.
        min_wait: Calls that take at most this long are not slow: `"100us"`, or a number of seconds.

    Raises:
        HoldupError: the trace cannot be read, or nothing in it matches.

    >>> explanation = explain("examples/recorded-d2h-stall.holdup")
    >>> explanation.findings[0].cause
    'driver-lock'
    >>> explanation.findings[0].holder.call
    'cudaMemcpyAsync'
    >>> explanation.findings[0].lost_ns // 1_000_000  # ms
    1016
    """
    options = {"from": start, "to": end, "thread": thread, "name": name, "range": range}
    selection = tuple(word for key, value in options.items() if value is not None for word in (f"--{key}", str(value)))
    limit = () if min_wait is None else ("--min-wait", str(min_wait))
    return _explained([path], selection, limit)[0]


def explain_all(paths: Iterable[Path]) -> list[Explanation]:
    """Explains several traces together: those of the ranks of one run on one clock, with the ranks that were late.

    Raises:
        HoldupError: a trace cannot be read, or there is none.

    >>> pair = explain_all(["examples/recorded-d2h-stall.holdup", "examples/recorded-d2h-pinned.holdup"])
    >>> [explanation.trace.source for explanation in pair]
    ['holdup', 'holdup']
    """
    return _explained(list(paths), (), ())


def _explained(paths: list[Path], selection: tuple[str, ...], options: tuple[str, ...]) -> list[Explanation]:
    if not paths:
        raise HoldupError("no trace to explain: name at least one")
    names = [os.fspath(path) for path in paths]
    done = run(["explain", "--format", "json", *selection, *options, "--", *names])
    printed = json.loads(done.stdout)
    return [_of_json(each, selection) for each in (printed if isinstance(printed, list) else [printed])]


def _of_json(printed: Mapping[str, Any], selection: tuple[str, ...] = ()) -> Explanation:
    read = decode(results.Result, printed)
    return Explanation(**vars(read), json=printed, selection=selection)
