#!/usr/bin/env python3
"""Two threads that use one stream at once, recorded many times, also with recording switched off and on each 4 ms: the recorder must
not change how a program ends. Needs a GPU and a C++ compiler.

    shared_stream.py [TIMES]        default: 60

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))


def main(times):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/shared_stream"
        subprocess.run(["g++", "-O1", "-g", "-rdynamic", "-o", program, str(HERE.with_suffix(".cpp")), "-ldl", "-pthread"], check=True)
        record = [HOLDUP, "record", "--quiet", "--force", "-o", f"{folder}/a.holdup", "--", program]
        ways = {
            "bare": [program],
            "full": record,
            "no samples": [*record[:2], "--sample-rate", "0", *record[2:]],
            "switched": [*record, "100"],
        }
        for way, command in ways.items():
            ends = [subprocess.run(command, capture_output=True, text=True) for _ in range(times)]
            wrong = [end for end in ends if end.returncode != 0 or end.stdout != "done\n"]
            failed += len(wrong)
            print(f"{way}: {len(wrong)} of {times} ended otherwise")
            if wrong:
                print(f"status {wrong[0].returncode}\n{wrong[0].stderr[-3000:]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
