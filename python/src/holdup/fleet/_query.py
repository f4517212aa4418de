"""The reduce step: SQL of this package's folder `sql` over digests, run by DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdup._program import HoldupError

SQL = Path(__file__).resolve().parent / "sql"

TOGETHER_NS = 50_000
"""Most time between the ends of the kernels of one collective, ns; as in `holdup explain`."""
DRIFT_NS = 50_000
"""Least change of a clock that is reported, ns."""
COLUMNS = 240
"""Most columns of the heat map; no more than there are collectives."""
REFERENCES = 64
"""Most groups of ranks that are looked for among collectives of one name."""


@dataclass(frozen=True)
class LateRank:
    """A rank that others waited for at collectives."""

    rank: int | None
    host: str | None
    trace: str
    device: int
    late: int
    """Collectives at which it was the last, more than 50 us after the first."""
    late_ns: int
    """How much later than the first it began then, ns: the median."""
    cost_ns: int
    """What all other GPUs waited for it, ns."""
    causes: tuple[Part, ...]
    """That time by what the rank did instead, most first."""


@dataclass(frozen=True)
class Part:
    """A part of what a late rank cost."""

    cause: str
    place: str | None
    call: str | None
    ns: int
    share: float
    """As a part of the whole, 0 to 1."""


@dataclass(frozen=True)
class Cost:
    """What a cause at a place cost the run."""

    cause: str
    place: str | None
    call: str | None
    own_ns: int
    """Time in which GPUs had nothing to do because of it, ns."""
    waited_ns: int
    """Time in which other GPUs waited at collectives for a rank that it made late, ns."""
    share: float
    """Both as a part of the time of all GPUs, 0 to 1."""
    gpus: int
    """GPUs that had nothing to do because of it."""
    most_rank: int | None
    """The rank that has most of it, if it has half as much again as they have on average."""

    @property
    def ns(self) -> int:
        """Both times together, ns."""
        return self.own_ns + self.waited_ns


@dataclass(frozen=True)
class Node:
    """A machine whose GPUs spend their time otherwise than most."""

    host: str
    gpus: int
    cause: str
    share: float
    """Part of its GPUs' time, 0 to 1."""
    usual: float
    """The median over all machines, 0 to 1."""


@dataclass(frozen=True)
class Clock:
    """A rank's clock."""

    rank: int | None
    trace: str
    ahead_ns: int
    """How much later its times are than those of the rank that it is compared with, ns."""
    within_ns: int
    """Nine of ten ends of collectives differ by at most this then, ns."""
    jump_ns: int
    """By how much it jumps, ns; 0 if it does not."""
    jump_at_ns: int | None
    """When, ns from the first collective."""
    drift_ns: int
    """How much it is ahead at the end more than at the start, ns, jumps aside."""


@dataclass(frozen=True)
class Heat:
    """How late each rank was over time."""

    ranks: tuple[str, ...]
    """Names, in the order of rows."""
    hosts: tuple[str, ...]
    columns: int
    duration_ns: int
    """The time of all columns, ns."""
    rows: tuple[tuple[int, ...], ...]
    """For each rank and column, how much later than the first rank it began a collective, at most, ns; -1 without one."""


@dataclass(frozen=True)
class Summary:
    """What the digests of a run say."""

    run: str
    digests: int
    """Traces that could be read."""
    ranks: int
    world_size: int | None
    hosts: int
    gpus: int
    span_ns: int
    """The time of all GPUs together, ns."""
    events: int
    """Calls and GPU operations of all traces."""
    collectives: int
    """Collectives of which the kernels of all ranks are known."""
    median_step_ns: int | None
    busy_ns: int
    """The time in which they had any operation, ns; waits for later ranks are a part of it."""
    wait_ns: int
    """What all GPUs waited for later ranks, ns."""
    late_ranks: tuple[LateRank, ...]
    costs: tuple[Cost, ...]
    """What causes and places cost, most first."""
    nodes: tuple[Node, ...]
    clocks: tuple[Clock, ...]
    remarks: tuple[str, ...]
    """What is wrong with the digests: one sentence each."""
    heat: Heat | None = field(default=None, repr=False)


def connect() -> Any:
    """A DuckDB in memory.

    Raises:
        HoldupError: duckdb is missing.
    """
    try:
        import duckdb
    except ImportError:
        raise HoldupError("the Python package duckdb is missing: pip install 'holdup[fleet]'") from None
    database = duckdb.connect()
    database.execute("SET preserve_insertion_order = false")
    return database


def files(place: str, folder: str) -> list[str]:
    """The files of digests below a folder, or of an address that fsspec knows: these are copied into `folder`, because a query reads
    each several times.

    Raises:
        HoldupError: there are none, or they cannot be reached.
    """
    root = place if "://" not in place else _copied(place, folder)
    found = sorted(glob.glob(os.path.join(glob.escape(root), "**", "*.parquet"), recursive=True))
    if not found:
        is_there = os.path.isdir(root)
        raise HoldupError(f"{place}: {'no digests: make some with holdup digest' if is_there else 'no such folder: check the name'}")
    return found


def _copied(place: str, folder: str) -> str:
    try:
        import fsspec

        system, path = fsspec.url_to_fs(place)
        names = [name for name in system.find(path) if name.endswith(".parquet")]
        targets = [os.path.join(folder, os.path.basename(os.path.dirname(name)), os.path.basename(name)) for name in names]
        for target in targets:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        system.get(names, targets)
    except ImportError as error:
        raise HoldupError(f"{place}: {error}: pip install 'holdup[fleet]'") from None
    except Exception as error:
        line = " ".join((str(error) or type(error).__name__).split())
        raise HoldupError(f"{place}: cannot be reached: {line}: check the address and its credentials") from None
    return folder


def statements(name: str) -> Iterator[str]:
    """The statements of a file of SQL."""
    text = (SQL / f"{name}.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement


def execute(database: Any, name: str) -> None:
    """Runs a file of SQL."""
    for statement in statements(name):
        database.execute(statement)


def open_digests(database: Any, place: str, run: str | None, folder: str) -> tuple[str, list[str]]:
    """Makes the views `digests` and `digested_collectives` of one run; returns its name and what is wrong with its files.

    Raises:
        HoldupError: there is no such run, or there are several and none is named.
    """
    import duckdb

    names = files(place, folder)
    readable, remarks = _readable(names, database)
    parts = {kind: [name for name in readable if os.path.basename(name).startswith(f"{kind}-")] for kind in ("digests", "collectives")}
    if not parts["digests"]:
        raise HoldupError(f"{place}: none of {counted(len(names), 'file')} has digests: digest the traces again")
    try:
        for view, of in (("every", parts["digests"]), ("every_collective", parts["collectives"] or parts["digests"])):
            listed = ", ".join(_quote(name) for name in of)
            database.execute(
                f"CREATE OR REPLACE TEMP VIEW {view} AS "
                f"SELECT * FROM read_parquet([{listed}], filename = true, hive_partitioning = false)"
            )
        rows = database.execute(
            "SELECT filename, run, trace, kind = 'error' AS failed FROM every WHERE kind IN ('trace', 'error')"
        ).fetchall()
    except duckdb.Error as error:
        raise HoldupError(f"{place}: not digests of this holdup: {str(error).splitlines()[0]}: digest the traces again") from None
    if not rows:
        raise HoldupError(f"{place}: the digests have no trace: digest traces")
    runs = sorted({row[1] for row in rows})
    if run is None and len(runs) > 1:
        shown = ", ".join(runs[:5]) + (", …" if len(runs) > 5 else "")
        raise HoldupError(f"{place}: {len(runs)} runs ({shown}): choose one with --run")
    if run is not None and run not in runs:
        raise HoldupError(f"{place}: no run `{run}`: it has {', '.join(runs[:5])}")
    run = run or runs[0]
    chosen, again = _newest([(row[0], row[2], row[3]) for row in rows if row[1] == run])
    wanted = []
    if again:
        remarks.append(f"{counted(again, 'trace')} digested twice: one digest of each counts")
        database.execute("CREATE OR REPLACE TEMP TABLE chosen (filename VARCHAR, trace VARCHAR)")
        database.executemany("INSERT INTO chosen VALUES (?, ?)", [list(each) for each in chosen])
        wanted.append("(replace(filename, '/collectives-', '/digests-'), trace) IN (SELECT filename, trace FROM chosen)")
    if len(runs) > 1:
        wanted.append(f"run = {_quote(run)}")
    where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
    database.execute(f"CREATE OR REPLACE TEMP VIEW digests AS SELECT * FROM every {where}")
    database.execute(f"CREATE OR REPLACE TEMP VIEW digested_collectives AS SELECT * FROM every_collective {where}")
    return run, remarks


def _readable(names: list[str], database: Any) -> tuple[list[str], list[str]]:
    """The files that are Parquet, and a remark on each other one."""
    import duckdb

    def is_parquet(some: list[str]) -> bool:
        listed = ", ".join(_quote(name) for name in some)
        try:
            database.execute(f"SELECT count(*) FROM parquet_file_metadata([{listed}])").fetchall()
        except duckdb.Error:
            return False
        return True

    if is_parquet(names):
        return names, []
    readable = [name for name in names if is_parquet([name])]
    broken = [os.path.basename(name) for name in names if name not in set(readable)]
    return readable, [f"{name} is no Parquet file: digest its traces again" for name in broken[:8]]


def _newest(rows: list[tuple[str, str, bool]]) -> tuple[list[tuple[str, str]], int]:
    """One file for each trace: one that could be read rather than an error, else the last by name."""
    best: dict[str, tuple[bool, str]] = {}
    for name, trace, failed in rows:
        best[trace] = max(best.get(trace, (False, "")), (not failed, name))
    return [(name, trace) for trace, (_, name) in best.items()], len(rows) - len(best)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "rank"), counted(4096, "rank")
    ('1 rank', '4,096 ranks')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
