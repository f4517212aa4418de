#!/usr/bin/env python3
"""Whether other copies of CUPTI record what the one in use does: a program that does one of each is recorded with
each, and all that is recorded but times and numbers must be the same. Needs a GPU and nvcc.

    crates/capture/tests/gpu/cupti.py LIBCUPTI…         CUPTI's libraries, of any releases
    crates/capture/tests/gpu/cupti.py --sizes LIBCUPTI… the lengths of records alone: needs neither holdup nor nvcc

HOLDUP    the holdup to run (default: target/release/holdup)
PROGRAM   one_of_each, compiled otherwise, such as with the runtime of another release (default: by nvcc)
"""

import collections
import json
import os
import pathlib
import re
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


def layouts():
    """The sizes of each kind of record, by the first version that has them."""
    source = (HERE.parents[1] / "src/cupti/layout.rs").read_text()
    kinds = {name: int(number) for name, number in re.findall(r"const (\w+): u32 = (\d+);", source)}
    rows = re.findall(r"Layout \{\s*kind: kind::(\w+),\s*needed: \d+,\s*sizes: &\[([^\]]*)\]", source)
    number = lambda text: int(text.replace("_", ""))
    pairs = {name: re.findall(r"\(([\d_]+), ([\d_]+)\)", sizes) for name, sizes in rows}
    return {kinds[name]: (name, [(number(first), number(size)) for first, size in of]) for name, of in pairs.items()}


def sizes(folder, cupti):
    """Prints how long the records of a copy of CUPTI are; whether all are as long as they must be. A copy that does not
    start on this driver is no failure."""
    program = f"{folder}/sizes"
    if not os.path.exists(program):
        subprocess.run(["cc", "-std=gnu11", "-O1", "-o", program, HERE / "sizes.c", "-ldl"], check=True)
    fits, version = True, None
    for words in [[], ["nodes"]]:
        run = subprocess.run([program, cupti, *words], capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{cupti}: no lengths: {run.stderr.strip() or f'ended with {run.returncode}'}")
            return run.returncode == 3
        lines = [[int(word) for word in line.split() if word.isdigit()] for line in run.stdout.splitlines()]
        version, rows = lines[0][0], lines[1:]
        for kind, size, count in rows:
            name, known = layouts().get(kind, (f"kind {kind}", []))
            expected = [size for first, size in known if first <= version]
            # The last record of a buffer may have room behind it.
            is_right = expected and (size == expected[-1] or size > expected[-1] and count < 10)
            fits &= bool(is_right)
            if not is_right:
                print(f"    {name}: {count} records of {size} bytes, not {expected[-1:] or 'known'}")
        found = ", ".join(f"{layouts().get(kind, (kind,))[0]} {size} ({count})" for kind, size, count in rows)
        print(f"{cupti}: version {version}{' '.join(['', *words])}: {found}")
    return fits


def main():
    arguments = sys.argv[1:]
    only_sizes = arguments[:1] == ["--sizes"]
    arguments = arguments[only_sizes:]
    if not arguments or arguments[0] in ["-h", "--help"]:
        sys.exit(__doc__)
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        for cupti in arguments:
            differ |= not sizes(folder, os.path.realpath(cupti))
        if only_sizes:
            sys.exit(int(differ))
        program = os.environ.get("PROGRAM")
        if not program:
            program = f"{folder}/one_of_each"
            subprocess.run(["nvcc", "-O2", "-o", program, HERE / "one_of_each.cu"], check=True)
        wanted = recorded(program, f"{folder}/wanted.holdup")
        print(f"the copy in use: {wanted.total()} rows, {len(wanted)} kinds, {wanted['lost']} lost")
        for cupti in arguments:
            cupti = os.path.realpath(cupti)
            found = recorded(program, f"{folder}/found.holdup", cupti)
            changed = [kind for kind in wanted | found if wanted[kind] != found[kind]]
            print(f"{cupti}: {'differs' if changed else 'the same'}")
            for kind in changed:
                print(f"    {wanted[kind]} -> {found[kind]}  {kind}")
            differ |= bool(changed)
    sys.exit(int(differ))


main()
