"""Runs launch programs bare and under tracers in turns: `benches/overhead.sh`.

    overhead.py HOLDUP DIR LAUNCH_PY ROUNDS SECONDS THREADS…
"""

import os
import pathlib
import statistics
import subprocess
import sys


def microseconds(command: list[str], **environment: str) -> float:
    """What a launch takes, as the program prints it."""
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-2])


def table(title: str, ways: dict[str, tuple[list[str], dict[str, str]]], rounds: int, threads: list[str]) -> None:
    """One row a number of threads, one column a way; every way runs once a round."""
    print(f"{title}, µs a launch (over the first column):\n")
    print("| threads | " + " | ".join(ways) + " |")
    print("|---:" + "|---:" * len(ways) + "|")
    for count in threads:
        costs = {way: [] for way in ways}
        for turn in range(rounds):
            # Back and forth: what drifts, drifts for all alike.
            for way, (command, environment) in list(ways.items())[:: 1 if turn % 2 else -1]:
                run = [part.replace("THREADS", count) for part in command]
                costs[way].append(microseconds(run, **environment))
        medians = {way: statistics.median(cost) for way, cost in costs.items()}
        first = next(iter(medians.values()))
        cells = [f"{cost:.2f}" + (f" ({cost / first - 1:+.1%})" if way != next(iter(ways)) else "") for way, cost in medians.items()]
        print(f"| {count} | " + " | ".join(cells) + " |", flush=True)
    print(flush=True)


def main() -> None:
    holdup, directory, launch_py, rounds, seconds, *threads = sys.argv[1:]
    program = [f"{directory}/launch", "THREADS", seconds]

    def recorded(level: str, command: list[str]) -> list[str]:
        return [holdup, "record", "--quiet", "--force", "--level", level, "-o", f"{directory}/{level}.holdup", "--", *command]

    ways = {
        "bare": (program, {}),
        "light": (recorded("light", program), {}),
        "full": (recorded("full", program), {}),
        "CUPTI only": (program, {"CUDA_INJECTION64_PATH": f"{directory}/cupti_only.so"}),
    }
    table("CUDA C++", ways, int(rounds), threads)
    wanted = os.environ.get("HOLDUP_BENCH_PYTORCH", "yes") == "yes"
    if wanted and subprocess.run(["python3", "-c", "import torch"], capture_output=True).returncode == 0:
        python = ["python3", launch_py, "THREADS", seconds]
        ways = {
            "bare": (python, {}),
            "light": (recorded("light", python), {}),
            "full": (recorded("full", python), {}),
            "torch.profiler": ([*python, "profile"], {}),
        }
        table("PyTorch", ways, max(1, int(rounds) // 5), threads)
    for level in ("light", "full"):
        pathlib.Path(f"{directory}/{level}.holdup").unlink(missing_ok=True)


main()
