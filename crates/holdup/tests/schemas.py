"""Checks that what holdup prints as JSON follows docs/schema/ and has no field that is not described there.

    python3 crates/holdup/tests/schemas.py HOLDUP        needs the Python package jsonschema

`.ci/run` runs it. In Python, because the crate jsonschema takes minutes of processor time to build.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "docs/schema"
RECORDED = "examples/recorded-d2h-stall.holdup"
KINETO = "examples/pytorch-d2h-stall.json.gz"
STEPS = "examples/recorded-norm-hidden-sync.holdup"
OWN = "examples/recorded-d2h-own-streams.holdup"
CONVOY = "examples/recorded-launch-convoy.holdup"
OVERLAP = ["lab", "run", "overlap", "--on", "sim:c2050", "--format", "json"]
PROVE = ["prove", "--metric", "v=([0-9]+)", "--format", "json"]
TABLE = "crates/summary/tests/tables/julia-norm-waits.txt"
WORKLOAD = "crates/holdup/tests/data/schema/workload.toml"


def printed(holdup: str, arguments: list[str]) -> str:
    """What a command prints; `doctor` ends with 1 where nothing can be recorded, and `diff` with an exceeded gate."""
    result = subprocess.run([holdup, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if not result.stdout:
        sys.exit(f"{' '.join(arguments)}: nothing printed, status {result.returncode}")
    return result.stdout


def strict(schema):
    """The schema with no other fields in objects than those that it names."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return closed | {name: strict(item) for name, item in schema.items()}


def check(command: list[str], value: dict) -> str:
    """Checks an object against the schema that it names, and returns that name."""
    program, name, version = value["schema"].split("/")
    assert (program, version) == ("holdup", "1"), value["schema"]
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    Draft202012Validator.check_schema(schema)
    errors = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(strict(schema)).iter_errors(value)]
    if errors:
        sys.exit("\n".join([f"holdup {' '.join(command)}: not as {name}.json:", *errors[:20]]))
    return name


def main(holdup: str) -> None:
    """Checks every command that prints JSON."""
    checked = set()
    with tempfile.TemporaryDirectory() as directory:
        earlier = pathlib.Path(directory) / "earlier.json"
        earlier.write_text(printed(holdup, OVERLAP))
        commands = [
            ["stats", RECORDED, "--format", "json"],
            ["stats", KINETO, "--per-thread", "--format", "json"],
            ["where", "cuda", KINETO, "--format", "json"],
            ["where", "cu", RECORDED, "--format", "json"],
            ["causes", "--format", "json"],
            ["doctor", "--format", "json"],
            ["devices", "--on", "sim:h200", "--format", "json"],
            ["lab", "list", "--format", "json"],
            ["lab", "list", "overlap", "--format", "json"],
            OVERLAP,
            [*OVERLAP, "--baseline", str(earlier)],
            ["lab", "run", WORKLOAD, "--on", "sim:h200", "--format", "json"],
            ["explain", KINETO, "--format", "json"],
            ["explain", KINETO, RECORDED, "--format", "json"],
            ["explain", STEPS, "--format", "json"],
            ["explain", TABLE, "--format", "json"],
            ["digest", KINETO, RECORDED, "nowhere.json", "--format", "json", "-o", f"{directory}/digests"],
            ["diff", KINETO, RECORDED, "--format", "json"],
            ["diff", STEPS, STEPS, "--before", RECORDED, "--format", "json"],
            ["diff", STEPS, STEPS, "--format", "json"],
            ["diff", STEPS, STEPS, "--gate", "--fail-over", "5%", "--format", "json"],
            ["diff", RECORDED, RECORDED, "--gate", "--format", "json"],
            ["diff", OWN, RECORDED, "--gate", "--format", "json"],
            ["prove", "--with", "A=1", "--rounds", "4", "--format", "json", "--", "true"],
            [*PROVE, "--predicted", "29%", "--against", "echo v=1", "--", "echo", "v=2"],
            [*PROVE, "--against", "echo v=1", "--", "printf", "v=2\\nx"],
            ["replay", RECORDED, "--format", "json"],
            ["replay", CONVOY, "--format", "json"],
            ["whatif", RECORDED, "--format", "json"],
        ]
        for command in commands:
            value = json.loads(printed(holdup, command))
            checked |= {check(command, one) for one in (value if isinstance(value, list) else [value])}
    for verb in ["calls", "ops"]:
        # Rows are alike.
        for line in printed(holdup, [verb, RECORDED, "--format", "json"]).splitlines()[:100]:
            checked.add(check([verb], json.loads(line)))
    # python/tests/test_fleet.py checks what `holdup fleet` prints: it needs DuckDB.
    described = {path.stem for path in SCHEMAS.glob("*.json")} - {"fleet"}
    if checked != described:
        sys.exit(f"described and printed differ: {sorted(checked ^ described)}")
    print(f"{len(described)} schemas describe what is printed")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(str(pathlib.Path(sys.argv[1]).resolve()))
