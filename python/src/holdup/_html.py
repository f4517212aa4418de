"""The first screen of a report, for a notebook: HTML without scripts, in the colors of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from holdup import results

if TYPE_CHECKING:
    from holdup._explain import Explanation

FINDINGS = 5
"""Findings on the first screen, at most."""
LEAST_SHARE = 0.01
"""The cost of one, as a share of the GPUs' time."""
THREADS = 4
"""Threads on the first screen: those with the longest spans."""
NAMED = 3
"""Parts that are named beside a bar."""

FAMILIES = {
    "lock": ("application-lock", "driver-lock", "gil", "lock"),
    "memory": ("copy-engine-busy", "feeding", "page-faults", "page-migration", "pageable-order", "pageable-staging"),
    "sync": (
        "blocking-launch", "collective-wait", "connection-aliasing", "default-stream", "dependency",
        "explicit-sync", "gpu-full", "hidden-sync", "implicit-device-sync", "issue-order", "queue-full", "time-slicing",
    ),
    "setup": ("allocation", "first-use", "kernel-build", "object-churn", "pool-trim", "profiler-overhead", "start-up"),
    "host": ("data-loading", "file-writing", "file-reading", "garbage-collection", "host-code"),
    "calls": ("launch-latency", "own-work"),
    "asleep": ("blocked", "no-cpu", "no-demand"),
    "unknown": ("not-recorded", "unexplained"),
}  # fmt: skip
"""The causes by what they have in common: each family has one color, as in the report."""

FAMILY = {cause: family for family, causes in FAMILIES.items() for cause in causes}

STYLE = """
.holdup { color-scheme: light dark; --ink: light-dark(#1b1d21, #e9eaec); --muted: light-dark(#5b616c, #a0a7b3);
  --surface: light-dark(#ffffff, #1a1c20); --line: light-dark(#dcdee2, #34383f); --lost: light-dark(#c23b12, #ff8a5c);
  --accent: light-dark(#0b57a4, #86bdff); color: var(--ink); background: var(--surface);
  border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px; max-width: 960px;
  font: 14px/1.45 system-ui, sans-serif; }
[data-jp-theme-light="true"] .holdup, .vscode-light .holdup, html[theme="light"] .holdup { color-scheme: light; }
[data-jp-theme-light="false"] .holdup, .vscode-dark .holdup, html[theme="dark"] .holdup { color-scheme: dark; }
.holdup p, .holdup ul { margin: 0 0 8px !important; padding: 0 !important; color: inherit; }
.holdup ul { list-style: none !important; }
.holdup .muted { color: var(--muted); font-size: 12px; }
.holdup .verdict { font-size: 15px; font-weight: 600; }
.holdup .bars { display: grid; grid-template-columns: max-content minmax(120px, 1fr) minmax(0, 1.2fr); gap: 4px 10px;
  align-items: center; margin: 0 0 10px; font-size: 12px; }
.holdup .bars > * { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.holdup .bar { display: flex; height: 14px; border: 1px solid var(--line); border-radius: 2px; }
.holdup .bar i { display: block; height: 100%; }
.holdup .busy { background: light-dark(#9fdcc5, #1c6a52); } .holdup .lock { background: light-dark(#f6bba6, #7d3a26); }
.holdup .memory { background: light-dark(#f6d488, #6f5010); } .holdup .sync { background: light-dark(#cdd3db, #4b525d); }
.holdup .setup { background: light-dark(#d3cbee, #4c4279); } .holdup .host { background: light-dark(#a8cdf2, #24527e); }
.holdup .calls { background: light-dark(#dcebf8, #1e3c59); }
.holdup .asleep { background: light-dark(#e9ebee, #2f343c); }
.holdup .unknown { background: light-dark(#f1f1ee, #24272d); }
.holdup .findings { border-top: 1px solid var(--line); padding-top: 8px !important; }
.holdup .findings li { margin: 0 0 8px; overflow-wrap: anywhere; }
.holdup .share { color: var(--lost); font-weight: 600; }
.holdup .cause { float: right; }
.holdup .why { display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden; }
.holdup .fix { color: var(--accent); }
"""


class Part(NamedTuple):
    """A part of a bar."""

    name: str
    family: str
    ns: int


def first_screen(explanation: Explanation) -> str:
    """The trace, its verdict, bars of GPUs and threads, and the most expensive findings."""
    head, *rest = re.split(r"(?<=\.) (?=<?\d+(?:\.\d+)? %: )", explanation.verdict.text)
    lines = "".join(f"<li>{escape(line)}</li>" for line in rest)
    return (
        f"<style>{STYLE}</style><div class='holdup'>"
        f"<p class='muted'>{escape(headline(explanation))}</p>"
        f"<p class='verdict'>{escape(head)}</p><ul>{lines}</ul>"
        f"{_bars(explanation.accounts)}{_findings(first(explanation))}{_rest(explanation)}</div>"
    )


def headline(explanation: results.Result) -> str:
    """The trace in one line."""
    trace = explanation.trace
    words = [
        PurePath(trace.path).name,
        duration(trace.duration_ns),
        counted(trace.processes, "process", "processes"),
        counted(trace.threads, "thread"),
        counted(trace.calls, "call"),
        counted(trace.ops, "GPU op"),
        f"{trace.lost_records:,} records lost" if trace.lost_records else "nothing lost",
    ]
    return " · ".join(words)


def _bars(accounts: results.Accounts) -> str:
    rows = []
    for gpu in accounts.gpus:
        parts = [Part("busy", "busy", gpu.busy_ns), *_parts(gpu.idle)]
        rows.append(_bar(f"GPU {gpu.device}", gpu.span_ns, parts))
    threads = sorted(accounts.threads, key=lambda thread: -thread.span_ns)
    for thread in threads[:THREADS]:
        rows.append(_bar(f"thread {thread.name or thread.tid}", thread.span_ns, _parts(thread.parts)))
    if len(threads) > THREADS:
        rows.append(f"<span></span><span></span><span class='muted'>{len(threads) - THREADS} more threads</span>")
    return f"<div class='bars'>{''.join(rows)}</div>" if rows else ""


def _parts(parts: Iterable[results.AccountPart]) -> list[Part]:
    return [Part(part.cause, FAMILY.get(part.cause, "unknown"), part.ns) for part in parts]


def _bar(name: str, span_ns: int, parts: Sequence[Part]) -> str:
    def share(part: Part) -> float:
        return part.ns / span_ns if span_ns else 0.0

    boxes = "".join(
        f"<i class='{part.family}' style='width:{share(part) * 100:.2f}%' "
        f"title='{escape(part.name)}: {duration(part.ns)}'></i>"
        for part in parts
    )
    named = ", ".join(f"{escape(part.name)} {percent(share(part))}" for part in parts[:NAMED] if part.ns)
    return f"<span>{escape(name)}</span><span class='bar'>{boxes}</span><span>{duration(span_ns)}: {named}</span>"


def _findings(findings: Sequence[results.Finding]) -> str:
    items = []
    for finding in findings:
        fixes = "".join(
            f"<span class='fix'>{escape(fix.id)}: {escape(fix.text)}</span>" for fix in finding.fixes[:1]
        )
        items.append(
            f"<li><span class='cause muted'>{escape(finding.cause)} · {finding.confidence}</span>"
            f"{finding.id} <span class='share'>{percent(finding.cost_share)}</span> {escape(summary(finding))}"
            f"<span class='muted why' title='{escape(finding.because)}'>{escape(finding.because)}</span>{fixes}</li>"
        )
    return f"<ul class='findings'>{''.join(items)}</ul>" if items else ""


def first(explanation: results.Result) -> list[results.Finding]:
    """The findings on the first screen."""
    return [finding for finding in explanation.findings if finding.cost_share >= LEAST_SHARE][:FINDINGS]


def _rest(explanation: Explanation) -> str:
    more = len(explanation.findings) - len(first(explanation))
    if more > 0:
        return f"<p class='muted'>{counted(more, 'more finding')} in <code>findings</code></p>"
    if not explanation.findings:
        return "<p class='muted'>no finding costs 1 % of the GPUs' time</p>"
    return ""


def summary(finding: results.Finding) -> str:
    """Who waited, where, and for what."""
    waiter, holder = finding.waiter, finding.holder
    times = f"{finding.count:,} × " if finding.count > 1 else ""
    call = f" in {times}{waiter.call}" if waiter.call else ""
    where = f" ({place(finding.where)})" if finding.where else ""
    who = counted(waiter.threads, "thread") if waiter.threads > 1 else f"thread {waiter.thread}"
    behind = ""
    if holder is not None:
        behind = f", behind thread {holder.thread}" + (f" in {holder.call}" if holder.call else "")
        behind += f" ({place(holder.where)})" if holder.where else ""
    return f"{who} lost {duration(finding.lost_ns)}{call}{where}{behind}"


def place(places: Sequence[results.Place]) -> str:
    """The first of some places: `train.py:34 step`."""
    if not places:
        return ""
    first = places[0]
    at = f"{PurePath(first.file).name}:{first.line}" if first.line else PurePath(first.file).name
    return f"{at} {first.function}".strip()


def duration(ns: int) -> str:
    """A duration with three digits.

    >>> duration(950), duration(1_016_915_337), duration(27_786_050), duration(0)
    ('950 ns', '1.02 s', '27.8 ms', '0 ns')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        value = ns / size
        if value >= 0.9995:
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:,.{digits}f} {unit}"
    return f"{ns} ns"


def percent(share: float) -> str:
    """A share.

    >>> percent(0.5836), percent(0.0031), percent(0.0)
    ('58 %', '0.3 %', '0 %')
    """
    value = share * 100
    return f"{value:.0f} %" if value >= 0.95 or value == 0 else f"{value:.1f} %" if value >= 0.05 else "<0.1 %"


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "call"), counted(4505, "call")
    ('1 call', '4,505 calls')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
