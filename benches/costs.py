"""Measures what recording adds to calls of each kind. Needs a GPU and nvcc.

    costs.py HOLDUP OUT [RUNS]

Runs `overhead/costs.cu` bare and recorded at each level by turns, and prints a table in Markdown: the median time of a round of each kind
bare, and what each level adds to it in the mean, µs, with a 95 % interval over the turns. OUT gets the program and a recording at each level.
"""

import argparse
import pathlib
import statistics
import subprocess

from intervals import interval

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ("light", "full")
ROUNDS = "2000"


def main():
    arguments = read_arguments()
    holdup, out = arguments.holdup, arguments.out
    out.mkdir(parents=True, exist_ok=True)
    program = out / "costs"
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", program, HERE / "overhead/costs.cu"], check=True)
    times = {}
    for turn in range(arguments.runs):
        ways = ("bare", *LEVELS)
        for way in ways[turn % 3 :] + ways[: turn % 3]:
            command = [program, ROUNDS]
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


def read_arguments():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("holdup", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("runs", type=int, nargs="?", default=8)
    return parser.parse_args()


if __name__ == "__main__":
    main()
