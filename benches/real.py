"""Runs programs bare and recorded in turns: `benches/real.sh`.

    real.py HOLDUP ROUNDS LEVELS PROGRAM…
"""

import math
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile

from intervals import interval

# `97.5 steps/s`, or `tokens/s alone 97, beside 40`: a name and a number.
NUMBER = r"\d+(?:\.\d+)?"
NUMBER_FIRST = re.compile(rf"(?:(\w+) )?({NUMBER}) (\w+/s)")
UNIT_FIRST = re.compile(rf"^(\w+/s) ((?:\w+ {NUMBER}(?:, )?)+)", re.MULTILINE)

# How fast the processor was (real/pace.py): rates are compared by it, too.
PACE = "pace, beats/s"

Rates = dict[str, float]


def rates(output: str) -> Rates:
    """The rates that a program prints, by name and unit."""
    found = {f"{name}, {unit}" if name else unit: float(value) for name, value, unit in NUMBER_FIRST.findall(output)}
    for unit, list_of in UNIT_FIRST.findall(output):
        found |= {f"{name}, {unit}": float(value) for name, value in re.findall(rf"(\w+) ({NUMBER})", list_of)}
    return found


def run(command: list[str]) -> Rates:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = rates(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"status {done.returncode}, {len(found)} rates: {' '.join(command)}\n{done.stdout[-2000:]}")
    return found


def slower(bare: list[float], recorded: list[float]) -> str:
    """How much slower the recorded runs are than the bare ones of the same round."""
    mean, reach = interval([math.log(alone / with_it) for alone, with_it in zip(bare, recorded)])
    low, middle, high = (math.expm1(value) for value in (mean - reach, mean, mean + reach))
    return f"{middle:+.1%} ({low:+.1%} to {high:+.1%})"


def measure(holdup: str, rounds: int, levels: list[str], program: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        record = [holdup, "record", "--quiet", "--force", "-o", f"{directory}/real.holdup", "--level"]
        bare = [sys.executable, str(program)]
        ways = {"bare": bare} | {level: [*record, *level.split(","), "--", *bare] for level in levels}
        found: dict[str, dict[str, list[float]]] = {}
        try:
            for at in range(rounds):
                # In any order: none comes always after the same. A round counts as a whole.
                row = {way: run(ways[way]) for way in random.sample(list(ways), len(ways))}
                figures = "; ".join(f"{way} {', '.join(f'{value:.4g}' for value in row[way].values())}" for way in ways)
                print(f"{program.name}: round {at + 1} of {rounds}: {figures}", file=sys.stderr, flush=True)
                for way, values in row.items():
                    for name, value in values.items():
                        found.setdefault(name, {}).setdefault(way, []).append(value)
        finally:
            paces = found.pop(PACE, {})
            for name, values in found.items():
                print_row(program.name, name, [values[way] for way in ways])
                if paces:
                    by_pace = [[rate / pace for rate, pace in zip(values[way], paces[way])] for way in ways]
                    print_row(program.name, f"{name}, of the processor's pace", by_pace)


def print_row(program: str, name: str, values: list[list[float]]) -> None:
    bare, *recorded = values
    cells = [f"{statistics.mean(rates):.4g}, {slower(bare, rates)}" for rates in recorded]
    if len(bare) > 1:
        print(f"| {program}: {name} | {len(bare)} | {statistics.mean(bare):.4g} | " + " | ".join(cells) + " |", flush=True)


def interrupt(*_: object) -> None:
    # `timeout` ends a group, and its leader once more, which must not interrupt the rows of the rounds so far.
    for ends in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ends, signal.SIG_IGN)
    sys.exit("interrupted")


def main() -> None:
    for ends in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ends, interrupt)
    holdup, rounds, levels, *programs = sys.argv[1:]
    print("Means, and how much slower than bare (mean over rounds, with its 95 % interval):\n")
    print("| program | rounds | bare | " + " | ".join(levels.split()) + " |")
    print("|---|---:|---:|" + "---|" * len(levels.split()))
    for program in programs:
        measure(holdup, max(2, int(rounds)), levels.split(), pathlib.Path(program))


main()
