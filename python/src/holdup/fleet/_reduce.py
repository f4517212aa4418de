"""What digests say about a run."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from holdup._program import HoldupError
from holdup.fleet._query import (
    COLUMNS,
    DRIFT_NS,
    REFERENCES,
    TOGETHER_NS,
    Clock,
    Cost,
    Heat,
    LateRank,
    Node,
    Part,
    Summary,
    connect,
    counted,
    execute,
    open_digests,
)

SKIPPED = 64
"""Most collectives by which the beginnings of two traces may differ; as in `holdup explain`."""
NEARBY = 8
"""Those that are tried first."""
SURE_NS = 8_000
"""If ends agree so well, no other order of collectives is tried, ns: a choice."""
NEAR_NS = 20_000_000
"""And if clocks differ by at most this from what the traces state of theirs, ns: a choice."""
EVERY = 9_223_372_036_854_775_807
"""All collectives are looked at."""
ALIGNED = "who, comm, reference, skipped, shift_ns, within_ns, fits, jump_ns, jump_seq, pairs, ahead_ns"
NAMED = 8
"""Ranks that a sentence names."""


def compare(place: str | os.PathLike[str], *, run: str | None = None, heat: bool = False) -> Summary:
    """Compares the ranks of a run by their digests.

    Args:
        place: The folder of digests, or an address that fsspec knows.
        run: The run, where there are several.
        heat: Whether to make the heat map.

    Raises:
        HoldupError: there are no digests, or several runs.
    """
    database = connect()
    with tempfile.TemporaryDirectory(prefix="holdup-fleet-") as folder:
        run, remarks = open_digests(database, os.fspath(place), run, folder)
        return reduce(database, run, remarks, heat)


def reduce(database: Any, run: str, remarks: list[str], heat: bool) -> Summary:
    """Runs the SQL over the view `digests`."""
    for name in ("members", "causes", "collectives", "steps"):
        execute(database, name)
    read, ranks, world, hosts, events = database.execute(
        "SELECT count(*) FILTER (kind = 'trace'), count(DISTINCT rank), max(bytes), count(DISTINCT host), sum(count) "
        "FROM digests WHERE kind IN ('trace', 'error')"
    ).fetchone()
    gpus, span = database.execute("SELECT count(*), coalesce(sum(span_ns), 0) FROM members WHERE copy = 1").fetchone()
    remarks = remarks + _of_traces(database, world)
    if gpus == 0 and read == 0:
        raise HoldupError(f"run {run}: no trace could be read: {remarks[0] if remarks else 'digest traces first'}")
    remarks += _align(database)
    execute(database, "lateness")
    within = _within(database)
    execute(database, "costs")
    execute(database, "nodes")
    collectives, wait = database.execute(
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT comm, reference, number FROM joined)), "
        "(SELECT coalesce(sum(cost_ns), 0) FROM late_ranks)"
    ).fetchone()
    clocks = _clocks(database)
    remarks += _of_clocks(clocks)
    busy = database.execute("SELECT coalesce(sum(ns), 0) FROM causes WHERE cause = 'busy'").fetchone()[0]
    step = database.execute("SELECT median(median_ns) FROM steps").fetchone()[0]
    return Summary(
        run=run,
        digests=read,
        ranks=ranks,
        world_size=world,
        hosts=hosts,
        gpus=gpus,
        span_ns=int(span),
        events=int(events or 0),
        collectives=collectives if within is None else within,
        median_step_ns=None if step is None else int(step),
        busy_ns=int(busy),
        wait_ns=int(wait),
        late_ranks=_late_ranks(database),
        costs=_costs(database, int(span)),
        nodes=tuple(Node(*row) for row in database.execute("SELECT host, gpus, cause, share, usual FROM nodes ORDER BY distance DESC, host, cause LIMIT 64").fetchall()),
        clocks=clocks,
        remarks=tuple(remarks),
        heat=_heat(database) if heat else None,
    )


def _within(database: Any) -> int | None:
    """Takes what a trace says of its ranks, if it has all of them; returns the number of its collectives."""
    traces = database.execute("SELECT count(DISTINCT trace) FROM joined").fetchone()[0]
    said = database.execute("SELECT any_value(detail) FROM digests WHERE kind = 'rank'").fetchone()[0]
    if traces != 1 or said is None:
        return None
    execute(database, "within")
    return int(json.loads(said)["collectives"])


def _of_traces(database: Any, world: int | None) -> list[str]:
    """What is wrong with the traces of a run."""
    remarks = []
    failed = database.execute("SELECT trace, detail FROM digests WHERE kind = 'error' ORDER BY trace").fetchall()
    if failed:
        more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        remarks.append(f"{counted(len(failed), 'trace')} could not be read: {failed[0][1]}{more}")
    worlds = [row[0] for row in database.execute(
        "SELECT DISTINCT bytes FROM digests WHERE kind = 'trace' AND bytes IS NOT NULL ORDER BY 1").fetchall()]
    if len(worlds) > 1:
        sizes = " and ".join(f"{size:,}" for size in worlds[:3])
        remarks.append(f"traces of runs with {sizes} ranks are mixed: digest them apart with --run")
    twice = [row[0] for row in database.execute(
        "SELECT DISTINCT rank FROM members WHERE copy > 1 AND rank IS NOT NULL ORDER BY rank").fetchall()]
    if twice:
        remarks.append(
            f"several traces are of the same rank, as of two runs ({_named(twice)}): the first by name counts; digest runs apart with --run"
        )
    unknown = database.execute("SELECT count(*) FROM digests WHERE kind = 'trace' AND rank IS NULL").fetchone()[0]
    if unknown:
        remarks.append(f"{counted(unknown, 'trace')} with an unknown rank: name the file rank12.json, or give holdup digest --rank")
    known = {row[0] for row in database.execute("SELECT DISTINCT rank FROM digests WHERE rank IS NOT NULL AND kind = 'trace'").fetchall()}
    expected = world or (max(known) + 1 if known else 0)
    missing = [rank for rank in range(min(expected, 1 << 20)) if rank not in known]
    if missing and not unknown:
        remarks.append(f"{counted(len(missing), 'rank')} of {expected:,} missing ({_named(missing)}): one of them may be late")
    early = database.execute("SELECT count(DISTINCT trace), min(rank) FROM digests WHERE kind = 'note' AND detail LIKE 'the trace ends early%'").fetchone()
    if early[0]:
        remarks.append(f"{counted(early[0], 'trace')} ended early (rank {early[1]}): the rest was not written")
    conflicts = database.execute("SELECT trace, detail FROM digests WHERE kind = 'note' AND detail LIKE 'the name has rank%' ORDER BY trace LIMIT 1").fetchone()
    if conflicts:
        remarks.append(f"{os.path.basename(conflicts[0])}: {conflicts[1]}")
    return remarks


def _named(ranks: list[int]) -> str:
    """Some ranks, with ranges.

    >>> _named([1, 2, 3, 7])
    'rank 1 to 3, 7'
    """
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    words = [f"{low}" if low == high else f"{low} to {high}" for low, high in parts]
    return "rank " + ", ".join(words[:NAMED]) + (", …" if len(words) > NAMED else "")


def _align(database: Any) -> list[str]:
    """Finds for each member which of its collectives belong to which of a reference; returns what fits nothing."""
    database.execute("CREATE OR REPLACE TEMP TABLE rest AS SELECT DISTINCT who, comm FROM collectives")
    for _ in range(REFERENCES):
        if not database.execute("SELECT count(*) FROM rest").fetchone()[0]:
            break
        _reference(database)
        # Nearly all traces begin with the same collective, and their ends agree.
        _try(database, "range(0, 1)", EVERY)
        database.execute(
            f"INSERT INTO aligned SELECT {ALIGNED} FROM candidates WHERE who = reference OR (within_ns <= {SURE_NS} "
            f"AND coalesce(abs(ahead_ns) <= {NEAR_NS}, true))"
        )
        database.execute("CREATE OR REPLACE TEMP TABLE picks (who INTEGER, comm VARCHAR, reference INTEGER, skipped BIGINT)")
        for skipped in (NEARBY, SKIPPED):
            _try(database, f"range({-skipped}, {skipped + 1})", 3 * skipped)
            _pick(database)
        database.execute(f"CREATE OR REPLACE TEMP TABLE wanted AS SELECT *, {EVERY} AS first FROM picks")
        execute(database, "candidates")
        database.execute(f"INSERT INTO aligned SELECT {ALIGNED} FROM candidates")
        database.execute("DELETE FROM rest WHERE (who, comm) IN (SELECT who, comm FROM aligned UNION ALL SELECT reference, comm FROM references_)")
    return _alone(database)


def _reference(database: Any) -> None:
    """Chooses for each communicator the member with most collectives, to which the others are compared."""
    database.execute(
        "CREATE OR REPLACE TEMP TABLE references_ AS WITH counts AS (SELECT who, comm, count(*) AS kernels FROM collectives "
        "SEMI JOIN rest USING (who, comm) GROUP BY ALL) SELECT comm, (list(who ORDER BY kernels DESC, who))[1] AS reference FROM counts GROUP BY comm"
    )


def _try(database: Any, skips: str, first: int) -> None:
    """Makes the candidates of all that are neither aligned nor picked."""
    database.execute(
        "CREATE OR REPLACE TEMP TABLE wanted AS SELECT who, comm, reference, skipped, "
        f"CAST({first} AS BIGINT) AS first FROM rest JOIN references_ USING (comm), (SELECT unnest({skips}) AS skipped) "
        "WHERE (who, comm) NOT IN (SELECT who, comm FROM aligned)"
        + (" AND (who, comm) NOT IN (SELECT who, comm FROM picks)" if first != EVERY else "")
    )
    execute(database, "candidates")


def _pick(database: Any) -> None:
    """Picks of each member's candidates those that fit best. If several do, as where all steps take equally long, traces begin with
    the same collective; else the one whose clock is nearest to what the traces state of theirs."""
    database.execute(
        "INSERT INTO picks SELECT who, comm, reference, skipped FROM "
        "(SELECT *, min(uneven_ns) OVER (PARTITION BY who, comm) AS best_ns FROM (SELECT *, max(pairs) OVER (PARTITION BY who, comm) AS most "
        f"FROM candidates) WHERE 2 * pairs >= most) WHERE uneven_ns <= 2 * best_ns + {SURE_NS} / 2 "
        "QUALIFY row_number() OVER (PARTITION BY who, comm ORDER BY skipped <> 0, abs(coalesce(ahead_ns, 0)), abs(skipped)) = 1"
    )


def _alone(database: Any) -> list[str]:
    """The ranks whose collectives fit those of no other."""
    alone = database.execute(
        "SELECT rank FROM members WHERE who IN (SELECT who FROM collectives) AND who NOT IN "
        "(SELECT who FROM aligned WHERE (comm, reference) IN (SELECT comm, reference FROM aligned GROUP BY ALL HAVING count(*) > 1)) "
        "ORDER BY rank"
    ).fetchall()
    total = database.execute("SELECT count(DISTINCT who) FROM collectives").fetchone()[0]
    if not alone or total < 2:
        return []
    ranks = [row[0] for row in alone if row[0] is not None]
    named = f" ({_named(ranks)})" if ranks else ""
    return [f"the collectives of {counted(len(alone), 'rank')}{named} fit those of no other: they may be of another run"]


def _late_ranks(database: Any) -> tuple[LateRank, ...]:
    causes: dict[int, list[Part]] = {}
    for who, cause, place, call, share, cost in database.execute("SELECT who, cause, place, call, share, cost_ns FROM late_causes ORDER BY cost_ns DESC, cause, place, call").fetchall():
        causes.setdefault(who, []).append(Part(cause, place, call, int(cost), share))
    rows = database.execute("SELECT who, rank, host, trace, device, late, late_ns, cost_ns FROM late_ranks WHERE cost_ns > 0 ORDER BY cost_ns DESC, who").fetchall()
    return tuple(
        LateRank(rank, host, trace, device, late, late_ns, int(cost), tuple(causes.get(who, [])[:NAMED]))
        for who, rank, host, trace, device, late, late_ns, cost in rows
    )


def _costs(database: Any, span: int) -> tuple[Cost, ...]:
    rows = database.execute("SELECT cause, place, call, own_ns, waited_ns, gpus, most_rank FROM costs ORDER BY own_ns + waited_ns DESC, cause, place, call LIMIT 64").fetchall()
    return tuple(
        Cost(cause, place, call, int(own), int(waited), int(own + waited) / max(span, 1), gpus, most)
        for cause, place, call, own, waited, gpus, most in rows
    )


def _clocks(database: Any) -> tuple[Clock, ...]:
    """Each rank's clock, by the communicator with most collectives."""
    rows = database.execute(
        """WITH best AS (
            SELECT * FROM aligned QUALIFY row_number() OVER (PARTITION BY who ORDER BY pairs DESC, comm) = 1
        ), apart AS (
            SELECT b.who, c.seq, c.end_ns - r.end_ns AS apart_ns, c.end_ns - min(c.end_ns) OVER (PARTITION BY b.who) AS at_ns, b.jump_seq
            FROM best b JOIN collectives c ON c.who = b.who AND c.comm = b.comm
            JOIN collectives r ON r.who = b.reference AND r.comm = b.comm AND r.seq = c.seq + b.skipped
        ), numbered AS (
            SELECT *, percent_rank() OVER (PARTITION BY who ORDER BY seq) AS part FROM apart
        ), changes AS (
            SELECT who, median(apart_ns) FILTER (seq < jump_seq) AS before, median(apart_ns) FILTER (seq >= jump_seq) AS after,
                   max(at_ns) FILTER (seq = jump_seq) AS jump_at, median(apart_ns) FILTER (part <= 0.1) AS low,
                   median(apart_ns) FILTER (part >= 0.9) AS high
            FROM numbered GROUP BY who
        )
        SELECT m.rank, m.trace, coalesce(b.ahead_ns, b.shift_ns), b.within_ns, c.before, c.after, c.jump_at, c.low, c.high, b.jump_ns
        FROM best b JOIN members m USING (who) JOIN changes c USING (who) ORDER BY m.who"""
    ).fetchall()
    clocks = []
    for rank, trace, shift, within, before, after, at, low, high, jump in rows:
        jumped = int(after - before) if before is not None and after is not None and abs(jump) > TOGETHER_NS else 0
        # One kernel that ended late is no jump: the clock is the same afterwards.
        jumped = jumped if abs(jumped) > TOGETHER_NS and abs(jumped - jump) <= abs(jump) // 2 else 0
        drift = int((high or 0) - (low or 0)) - jumped
        drift = drift if abs(drift) > DRIFT_NS else 0
        clocks.append(Clock(rank, trace, int(shift), int(within), jumped, int(at) if jumped else None, drift))
    return tuple(clocks)


def _of_clocks(clocks: tuple[Clock, ...]) -> list[str]:
    remarks = []
    for clock in [clock for clock in clocks if clock.jump_ns][:NAMED]:
        assert clock.jump_at_ns is not None
        remarks.append(
            f"the clock of rank {clock.rank} jumps by {clock.jump_ns / 1e6:+.2f} ms, {clock.jump_at_ns / 1e9:.3f} s after its first collective"
        )
    drifting = [clock for clock in clocks if clock.drift_ns]
    if drifting:
        most = max(drifting, key=lambda clock: abs(clock.drift_ns))
        remarks.append(f"the clocks of {counted(len(drifting), 'rank')} drift, most that of rank {most.rank} by {most.drift_ns / 1e3:+.0f} us")
    return remarks


def _heat(database: Any) -> Heat | None:
    length, numbers = database.execute(
        "SELECT max(at_ns) - min(at_ns), (SELECT max(numbers) FROM (SELECT count(DISTINCT number) AS numbers FROM joined GROUP BY comm, reference)) FROM joined"
    ).fetchone()
    if length is None:
        return None
    columns = min(COLUMNS, numbers)
    database.execute(f"SET VARIABLE columns = {columns}")
    execute(database, "cells")
    rows = database.execute(
        "SELECT rank, trace, device, host, list(x ORDER BY x), list(late_ns ORDER BY x) FROM cells JOIN members USING (who) "
        "GROUP BY who, rank, trace, device, host ORDER BY who"
    ).fetchall()
    cells = []
    for *_, xs, values in rows:
        row = [-1] * columns
        for x, value in zip(xs, values, strict=True):
            row[x] = value
        cells.append(tuple(row))
    names = tuple(f"rank {rank}" if rank is not None else os.path.basename(trace) for rank, trace, *_ in rows)
    return Heat(names, tuple(row[3] or "" for row in rows), columns, int(length), tuple(cells))
