"""Runs launch programs bare and under tracers in turns: `benches/overhead.sh`.

    overhead.py HOLDUP DIR LAUNCH_PY ROUNDS SECONDS THREADS…
"""

import contextlib
import itertools
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
from collections.abc import Callable

# What a program prints when it has run with so many threads: the microseconds that a launch takes come first.
Way = Callable[[str], list[float]]


def runs(*command: str, **environment: str) -> Way:
    """A process a run; THREADS in its arguments is how many."""

    def run(threads: str) -> list[float]:
        words = [word.replace("THREADS", threads) for word in command]
        done = subprocess.run(words, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    return run


def forks(until: contextlib.ExitStack, *command: str) -> Way:
    """One process, which forks one for each run that it reads a line for, and ends with `until`."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server = until.enter_context(process)

    def run(threads: str) -> list[float]:
        print(threads, file=server.stdin, flush=True)
        return [float(word) for word in server.stdout.readline().split()]

    return run


def turns(ways: dict[tuple[str, str], tuple[Way, list[str], int]]) -> None:
    """One row a program, level and number of threads: without and with the recorder in one process, in an odd number of
    processes. At level full CUPTI goes on without it, too, and its records are read."""
    print("Without and with the recorder by turns in one process, µs a launch (median process, and from the least to the most):\n")
    print("| program | level | threads | without | with |")
    print("|---|---|---:|---:|---:|")
    for (program, level), (run, threads, processes) in ways.items():
        for count in threads:
            pairs = sorted((run(count)[:2] for _ in range(processes | 1)), key=lambda pair: pair[1] / pair[0])
            more = [f"{recorded / bare - 1:+.1%}" for bare, recorded in pairs]
            bare, recorded = pairs[len(pairs) // 2]
            cost = f"{recorded:.2f} ({more[len(more) // 2]}; {more[0]} to {more[-1]})"
            print(f"| {program} | {level} | {count} | {bare:.2f} | {cost} |", flush=True)
    print(flush=True)


def spread(costs: list[float]) -> float:
    """How far the mean of so many processes may be from that of many more, in parts of it: 95 of 100 times no farther."""
    return 1.96 * statistics.stdev(costs) / math.sqrt(len(costs)) / statistics.mean(costs)


def cell(costs: list[float], base: list[float] | None) -> str:
    """The mean cost, and how much that is over the other's."""
    mean = statistics.mean(costs)
    if base is None:
        return f"{mean:.2f} ± {spread(costs) * mean:.2f}"
    return f"{mean:.2f} ({mean / statistics.mean(base) - 1:+.1%} ± {math.hypot(spread(costs), spread(base)):.1%})"


def table(title: str, batches: list[int], threads: list[str], begin: Callable[[contextlib.ExitStack], dict[str, Way]]) -> None:
    """One row a number of threads, one column a way; every way runs once a round. Each batch of rounds begins anew: the runs
    of a process that forks them share the luck of where its memory lies. The first way is bare, the last another's tracer,
    which level full is compared with."""
    costs: dict[tuple[str, str], list[float]] = {}
    for rounds in batches:
        with contextlib.ExitStack() as until:
            ways = begin(until)
            for _, count in itertools.product(range(rounds), threads):
                # In any order: none comes always after the same.
                for way in random.sample(list(ways), len(ways)):
                    costs.setdefault((count, way), []).append(ways[way](count)[0])
    bare, *_, other = ways
    base = {bare: None, other: None, "light": bare, "full": other}
    print(f"{title}, µs a launch (mean of {sum(batches)}, with its 95 % interval; light over {bare}, full over {other}):\n")
    print("| threads | " + " | ".join(ways) + " |")
    print("|---:" + "|---:" * len(ways) + "|")
    for count in threads:
        cells = [cell(costs[count, way], base[way] and costs[count, base[way]]) for way in ways]
        print(f"| {count} | " + " | ".join(cells) + " |")
    print(flush=True)


def main() -> None:
    holdup, directory, launch_py, rounds, seconds, *threads = sys.argv[1:]
    rounds = max(2, int(rounds))

    def recorded(level: str, name: str) -> list[str]:
        return [holdup, "record", "--quiet", "--force", "--level", level, "-o", f"{directory}/{name}.holdup", "--"]

    launch, library = [f"{directory}/launch", "THREADS"], f"{directory}/turns.so"
    program = [*launch, seconds, "16"]
    python = ["python3", launch_py, seconds]
    wanted = os.environ.get("HOLDUP_BENCH_PYTORCH", "yes") == "yes"
    has_torch = wanted and subprocess.run(["python3", "-c", "import torch"], capture_output=True).returncode == 0
    with contextlib.ExitStack() as until:
        # CUPTI hands out a buffer after some 15,000 launches of a thread: long turns have the like of it in both.
        longer, bursts = str(float(seconds) * 10), "50"
        light = runs(*recorded("light", "turns"), *program, library)
        full = runs(*recorded("full", "turns"), *launch, longer, "1", library, bursts)
        ways = {
            ("CUDA C++", "light"): (light, threads, rounds),
            ("CUDA C++", "full"): (full, threads, rounds // 3),
        }
        if has_torch:
            ways["PyTorch", "light"] = (forks(until, *recorded("light", "torch-turns"), *python, library), ["1"], rounds)
        turns(ways)
    table("CUDA C++", [rounds], threads, lambda _: {
        "bare": runs(*program),
        "light": runs(*recorded("light", "light"), *program),
        "full": runs(*recorded("full", "full"), *program),
        "CUPTI only": runs(*program, CUDA_INJECTION64_PATH=f"{directory}/cupti_only.so"),
    })
    if has_torch:
        table("PyTorch", [max(1, rounds // 9)] * 3, threads, lambda until: {
            "bare": forks(until, *python),
            "light": forks(until, *recorded("light", "torch-light"), *python),
            "full": forks(until, *recorded("full", "torch-full"), *python),
            "torch.profiler": forks(until, *python, "profile"),
        })
    for recording in pathlib.Path(directory).glob("*.holdup"):
        recording.unlink()


main()
