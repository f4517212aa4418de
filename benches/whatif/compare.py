"""Compares what `holdup whatif` predicts from recordings with what `holdup prove` measured: `pairs.toml`, `measure.py`. Needs no GPU.

    compare.py HOLDUP DIR

Prints a table in Markdown; the gain is a part of the time before. Of several recordings of a program the middle prediction counts, of an
even number the mean of the two in the middle. The last column is what is predicted from a trace of PyTorch's profiler, where there is one.
Ends with status 1 if a recording or a result is missing.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    holdup, directory = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    pairs = tomllib.loads((HERE / "pairs.toml").read_text())["pair"]
    print("| pair | change | replay differs | predicted | range | measured | off | in the range | from PyTorch's trace |")
    print("|---|---|---:|---:|---|---:|---:|---|---|")
    rows = [row for pair in pairs if (row := compare(pair, holdup, directory))]
    judge(rows)
    sys.exit(len(rows) < len(pairs))


def compare(pair, holdup, directory):
    name, change = pair["name"], options(pair["change"])
    measured = directory / f"{name}.json"
    recordings = [path for path in (directory / f"{name}.holdup", *directory.glob(f"{name}-[0-9].holdup")) if path.exists()]
    # What was interrupted is an empty file.
    if not measured.exists() or measured.stat().st_size == 0 or not recordings:
        print(f"| `{name}` | not measured |")
        return None
    runs = [predict(holdup, recording, change) for recording in recordings]
    gain = json.loads(measured.read_text())["gain"]
    interval = f"{percent(gain['share'])} ({percent(gain['low'])} … {percent(gain['high'])})"
    said = [json.loads(done.stdout) for done in runs if done.returncode == 0]
    if not said:
        print(f"| `{name}` | {runs[0].stderr.strip().splitlines()[-1]} | | | | {interval} | | | |")
        return None
    said.sort(key=lambda each: each["fixes"][0]["gain"]["share"])
    middle = said[(len(said) - 1) // 2 : len(said) // 2 + 1]
    error = max(each["replay"]["error"] for each in middle)
    gains = [each["fixes"][0]["gain"] for each in middle]
    predicted = {key: statistics.mean(each[key] for each in gains) for key in ("share", "low", "high")}
    off = predicted["share"] - gain["share"]
    inside = predicted["low"] <= gain["share"] <= predicted["high"]
    sign = predicted["share"] * gain["share"] > 0 or max(abs(predicted["share"]), abs(gain["share"])) < 0.02
    shown = f"{percent(predicted['low'])} … {percent(predicted['high'])}"
    cells = [f"`{name}`", f"`{pair['change']}`", percent(error), percent(predicted["share"]), shown, interval, f"{100 * off:+.1f}"]
    print("|", " | ".join([*cells, "yes" if inside else "no", from_kineto(holdup, directory / f"{name}.kineto.json.gz", change)]), "|", flush=True)
    return abs(off), inside, sign


def predict(holdup, trace, change):
    return subprocess.run([holdup, "whatif", trace, "--range", "section", *change, "--format", "json"], capture_output=True, text=True)


def from_kineto(holdup, trace, change):
    """What is predicted from a trace of PyTorch's profiler: without locks, and with what the profiler adds."""
    if not trace.exists():
        return ""
    done = predict(holdup, trace, change)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1].split(": ")[-1]
    gain = json.loads(done.stdout)["fixes"][0]["gain"]
    return f"{percent(gain['share'])} ({percent(gain['low'])} … {percent(gain['high'])})"


def options(change):
    """The options of a change; `prepares` stands for the number of the line that ends in it as a comment."""
    lines = (HERE / "programs.py").read_text().splitlines()
    numbers = {line.rsplit("# ")[-1]: str(at) for at, line in enumerate(lines, 1) if "# " in line}
    words = change.split()
    marks = [mark for mark in numbers if mark and f":{mark}=" in words[-1]]
    for mark in marks:
        words[-1] = words[-1].replace(f":{mark}=", f":{numbers[mark]}=")
    return words


def percent(share):
    return f"{100 * share:.1f} %"


def judge(rows):
    if not rows:
        return
    off, inside, sign = zip(*rows)
    print(f"\n{len(rows)} pairs: off by {100 * statistics.median(off):.1f} points in the median, {100 * max(off):.1f} at most;", end=" ")
    print(f"{sum(inside)} in their ranges; the sign is right in {sum(sign)}")


if __name__ == "__main__":
    main()
