"""Measures holdup and prints Markdown tables; run by kineto.sh and hta.sh.

    tables.py sizes HOLDUP RUNS TRACE…             traces made by `cargo xtask generate kineto`
    tables.py compare HOLDUP PYTHON RUNS TRACE…    beside HolisticTraceAnalysis under PYTHON

Every time is the median of RUNS runs with the file in the page cache.
"""

import json
import pathlib
import statistics
import subprocess
import sys

from measure import Measurement, measure, seconds

HTA = str(pathlib.Path(__file__).with_name("hta_analysis.py"))


def explain(holdup: str, trace: str) -> list[str]:
    """The command that explains a trace."""
    return [holdup, "explain", "--format", "json", trace]


def checked(command: list[str]) -> Measurement:
    """Measures a command that must succeed."""
    result = measure(command)
    if result.status != 0:
        sys.exit(f"exit status {result.status}: {' '.join(command)}")
    return result


def fails(command: list[str]) -> str | None:
    """The last line that a command printed on standard error before it failed; none if it did not fail."""
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    lines = result.stderr.strip().splitlines()
    return None if result.returncode == 0 else (lines or [f"exit status {result.returncode}"])[-1]


def median(runs: list[Measurement]) -> Measurement:
    """The median of each figure."""
    pick = lambda field: statistics.median(getattr(run, field) for run in runs)
    return Measurement(pick("wall"), int(pick("peak_rss")), int(pick("peak_anon")), 0)


def warm(trace: str) -> int:
    """Reads the file once, so that no run pays for the disk; returns its size."""
    size = 0
    with open(trace, "rb") as file:
        while piece := file.read(1 << 20):
            size += len(piece)
    return size


def stalls(holdup: str, trace: str) -> str:
    """How many of the planted stalls `holdup explain` names, as `found/planted`."""
    planted = json.loads(pathlib.Path(trace).with_suffix(".planted").read_text())["planted"]
    findings = json.loads(subprocess.run(explain(holdup, trace), stdout=subprocess.PIPE, check=True).stdout)["findings"]

    def named(finding: dict) -> bool:
        waiter, holder = finding["waiter"], finding["holder"] or {}
        return (waiter["tid"], waiter["call"]) == (planted["waiter_tid"], "cudaLaunchKernel") and (
            holder.get("tid"),
            holder.get("call"),
        ) == (planted["holder_tid"], "cudaMemcpyAsync")

    found = sum(finding["count"] for finding in findings if named(finding))
    return f"{found}/{planted['stalls']}"


def sizes(holdup: str, runs: int, traces: list[str]) -> None:
    """Speed and memory over the size of the trace."""
    print("| trace | MB | wall, s | MB/s | peak RSS, MB | anonymous, MB | planted stalls named |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for trace in traces:
        megabytes = warm(trace) / 1e6
        took = median([checked(explain(holdup, trace)) for _ in range(runs)])
        print(
            f"| {pathlib.Path(trace).name} | {megabytes:,.0f} | {took.wall:.3f} | {megabytes / took.wall:,.0f} "
            f"| {took.peak_rss / 1e6:,.1f} | {took.peak_anon / 1e6:,.1f} | {stalls(holdup, trace)} |",
            flush=True,
        )


def compare(holdup: str, python: str, runs: int, traces: list[str]) -> None:
    """holdup and HolisticTraceAnalysis, run in turns."""
    start = median([checked([python, HTA, "--import"]) for _ in range(runs)])
    print(f"Python's start and imports alone: {start.wall:.2f} s, {start.peak_rss / 1e6:.0f} MB.\n")
    print("| trace | holdup, s | HTA, s | ratio | holdup, MB | HTA, MB | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for trace in traces:
        warm(trace)
        commands = explain(holdup, trace), [python, HTA, trace]
        if problem := fails(commands[1]):
            ours = median([checked(commands[0]) for _ in range(runs)])
            print(f"| {pathlib.Path(trace).name} | {ours.wall:.3f} | fails | | {ours.peak_rss / 1e6:.1f} | | |", flush=True)
            print(f"{trace}: HTA fails: {problem}", file=sys.stderr)
            continue
        pairs = [tuple(seconds(command) for command in commands) for _ in range(runs)]
        our_wall, their_wall = (statistics.median(walls) for walls in zip(*pairs))
        ours, theirs = (checked(command) for command in commands)
        print(
            f"| {pathlib.Path(trace).name} | {our_wall:.3f} | {their_wall:.3f} | {their_wall / our_wall:.1f} "
            f"| {ours.peak_rss / 1e6:.1f} | {theirs.peak_rss / 1e6:.1f} | {theirs.peak_rss / ours.peak_rss:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sizes", holdup, runs, *traces] if traces:
            sizes(holdup, int(runs), traces)
        case ["compare", holdup, python, runs, *traces] if traces:
            compare(holdup, python, int(runs), traces)
        case _:
            sys.exit(__doc__)
