"""Runs launch programs bare and under tracers in turns: `benches/overhead.sh`.

    overhead.py HOLDUP DIR LAUNCH_PY ROUNDS SECONDS THREADS…
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Callable

# The microseconds that a launch takes, with so many threads.
Way = Callable[[str], float]


def runs(*command: str, **environment: str) -> Way:
    """A process a run; THREADS in its arguments is how many."""

    def microseconds(threads: str) -> float:
        run = [part.replace("THREADS", threads) for part in command]
        done = subprocess.run(run, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
        return float(done.stdout.split()[0])

    return microseconds


def forks(until: contextlib.ExitStack, *command: str) -> Way:
    """One process, which forks one for each run that it reads a line for, and ends with `until`."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server = until.enter_context(process)

    def microseconds(threads: str) -> float:
        print(threads, file=server.stdin, flush=True)
        return float(server.stdout.readline().split()[0])

    return microseconds


def table(title: str, ways: dict[str, Way], rounds: int, threads: list[str]) -> None:
    """One row a number of threads, one column a way; every way runs once a round."""
    print(f"{title}, µs a launch (over the first column):\n")
    print("| threads | " + " | ".join(ways) + " |")
    print("|---:" + "|---:" * len(ways) + "|")
    for count in threads:
        costs = {way: [] for way in ways}
        for turn in range(rounds):
            # Back and forth: what drifts, drifts for all alike.
            for way, microseconds in list(ways.items())[:: 1 if turn % 2 else -1]:
                costs[way].append(microseconds(count))
        medians = {way: statistics.median(cost) for way, cost in costs.items()}
        first = next(iter(medians.values()))
        cells = [f"{cost:.2f}" + (f" ({cost / first - 1:+.1%})" if way != next(iter(ways)) else "") for way, cost in medians.items()]
        print(f"| {count} | " + " | ".join(cells) + " |", flush=True)
    print(flush=True)


def main() -> None:
    holdup, directory, launch_py, rounds, seconds, *threads = sys.argv[1:]

    def recorded(level: str, name: str) -> list[str]:
        return [holdup, "record", "--quiet", "--force", "--level", level, "-o", f"{directory}/{name}.holdup", "--"]

    program = [f"{directory}/launch", "THREADS", seconds]
    ways = {
        "bare": runs(*program),
        "light": runs(*recorded("light", "light"), *program),
        "full": runs(*recorded("full", "full"), *program),
        "CUPTI only": runs(*program, CUDA_INJECTION64_PATH=f"{directory}/cupti_only.so"),
    }
    table("CUDA C++", ways, int(rounds), threads)
    wanted = os.environ.get("HOLDUP_BENCH_PYTORCH", "yes") == "yes"
    if wanted and subprocess.run(["python3", "-c", "import torch"], capture_output=True).returncode == 0:
        python = ["python3", launch_py, seconds]
        with contextlib.ExitStack() as until:
            ways = {
                "bare": forks(until, *python),
                "light": forks(until, *recorded("light", "torch-light"), *python),
                "full": forks(until, *recorded("full", "torch-full"), *python),
                "torch.profiler": forks(until, *python, "profile"),
            }
            table("PyTorch", ways, int(rounds), threads)
    for recording in pathlib.Path(directory).glob("*.holdup"):
        recording.unlink()


main()
