"""Checks that what `holdup diff --format sarif` and `--format junit` print follows their formats.

    python3 crates/holdup/tests/gate_forms.py HOLDUP SARIF_SCHEMA      needs the Python packages jsonschema and junitparser

SARIF_SCHEMA is SARIF 2.1.0's JSON schema. `.ci/run` takes it from the npm package @microsoft/jest-sarif.
"""

import json
import pathlib
import subprocess
import sys

from jsonschema import validators
from junitparser import Failure, JUnitXml

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAIRS = [
    ("recorded-d2h-own-streams.holdup", "recorded-d2h-stall.holdup", 1),
    ("recorded-d2h-stall.holdup", "recorded-d2h-own-streams.holdup", 0),
    ("recorded-d2h-stall.holdup", "pytorch-d2h-stall.json.gz", 0),
]


def printed(holdup, form, before, after, status):
    command = [holdup, "diff", f"examples/{before}", f"examples/{after}", "--format", form]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == status, (command, done.returncode, done.stderr)
    return done.stdout


def main(holdup, schema):
    schema = json.loads(pathlib.Path(schema).read_text())
    validator = validators.validator_for(schema)(schema)
    for before, after, status in PAIRS:
        sarif = json.loads(printed(holdup, "sarif", before, after, status))
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(sarif)]
        assert not errors, errors[:10]
        results = sarif["runs"][0]["results"]
        assert bool(results) == bool(status)
        junit = JUnitXml.fromstring(printed(holdup, "junit", before, after, status).encode())
        cases = [case for suite in junit for case in suite]
        failures = [one for case in cases for one in case.result if isinstance(one, Failure)]
        assert (len(cases), len(failures)) == (junit.tests, len(results)), (len(cases), failures)
        assert [one.message for one in failures] == [result["message"]["text"] for result in results]
        print(f"{before} → {after}: {len(cases)} gates, {len(results)} results: as the schema of SARIF 2.1.0, and JUnit")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
