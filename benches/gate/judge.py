#!/usr/bin/env python3
"""Compares recordings of `record.py` with `holdup diff --gate`. Needs no GPU.

    judge.py HOLDUP DIR [--several N] [--options "…"]

Each two recordings of a program without a plant must pass, in both orders. Each plant, compared with each recording of its program
without it, must be red, and a reason must name a planted line. `--several N` compares N recordings a side: those without a plant by
turns, and a plant with itself so many times as there are recordings of it. Prints tables in Markdown; ends with status 1 if a
comparison is wrong.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys


def main():
    arguments = read_arguments()
    manifest = json.loads((arguments.directory / "manifest.json").read_text())
    recordings = [each for each in manifest["recordings"] if (arguments.directory / f"{each['name']}.holdup").exists()]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        judge = Judge(arguments, pool)
        same = judge.same(recordings)
        planted = judge.planted(recordings, manifest["plants"])
    sys.exit(not (same and planted))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("holdup", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--several", type=int, default=1, help="recordings a side")
    parser.add_argument("--options", default="", help="further options of holdup diff")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="programs, separated by commas")
    return parser.parse_args()


class Judge:
    def __init__(self, arguments, pool):
        self.arguments, self.pool = arguments, pool

    def programs(self, recordings):
        names = dict.fromkeys(each["program"] for each in recordings)
        return [name for name in names if not self.arguments.only or name in self.arguments.only.split(",")]

    def groups(self, recordings, program, plant=""):
        """Recordings of one kind, in groups of as many as a side has."""
        names = [each["name"] for each in recordings if (each["program"], each["plant"]) == (program, plant)]
        size = 1 if plant else self.arguments.several
        return [names[at : at + size] for at in range(0, len(names) - size + 1, size)]

    def compare(self, pair):
        """Exit status, and the gates, of a comparison."""
        before, after = ([str(self.arguments.directory / f"{name}.holdup") for name in side] for side in pair)
        more = [word for path in before[1:] for word in ("--before", path)] + [word for path in after[1:] for word in ("--after", path)]
        command = [str(self.arguments.holdup), "diff", before[0], after[0], *more, "--gate", "--format", "json"]
        done = subprocess.run([*command, *self.arguments.options.split()], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            return done.returncode, [], done.stderr
        return done.returncode, json.loads(done.stdout)["gate"]["gates"], done.stderr

    def same(self, recordings):
        """Whether no comparison of a program with itself is red; prints how near each came to a limit."""
        print("| program | comparisons | red | inconclusive | nearest to its limit |")
        print("|---|---:|---:|---:|---|")
        counted, wrong = 0, 0
        for program in self.programs(recordings):
            pairs = list(itertools.permutations(self.groups(recordings, program), 2))
            red, doubtful, nearest = [], 0, {}
            for pair, (status, gates, said) in zip(pairs, self.pool.map(self.compare, pairs)):
                if status:
                    red.append((pair, said))
                doubtful += any(gate["state"] == "inconclusive" for gate in gates)
                for gate in gates:
                    room = gate["limit"] - gate["before"]["median"]
                    part = (gate["after"]["median"] - gate["before"]["median"]) / room
                    nearest[gate["gate"]] = max(nearest.get(gate["gate"], 0), part)
            near = sorted(nearest.items(), key=lambda item: -item[1])[:2]
            near = ", ".join(f"{name} {part:.0%}" for name, part in near)
            print(f"| {program} | {len(pairs)} | {len(red)} | {doubtful} | {near} |", flush=True)
            for (before, after), said in red[:6]:
                print(f"  red: {'+'.join(before)} → {'+'.join(after)}: {said.strip()}", file=sys.stderr)
            counted, wrong = counted + len(pairs), wrong + len(red)
        print(f"\n{counted} comparisons of a program with itself, {wrong} red\n", flush=True)
        return wrong == 0

    def planted(self, recordings, plants):
        """Whether each plant is red at its line."""
        print("| plant | red | right line | gates | reason |")
        print("|---|---:|---:|---|---|")
        counted, right = 0, 0
        for program in self.programs(recordings):
            for plant in plants[program]:
                pairs = [(base, after) for after in self.groups(recordings, program, plant) for base in self.groups(recordings, program)]
                results = list(self.pool.map(self.compare, pairs))
                if not pairs:
                    print(f"| {program} {plant} | not recorded |")
                    continue
                red = [result for result in results if result[0] == 1]
                lines = set(plants[program][plant])
                found = [reds for _, gates, _ in red if (reds := at(gates, lines))]
                gates = sorted({gate["gate"] for _, gates, _ in red for gate in gates if gate["state"] == "exceeded"})
                reason = found[0] if found else (red[0][2] if red else results[0][2]).strip().splitlines()[:1]
                print(f"| {program} {plant} | {len(red)}/{len(pairs)} | {len(found)}/{len(pairs)} | {', '.join(gates)} | {reason} |", flush=True)
                counted, right = counted + 1, right + (len(found) == len(pairs))
        print(f"\n{right} of {counted} plants are red at their line in every comparison", flush=True)
        return right == counted


def at(gates, lines):
    """The reds at some lines, as text; empty without."""
    found = []
    for gate in gates:
        for red in gate["reds"]:
            place = red["where"]
            name = f"{re.sub('.*/', '', place['file'])}:{place['line']}" if place else ""
            if name in lines:
                found.append(f"{gate['gate']}: {red['cause']} at {name}")
    return "; ".join(found)


if __name__ == "__main__":
    main()
