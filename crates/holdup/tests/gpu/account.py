#!/usr/bin/env python3
"""Programs that keep a GPU waiting for a reason, at a line and for a time that are known: recorded, the account must blame that
line for that part of the GPU's time, within 3 points, the first finding must have the reason, and `busy` programs must have no
finding. Needs a GPU, nvcc and PyTorch.

    account.py [--traces DIR] [NAME…]       records and checks; default: all
    account.py --check DIR [NAME…]          checks recordings that are in a folder; needs no GPU

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[3] / "target/release/holdup"))
POINTS = 0.03

# By program: the causes that fit, and the marks of the lines that do.
PYTHON = {
    "sleep": ({"blocked"}, {"sleeps"}),
    "computes": ({"host-code"}, {"computes"}),
    "gil": ({"gil"}, {"hogs"}),
    "famine": ({"no-cpu"}, {"launches", "waits"}),
    "loader": ({"blocked"}, {"loads"}),
    "queued": ({"host-code", "blocked"}, {"produces"}),
    "chain": ({"blocked", "gil"}, {"sleeps locked"}),
    "busy": (set(), set()),
    "overlapped": (set(), set()),
}
CUDA = {
    "mutex-computes": ({"lock"}, {"computes"}),
    "mutex-sleeps": ({"blocked"}, {"sleeps"}),
    "allocation": ({"allocation"}, {"allocates", "frees"}),
    "pageable": ({"driver-lock"}, {"copies"}),
    "connections": ({"connection-aliasing"}, {"launches"}),
}


def record(name, folder, binary):
    """Records a program; its facts lie beside the trace."""
    command = [sys.executable, str(HERE / "planted.py"), name] if name in PYTHON else [binary, name]
    environment = os.environ | ({"CUDA_DEVICE_MAX_CONNECTIONS": "1"} if name == "connections" else {})
    # Launches take microseconds: only with a low threshold the stacks say where they are.
    stacks = ["--stacks", "1us"] if name == "connections" else []
    run = [HOLDUP, "record", *stacks, "--quiet", "--force", "-o", str(folder / f"{name}.holdup"), "--", *command]
    facts = subprocess.run(run, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    if name == "connections":
        wide = os.environ | {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}
        alone = subprocess.run([binary, name], env=wide, stdout=subprocess.PIPE, text=True, check=True).stdout
        facts += json.dumps(["lost", of(facts)["wall"] - of(alone)["wall"]]) + "\n"
    (folder / f"{name}.facts").write_text(facts)


def of(facts):
    return dict(json.loads(line) for line in facts.splitlines() if line.startswith("["))


def lines(marks):
    """`planted.py:81` for each line that ends with a comment of these marks."""
    found = set()
    for source in [HERE / "planted.py", HERE / "planted.cu"]:
        for at, text in enumerate(source.read_text().splitlines(), 1):
            if any(text.endswith((f"# {mark}", f"// {mark}")) for mark in marks):
                found.add(f"{source.name}:{at}")
    return found


def places(finding):
    parties = [finding["where"], *(party["where"] for party in [finding["holder"] or {"where": []}])]
    return {f"{pathlib.Path(place['file']).name}:{place['line']}" for where in parties for place in where}


def check(name, folder):
    causes, marks = (PYTHON | CUDA)[name]
    lost = of((folder / f"{name}.facts").read_text())["lost"]
    output = subprocess.run([HOLDUP, "explain", "--format", "json", str(folder / f"{name}.holdup")], stdout=subprocess.PIPE, text=True, check=True)
    explanation = json.loads(output.stdout)
    [gpu] = explanation["accounts"]["gpus"]
    findings = [finding for finding in explanation["findings"] if finding["cost_share"] >= 0.01]
    if not causes:
        print(f"{name}: {len(findings)} findings" + "".join(f", {each['cause']} {each['cost_share']:.1%}" for each in findings))
        return not [finding for finding in findings if finding["phase"] == "recurring"]
    wanted = lines(marks)
    there = [finding for finding in findings if places(finding) & wanted]
    right = [finding for finding in there if finding["cause"] in causes]
    start_up = sum(part["ns"] for part in gpu["idle"] if part["cause"] == "start-up")
    share, planted = sum(finding["cost_share"] for finding in there), lost / (gpu["span_ns"] - start_up)
    first = bool(right) and findings[0] in right
    print(f"{name}: planted {planted:.1%}, blamed {share:.1%} at {'/'.join(sorted(wanted))}, first finding {'right' if first else 'wrong'}")
    for finding in [] if first else findings[:3]:
        print(f"    {finding['cause']} {finding['cost_share']:.1%} {sorted(places(finding))}")
    return first and abs(share - planted) <= POINTS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or [*PYTHON, *CUDA]
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.check or arguments.traces or pathlib.Path(scratch)
        if not arguments.check:
            folder.mkdir(parents=True, exist_ok=True)
            binary = f"{scratch}/planted"
            subprocess.run(["nvcc", "-O1", "-g", "-o", binary, str(HERE / "planted.cu")], check=True)
            for name in names:
                record(name, folder, binary)
        wrong = [name for name in names if not check(name, folder)]
    if wrong:
        sys.exit(f"not as planted: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
