#!/usr/bin/env python3
"""Whether other copies of CUPTI record what the one in use does: a program that does one of each is recorded with
each, and all that is recorded but times and numbers must be the same. Needs a GPU and nvcc.

    crates/capture/tests/gpu/cupti.py LIBCUPTI…         CUPTI's libraries, of any releases

HOLDUP    the holdup to run (default: target/release/holdup)
PROGRAM   one_of_each, compiled otherwise, such as with the runtime of another release (default: by nvcc)
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[3] / "target/release/holdup"))

CALL = ["name", "api", "result", "ops", "op"]
OPERATION = ["kind", "name", "bytes", "copy", "src", "dst", "device", "registers", "static_shared", "dynamic_shared"]
OPERATION += [f"{what}_{axis}" for what in ["grid", "block"] for axis in "xyz"]


def holdup(*arguments, cupti=""):
    preloaded = os.environ | {"LD_PRELOAD": cupti} if cupti else os.environ
    return subprocess.run([HOLDUP, *map(str, arguments)], capture_output=True, text=True, env=preloaded)


def rows(trace, listing, columns):
    """How often each row is there, by what it says in some columns."""
    lines = map(json.loads, holdup(listing, trace, "--format", "json").stdout.splitlines())
    graph = lambda row: [row.get("graph_node") is not None]
    return collections.Counter(json.dumps([listing] + [row[column] for column in columns] + graph(row)) for row in lines)


def recorded(program, trace, cupti=""):
    """What a copy of CUPTI records of the program."""
    run = holdup("record", "--force", "--output", trace, "--", program, cupti=cupti)
    if run.returncode != 0:
        sys.exit(f"{cupti or 'the copy in use'}: holdup record ends with {run.returncode}: {run.stdout}{run.stderr}")
    if cupti and f"GPU records by {cupti}\n" not in run.stderr:
        sys.exit(f"{cupti}: is not what records: {run.stderr}")
    header = json.loads(holdup("explain", trace, "--format", "json").stdout)["trace"]
    found = rows(trace, "calls", CALL) + rows(trace, "ops", OPERATION)
    return found + collections.Counter({"lost": header["lost_records"] + header["unmatched_calls"]})


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ["-h", "--help"]:
        sys.exit(__doc__)
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        program = os.environ.get("PROGRAM")
        if not program:
            program = f"{folder}/one_of_each"
            subprocess.run(["nvcc", "-O2", "-o", program, HERE / "one_of_each.cu"], check=True)
        wanted = recorded(program, f"{folder}/wanted.holdup")
        print(f"the copy in use: {wanted.total()} rows, {len(wanted)} kinds, {wanted['lost']} lost")
        for cupti in sys.argv[1:]:
            cupti = os.path.realpath(cupti)
            found = recorded(program, f"{folder}/found.holdup", cupti)
            changed = [kind for kind in wanted | found if wanted[kind] != found[kind]]
            print(f"{cupti}: {'differs' if changed else 'the same'}")
            for kind in changed:
                print(f"    {wanted[kind]} -> {found[kind]}  {kind}")
            differ |= bool(changed)
    sys.exit(int(differ))


main()
