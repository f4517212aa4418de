"""Measures what recording adds to calls of each kind. Needs a GPU and nvcc.

    costs.py HOLDUP OUT [RUNS [ROUNDS]]

Runs `overhead/costs.cu` bare and recorded at each level by turns, and prints a table in Markdown: the median time of a round of each kind
bare, and what each level adds to it in the mean, µs, with a 95 % interval over the turns. OUT gets the program and a recording at each level.
"""

import pathlib
import statistics
import subprocess
import sys

from intervals import interval

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ("light", "full")


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    holdup, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    runs, rounds = map(int, sys.argv[3:] + ["8", "2000"][len(sys.argv) - 3 :])
    out.mkdir(parents=True, exist_ok=True)
    program = out / "costs"
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", program, HERE / "overhead/costs.cu"], check=True)
    times = {}
    for turn in range(runs):
        ways = ("bare", *LEVELS)
        for way in ways[turn % 3 :] + ways[: turn % 3]:
            command = [program, str(rounds)]
            if way != "bare":
                command = [holdup, "record", "--force", "--level", way, "-o", out / f"costs-{way}.holdup", "--", *command]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            for line in done.stdout.splitlines():
                name, ns = line.split()
                times.setdefault(name, {}).setdefault(way, []).append(float(ns) / 1000)
    print("| round | bare, µs |", " | ".join(f"{level}, added" for level in LEVELS), "|")
    print("|---|---:|" + "---:|" * len(LEVELS))
    for name, ways in times.items():
        cells = [f"{statistics.median(ways['bare']):.2f}"]
        for level in LEVELS:
            added = [with_it - without for with_it, without in zip(ways[level], ways["bare"])]
            mean, reach = interval(added)
            cells.append(f"{mean:+.2f} ± {reach:.2f}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
