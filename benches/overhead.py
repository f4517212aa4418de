"""Runs launch programs bare and under tracers in turns: `benches/overhead.sh`.

    overhead.py HOLDUP DIR LAUNCH_PY ROUNDS SECONDS THREADS…
"""

import contextlib
import itertools
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable

from intervals import interval

# What a program prints when it has run with so many threads: in each line, the microseconds that a launch takes come first.
Way = Callable[[str], list[list[float]]]


def runs(*command: str, **environment: str) -> Way:
    """A process a run; THREADS in its arguments is how many."""

    def run(threads: str) -> list[list[float]]:
        words = [word.replace("THREADS", threads) for word in command]
        done = subprocess.run(words, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
        return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]

    return run


def forks(until: contextlib.ExitStack, *command: str) -> Way:
    """One process, which forks one for each run that it reads a line for, and ends with `until`."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server = until.enter_context(process)

    def run(threads: str) -> list[list[float]]:
        print(threads, file=server.stdin, flush=True)
        return [[float(word) for word in server.stdout.readline().split()]]

    return run


def added(processes: list[list[list[float]]]) -> float:
    """What the recorder adds to a launch, in parts of it: the median over turns of groups of threads."""
    return statistics.median(recorded / bare - 1 for groups in processes for bare, recorded in groups)


def turns(ways: dict[tuple[str, str], tuple[Way, list[str], int]]) -> None:
    """One row a program, level and number of threads: without and with the recorder in one process, in so many processes. At
    level full CUPTI goes on without it, too, and its records are read."""
    print("Without and with the recorder by turns in one process (median, with its 95 % interval):\n")
    print("| program | level | threads | processes | without, µs a launch | the recorder adds |")
    print("|---|---|---:|---:|---:|---:|")
    for (program, level), (run, threads, count) in ways.items():
        for number in threads:
            processes = [run(number) for _ in range(count)]
            bare = statistics.median(bare for groups in processes for bare, _ in groups)
            # What others of these processes would have given.
            others = sorted(added(random.choices(processes, k=count)) for _ in range(1000))
            adds = f"{added(processes):+.1%} ({others[25]:+.1%} to {others[-26]:+.1%})"
            print(f"| {program} | {level} | {number} | {count} | {bare:.2f} | {adds} |", flush=True)
    print(flush=True)


def spread(costs: list[float]) -> float:
    """How far the mean of so many processes may be from that of many more, in parts of it: 95 of 100 times no farther."""
    mean, reach = interval(costs)
    return reach / mean


def cell(costs: list[float], base: list[float] | None) -> str:
    """The mean cost, and how much that is over the other's."""
    mean = statistics.mean(costs)
    if base is None:
        return f"{mean:.2f} ± {spread(costs) * mean:.2f}"
    return f"{mean:.2f} ({mean / statistics.mean(base) - 1:+.1%} ± {math.hypot(spread(costs), spread(base)):.1%})"


def table(title: str, batches: list[int], threads: list[str], begin: Callable[[contextlib.ExitStack], dict[str, Way]]) -> None:
    """One row a number of threads, one column a way; every way runs once a round. Each batch of rounds begins anew: the runs
    of a process that forks them share the luck of where its memory lies. The first way is bare, and level full is compared
    with the last, another's tracer. Interrupted, it says what was measured until then."""
    costs: dict[str, dict[str, list[float]]] = {}
    try:
        for rounds in batches:
            with contextlib.ExitStack() as until:
                ways = begin(until)
                for _, count in itertools.product(range(rounds), threads):
                    row = costs.setdefault(count, {way: [] for way in ways})
                    # In any order: none comes always after the same.
                    for way in random.sample(list(ways), len(ways)):
                        row[way].append(min(line[0] for line in ways[way](count)))
    finally:
        print_table(title, {count: row for count, row in costs.items() if min(map(len, row.values())) > 1})


def print_table(title: str, costs: dict[str, dict[str, list[float]]]) -> None:
    """What each way cost, by the number of threads."""
    if not costs:
        return
    rounds = min(len(costs_of) for row in costs.values() for costs_of in row.values())
    ways = list(next(iter(costs.values())))
    bare, *_, last = ways
    bases = {"light": bare, "full": last}
    over = ", ".join(f"{level} over {base}" for level, base in bases.items() if level in ways)
    print(f"{title}, µs a launch (mean of {rounds}, with its 95 % interval; {over}):\n")
    print("| threads | " + " | ".join(ways) + " |")
    print("|---:" + "|---:" * len(ways) + "|")
    for count, row in costs.items():
        cells = [cell(row[way], row.get(bases.get(way, ""))) for way in ways]
        print(f"| {count} | " + " | ".join(cells) + " |")
    print(flush=True)


class Bench:
    """What is run, and how; see `overhead.sh` for the environment."""

    def __init__(self, holdup: str, directory: str, launch_py: str, rounds: str, seconds: str, *threads: str) -> None:
        self.holdup, self.directory, self.rounds, self.seconds = holdup, directory, max(2, int(rounds)), seconds
        self.threads = list(threads)
        self.parts, self.levels = (os.environ[f"HOLDUP_BENCH_{name}"].split() for name in ["PARTS", "LEVELS"])
        self.launch, self.library = [f"{directory}/launch", "THREADS"], f"{directory}/turns.so"
        self.program = [*self.launch, seconds, "16"]
        self.python = ["python3", launch_py, seconds]

    def recorded(self, level: str, name: str) -> list[str]:
        output = f"{self.directory}/{name}.holdup"
        return [self.holdup, "record", "--quiet", "--force", "--level", level, "-o", output, "--"]

    def has_torch(self) -> bool:
        has_it = ["python3", "-c", "import torch"]
        return "pytorch" in self.parts and subprocess.run(has_it, capture_output=True).returncode == 0

    def turns(self) -> None:
        ways = {}
        with contextlib.ExitStack() as until:
            if "light" in self.levels:
                light = runs(*self.recorded("light", "turns"), *self.program, self.library)
                ways["CUDA C++", "light"] = (light, self.threads, self.rounds)
            if "full" in self.levels:
                # CUPTI hands out a buffer after some 15,000 launches of a thread: long turns have the like of it in both.
                long = [str(float(self.seconds) * 10), "1", self.library, "50"]
                full = runs(*self.recorded("full", "turns"), *self.launch, *long)
                ways["CUDA C++", "full"] = (full, self.threads, max(1, self.rounds // 3))
            if "light" in self.levels and self.has_torch():
                python = forks(until, *self.recorded("light", "torch-turns"), *self.python, self.library)
                ways["PyTorch", "light"] = (python, ["1"], self.rounds)
            turns(ways)

    def processes(self, _until: contextlib.ExitStack) -> dict[str, Way]:
        ways = {"bare": runs(*self.program)}
        ways |= {level: runs(*self.recorded(level, level), *self.program) for level in self.levels}
        if "full" in self.levels:
            ways["CUPTI only"] = runs(*self.program, CUDA_INJECTION64_PATH=f"{self.directory}/cupti_only.so")
        return ways

    def pytorch(self, until: contextlib.ExitStack) -> dict[str, Way]:
        ways = {"bare": forks(until, *self.python)}
        ways |= {level: forks(until, *self.recorded(level, f"torch-{level}"), *self.python) for level in self.levels}
        if "full" in self.levels:
            ways["torch.profiler"] = forks(until, *self.python, "profile")
        return ways


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    bench = Bench(*sys.argv[1:])
    try:
        if "turns" in bench.parts:
            bench.turns()
        if "processes" in bench.parts:
            table("CUDA C++", [bench.rounds], bench.threads, bench.processes)
        if bench.has_torch():
            table("PyTorch", [max(1, bench.rounds // 9)] * 3, bench.threads, bench.pytorch)
    finally:
        for recording in pathlib.Path(bench.directory).glob("*.holdup"):
            recording.unlink()


main()
