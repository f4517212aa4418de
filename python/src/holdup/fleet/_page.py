"""A run as one HTML page that opens offline: tables, and a heat map of ranks and time. It loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable
from html import escape
from pathlib import Path

from holdup.fleet import _text
from holdup.fleet._against import Changes
from holdup.fleet._query import Heat, LateRank, Summary, counted
from holdup.fleet._text import duration, gpu_time, percent, visible, where

FOLDER = Path(__file__).resolve().parent
LATE = 50
"""Late ranks of the page."""
COSTS = 50
"""Causes of the page."""
LEAST_NS = 50_000
"""A rank that is less late is not late in the picture, ns; as in the tables."""
DARKEST = 255
"""Level of the latest cell; 0 is a cell without collectives, 1 one in which the rank was not late."""


def page(summary: Summary, changes: Changes | None = None) -> str:
    """The page. Names of traces enter it only escaped, or as data of the script, which puts them into text alone."""
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    sections = [_map(summary.heat), _late(summary), _costs(summary), _nodes(summary), _clocks(summary)]
    if changes is not None:
        lines = "".join(f"<li>{escape(line.strip())}</li>" for line in _text.changes_text(changes, COSTS)[1:])
        sections.insert(0, _section("against", f"Against run {visible(changes.run)}", f"<ul>{lines}</ul>"))
    notes = "".join(f"<li>{escape(visible(remark))}</li>" for remark in summary.remarks)
    head = _text.text(summary).split("\n", 1)[0]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(visible(summary.run))}: ranks</title><style>{style}</style></head><body><main>"
        f"<h1>Run {escape(visible(summary.run))}</h1><p class='muted'>{escape(head)}</p>"
        f"<p class='verdict'>{escape(verdict(summary))}</p>"
        + (f"<ul class='notes' aria-label='Remarks'>{notes}</ul>" if notes else "")
        + "".join(sections)
        + f"</main><script>{script}</script></body></html>\n"
    )


def verdict(summary: Summary) -> str:
    """The run in one sentence."""
    if not summary.collectives:
        return "No collectives of several ranks: which rank is late is unknown."
    if not summary.late_ranks:
        return f"No rank was late at {counted(summary.collectives, 'collective')}."
    late = summary.late_ranks[0]
    name = f"rank {late.rank}" if late.rank is not None else visible(late.trace)
    cause = f", by {late.causes[0].cause} {where(late.causes[0])}".rstrip() if late.causes else ""
    return f"GPUs waited {percent(summary.wait_ns / max(summary.span_ns, 1))} of their time for late ranks, most for {name}{cause}."


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _section(name: str, title: str, body: str) -> str:
    return f"<section aria-labelledby='{name}-title'><h2 id='{name}-title'>{escape(title)}</h2>{body}</section>"


def _table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[str]], numbers: frozenset[int] = frozenset()) -> str:
    """A table; cells are HTML."""

    def kind(at: int) -> str:
        return " class='number'" if at in numbers else ""

    head = "".join(f"<th scope='col'{kind(at)}>{escape(column)}</th>" for at, column in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(at)}>{cell}</td>" for at, cell in enumerate(row)) + "</tr>" for row in rows
    )
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(caption)}'><table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _map(heat: Heat | None) -> str:
    if heat is None:
        return ""
    size = f"{counted(len(heat.ranks), 'rank')}, {duration(heat.duration_ns)}"
    return _section(
        "map",
        "How late each rank began its collectives",
        f"<p class='muted'>Rows are ranks, columns are time ({size}). A dark cell: the rank began a collective late, and the others "
        "waited for it. The tables below say the same without a picture.</p>"
        "<div class='legend'><span>not late</span><i></i><span>"
        f"{escape(duration(_latest(heat)))} late, by orders of magnitude</span></div>"
        "<div class='controls'><button class='key' id='next'>Next late cell</button>"
        "<button class='key' id='closer'>Fewer ranks</button><button class='key' id='wider'>More ranks</button>"
        "<span class='muted'><kbd>↑</kbd> <kbd>↓</kbd> ranks, <kbd>←</kbd> <kbd>→</kbd> time, <kbd>Page</kbd> 16 rows, <kbd>n</kbd> next late "
        "cell, <kbd>+</kbd> <kbd>-</kbd> fewer or more ranks</span></div>"
        f"<div id='map' role='application' tabindex='0' aria-roledescription='heat map' aria-label='Heat map: {escape(size)}. Arrow keys "
        "move between cells.' aria-describedby='said'></div><output id='said' aria-live='polite'></output>"
        "<noscript><p>The picture needs JavaScript; the tables do not.</p></noscript>"
        f"<script type='text/plain' id='cells'>{_cells(heat)}</script>",
    )


def _latest(heat: Heat) -> int:
    return max(2 * LEAST_NS, max((max(row) for row in heat.rows), default=0))


def _cells(heat: Heat) -> str:
    """The picture's data: the length of a JSON text, the text, and a level from 0 to 255 for each cell; deflated."""
    most = _latest(heat)
    scale = (DARKEST - 2) / math.log(most / LEAST_NS)

    def level(ns: int) -> int:
        return 0 if ns < 0 else 1 if ns < LEAST_NS else 2 + min(DARKEST - 2, round(scale * math.log(ns / LEAST_NS)))

    hosts = sorted(set(heat.hosts))
    numbers = {host: at for at, host in enumerate(hosts)}
    about = {
        "columns": heat.columns,
        "names": [visible(name) for name in heat.ranks],
        "hosts": [visible(host) for host in hosts],
        "host": [numbers[host] for host in heat.hosts],
        "duration": heat.duration_ns,
        "least": LEAST_NS,
        "most": most,
    }
    text = json.dumps(about, separators=(",", ":")).encode()
    levels = b"".join(bytes(map(level, row)) for row in heat.rows)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(len(text).to_bytes(4, "little") + text + levels) + packer.flush()).decode()


def _late(summary: Summary) -> str:
    if not summary.late_ranks:
        return ""
    rows_of = {name: at for at, name in enumerate(summary.heat.ranks)} if summary.heat else {}

    def row(late: LateRank) -> Iterable[str]:
        name = f"rank {late.rank}" if late.rank is not None else visible(late.trace)
        at = rows_of.get(name)
        shown = escape(name) if at is None else f"<button data-row='{at}' aria-label='{escape(name)}: show in the heat map'>{escape(name)}</button>"
        why = "<br>".join(
            escape(f"{percent(part.share)} {part.cause} {where(part)}".rstrip()) for part in late.causes[:3] if part.share >= 0.05
        )
        times = (f"{late.late:,}", duration(late.late_ns), gpu_time(late.cost_ns))
        return [shown, escape(visible(late.host or "")), *map(escape, times), why]

    caption = f"Ranks that others waited for at {counted(summary.collectives, 'collective')}"
    if len(summary.late_ranks) > LATE:
        caption += f": the first {LATE} of {len(summary.late_ranks):,}"
    columns = ("rank", "node", "times last", "late (median)", "cost", "why")
    return _section("late", "Late ranks", _table(caption, columns, map(row, summary.late_ranks[:LATE]), frozenset({2, 3, 4})))


def _costs(summary: Summary) -> str:
    shown = [cost for cost in summary.costs[:COSTS] if cost.share >= _text.LEAST]
    if not shown:
        return ""
    rows = (
        [
            escape(percent(cost.share)), escape(gpu_time(cost.own_ns)), escape(gpu_time(cost.waited_ns)), escape(cost.cause),
            escape(where(cost)), f"{cost.gpus:,}", "" if cost.most_rank is None else str(cost.most_rank),
        ]
        for cost in shown
    )  # fmt: skip
    columns = ("share", "idle", "waits of others", "cause", "place", "GPUs", "most: rank")
    caption = "GPU time by cause and place: idle, and in waits of other ranks for those that it made late"
    return _section("costs", "What cost most GPU time", _table(caption, columns, rows, frozenset({0, 1, 2, 5, 6})))


def _nodes(summary: Summary) -> str:
    if not summary.nodes:
        return ""
    rows = (
        [escape(visible(node.host)), str(node.gpus), escape(node.cause), escape(percent(node.share)), escape(percent(node.usual))]
        for node in summary.nodes
    )
    columns = ("node", "GPUs", "cause", "share", "usual")
    caption = "Parts of the GPUs' time that differ from the median of all nodes"
    return _section("nodes", "Nodes that differ", _table(caption, columns, rows, frozenset({1, 3, 4})))


def _clocks(summary: Summary) -> str:
    lines = _text.text(summary).splitlines()
    said = [line for line in lines if line.startswith("Clocks of ")]
    return _section("clocks", "Clocks", "".join(f"<p>{escape(line)}</p>" for line in said)) if said else ""
