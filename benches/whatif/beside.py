"""Runs a command, and records it afterwards unless there are enough recordings. `measure.py` has `holdup prove` run the programs before
this way, so that recordings and measurements take turns: a machine's processors may be half slower for minutes.

    beside.py HOLDUP OUT NAME TIMES COMMAND…

The recordings are OUT/NAME.holdup, OUT/NAME-2.holdup and so on. The output and the status are those of the first run.
"""

import pathlib
import subprocess
import sys


def main(holdup, out, name, times, *command):
    status = subprocess.run(command).returncode
    names = [f"{name}.holdup", *(f"{name}-{number}.holdup" for number in range(2, int(times) + 1))]
    missing = [path for path in (pathlib.Path(out) / name for name in names) if not path.exists()]
    if status == 0 and missing:
        recorded = [holdup, "record", "--quiet", "-o", missing[0], "--", *command]
        status = subprocess.run(recorded, stdout=subprocess.DEVNULL).returncode
    sys.exit(status)


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
