#!/usr/bin/env python3
"""Programs with one habit that costs them time (`habits.cu`), and the same without it: `explain` must name the habit in its first line,
with the place, and must not name it of the other. Needs a GPU and nvcc.

    habits.py [NAME…]           default: all
    habits.py --check FOLDER    looks at recordings that were kept before; needs no GPU

HOLDUP    the holdup to run (default: target/release/holdup)
KEEP      a folder for the recordings (NAME.holdup, NAME-mended.holdup)
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
SOURCE = HERE.with_suffix(".cu")
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))

# Each program with its cause, and what its environment has besides.
PROGRAMS = {
    "streams": ("object-churn", {}),
    "graphs": ("object-churn", {}),
    "pool": ("pool-trim", {}),
    "blocking": ("blocking-launch", {"CUDA_LAUNCH_BLOCKING": "1"}),
    "joined": ("default-stream", {}),
}


def line_of(name):
    marks = [at for at, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(f"// HERE:{name}")]
    return marks[0]


def explained(trace):
    shown = subprocess.run([HOLDUP, "explain", "--format", "json", trace], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["findings"]


def look(name, folder):
    """Whether the first finding of a recording is the program's habit, and the one without it has none; prints both verdicts."""
    cause, _ = PROGRAMS[name]
    traces = [str(folder / f"{name}.holdup"), str(folder / f"{name}-mended.holdup")]
    for trace in traces:
        screen = subprocess.run([HOLDUP, "explain", trace], capture_output=True, text=True, check=True).stdout
        print(screen.split("\n\n")[1])
    first, *_ = explained(traces[0]) or [{"cause": None, "where": []}]
    lines = [place["line"] for place in first["where"] if place["file"].endswith(SOURCE.name)]
    is_named = first["cause"] == cause and (not lines or line_of(name) in lines)
    is_gone = all(finding["cause"] != cause or finding["cost_share"] < 0.01 for finding in explained(traces[1]))
    print(f"{'right' if is_named and is_gone else 'WRONG'}  {name}: {first['cause']} at {lines} for {cause} at {line_of(name)}; "
          f"{'gone' if is_gone else 'still there'} without it\n")
    return is_named and is_gone


def measure(name, program, folder):
    _, environment = PROGRAMS[name]
    for form in ([], ["mended"]):
        trace = str(folder / "-".join([name, *form])) + ".holdup"
        variables = os.environ | ({} if form else environment)
        alone = subprocess.run([program, name, *form], capture_output=True, text=True, env=variables)
        run = [HOLDUP, "record", "--quiet", "--force", "-o", trace, "--", program, name, *form]
        recorded = subprocess.run(run, capture_output=True, text=True, env=variables)
        print(f"{' '.join([name, *form])}: {alone.stdout.strip()}; recorded: {recorded.stdout.strip()}")
        if recorded.returncode:
            print(recorded.stderr[-1000:])
            return False
    return look(name, folder)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--check"]:
        folder = pathlib.Path(arguments[1])
        results = {name: look(name, folder) for name in PROGRAMS if (folder / f"{name}.holdup").exists()}
    elif shutil.which("nvcc") is None:
        sys.exit("habits.py: no nvcc")
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(os.environ.get("KEEP", temporary))
            program = str(pathlib.Path(temporary, "habits"))
            subprocess.run(["nvcc", "-g", "-std=c++17", "-o", program, SOURCE], check=True)
            results = {name: measure(name, program, folder) for name in arguments or PROGRAMS}
    wrong = [name for name, right in results.items() if not right]
    print(f"{len(results) - len(wrong)} of {len(results)} right; wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
