"""Runs launch programs bare and under tracers in turns: `benches/overhead.sh`.

    overhead.py HOLDUP DIR LAUNCH_PY ROUNDS SECONDS THREADS…
"""

import contextlib
import itertools
import os
import pathlib
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


def cell(costs: list[float], bare: list[float]) -> str:
    """The median cost and how much that is over the other's; and the spread, for processes of one kind may have two speeds."""
    cost, spread = statistics.median(costs), f"{min(costs):.2f} to {max(costs):.2f}"
    if costs is bare:
        return f"{cost:.2f} ({spread})"
    return f"{cost:.2f} ({cost / statistics.median(bare) - 1:+.1%}; {spread})"


def table(title: str, batches: list[int], threads: list[str], begin: Callable[[contextlib.ExitStack], dict[str, Way]]) -> None:
    """One row a number of threads, one column a way; every way runs once a round. Each batch of rounds begins anew: the runs
    of a process that forks them share the luck of where its memory lies."""
    costs: dict[tuple[str, str], list[float]] = {}
    for rounds in batches:
        with contextlib.ExitStack() as until:
            ways = begin(until)
            for turn, count in itertools.product(range(rounds), threads):
                # Back and forth: what drifts, drifts for all alike.
                for way, run in list(ways.items())[:: 1 if turn % 2 else -1]:
                    costs.setdefault((count, way), []).append(run(count)[0])
    bare = next(iter(ways))
    print(f"{title}, µs a launch (over the first column; the least and the most of all rounds):\n")
    print("| threads | " + " | ".join(ways) + " |")
    print("|---:" + "|---:" * len(ways) + "|")
    for count in threads:
        print(f"| {count} | " + " | ".join(cell(costs[count, way], costs[count, bare]) for way in ways) + " |")
    print(flush=True)


def main() -> None:
    holdup, directory, launch_py, rounds, seconds, *threads = sys.argv[1:]
    rounds = int(rounds)

    def recorded(level: str, name: str) -> list[str]:
        return [holdup, "record", "--quiet", "--force", "--level", level, "-o", f"{directory}/{name}.holdup", "--"]

    program, library = [f"{directory}/launch", "THREADS", seconds], f"{directory}/turns.so"
    python = ["python3", launch_py, seconds]
    wanted = os.environ.get("HOLDUP_BENCH_PYTORCH", "yes") == "yes"
    has_torch = wanted and subprocess.run(["python3", "-c", "import torch"], capture_output=True).returncode == 0
    with contextlib.ExitStack() as until:
        # CUPTI hands out a buffer after some 15,000 launches of a thread: long turns have the like of it in both.
        longer, bursts = str(float(seconds) * 10), "50"
        light = runs(*recorded("light", "turns"), *program, library)
        full = runs(*recorded("full", "turns"), program[0], "THREADS", longer, library, bursts)
        ways = {
            ("CUDA C++", "light"): (light, threads, rounds * 2),
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
        table("PyTorch", [rounds // 3 + (rounds % 3 > batch) for batch in range(min(3, rounds))], threads, lambda until: {
            "bare": forks(until, *python),
            "light": forks(until, *recorded("light", "torch-light"), *python),
            "full": forks(until, *recorded("full", "torch-full"), *python),
            "torch.profiler": forks(until, *python, "profile"),
        })
    for recording in pathlib.Path(directory).glob("*.holdup"):
        recording.unlink()


main()
