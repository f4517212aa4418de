#!/usr/bin/env python3
"""Writes src/holdup/results.py: the types of `holdup explain --format json`, of its schema.

    python python/make_results.py [--check]
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parent / "docs/schema/explain.json"
OUTPUT = HERE / "src/holdup/results.py"

# Objects whose name in the schema, or lack of one, does not say what they are.
NAMES = {
    "trace": "TraceSummary",
    "verdict": "Verdict",
    "failed_calls": "FailedCall",
    "settings": "Setting",
    "gpus": "GpuAccount",
    "busy": "BusyTime",
    "held_back": "HeldBack",
    "held_back.streams": "HeldBackStream",
    "accounts.threads": "ThreadAccount",
    "accounts.streams": "StreamAccount",
    "accounts.ranks": "Ranks",
    "ranks.ranks": "Rank",
    "finding.threads": "FindingThread",
    "chain": "ChainLink",
    "fixes": "Fix",
    "gain.thread": "ThreadGain",
    "slow_step": "SlowStep",
}
# What an object is that the schema describes by its place alone.
ABOUT = {
    "Verdict": "Where most of the GPUs' time goes, in a sentence",
    "Place": "A place in the program's source",
    "FailedCall": "Calls of one function that failed with one error",
    "Setting": "A value of a variable of the environment, and the processes that have it",
    "Late": "Operations that came late",
    "Example": "A stretch of the trace's time",
    "LostOverlap": "Overlap that was lost to one cause",
    "Overlap": "What the copies and kernels of a GPU overlapped",
    "AccountPart": "A part of the time of a GPU or a thread",
    "HeldBackStream": "What an operation that was held back waited for",
    "HeldBack": "A part of a GPU's busy time in which it had room and an operation waited",
    "GpuAccount": "Where a GPU's time went",
    "ThreadAccount": "Where a thread's time went",
    "Steady": "What the accounts are of: what a program repeats",
    "StartUp": "What a program does before it repeats anything",
    "Ending": "What a program does after the GPUs' last work",
    "Tree": "A function in a tree of calls",
    "WaitPart": "A part of the time in which operations waited",
    "StreamAccount": "What the operations of a stream waited for",
    "Rank": "One rank of a distributed program",
    "SlowStep": "A step that took longer than most",
    "Steps": "What a program repeats, as a training loop does",
    "Pauses": "Pauses of a thread between two calls",
    "FindingThread": "A thread that lost time",
    "ChainLink": "A thread in a chain of waits",
    "ThreadGain": "What a fix would gain for the thread that gains most",
    "Gain": "What a fix would gain",
    "Applied": "Lines of code that apply a fix",
    "Fix": "A change to the program that helps",
    "Finding": "One cause with its threads, times, evidence and fixes",
}
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
WIDTH = 118

HEAD = '''"""The types of an explanation, as `holdup explain --format json` prints it.

Made of docs/schema/explain.json by make_results.py: do not edit. Times are integers in nanoseconds, shares numbers
from 0 to 1. A field whose name is one of Python's words ends in an underscore (`or_`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

'''


class Types:
    """The classes that a schema needs, in an order in which each uses only those before it."""

    def __init__(self, schema: dict) -> None:
        self.definitions = schema["$defs"]
        self.classes: dict[str, str] = {}
        self.properties: dict[str, dict] = {}

    def of(self, schema: dict, owner: str, key: str) -> str:
        """The type of a value that a schema describes, as Python writes it."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.of({"description": schema.get("description"), **self.definitions[name]}, name, name)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return " | ".join(sorted({self.of(each, owner, key) for each in schema[choice]}, key=is_none))
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(sorted((self.of_kind(kind, schema, owner, key) for kind in kinds), key=is_none)) or "Any"

    def of_kind(self, kind: str, schema: dict, owner: str, key: str) -> str:
        """The type of a value of one of JSON's kinds."""
        if kind == "array":
            return f"tuple[{self.of(schema['items'], owner, key)}, ...]"
        if kind == "object" and "properties" in schema:
            name = NAMES.get(f"{owner}.{key}") or NAMES.get(key) or "".join(map(str.capitalize, key.split("_")))
            self.add(name, schema, key)
            return name
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.of(values, owner, key) if isinstance(values, dict) else 'Any'}]"
        return PLAIN[kind]

    def add(self, name: str, schema: dict, key: str) -> None:
        """Adds a class for an object; one that several refer to once."""
        known = self.properties.setdefault(name, schema["properties"])
        if known != schema["properties"]:
            sys.exit(f"make_results.py: two objects would be {name}: add a name for one to NAMES")
        if name in self.classes:
            return
        required = schema.get("required", [])
        lines = []
        # A field with a default value comes behind those without.
        for field, value in sorted(schema["properties"].items(), key=lambda item: item[0] not in required):
            kind = self.of(value, key, field)
            if field not in required:
                kind = kind if kind.endswith("None") else f"{kind} | None"
                kind += " = None"
            lines.append(f"    {named(field)}: {kind}")
            about = value.get("description") or self.about(value)
            if about:
                lines.append(documented(about))
        about = ABOUT.get(name) or schema.get("description") or sys.exit(f"make_results.py: add {name} to ABOUT")
        text = "\n".join(["@dataclass(frozen=True)", f"class {name}:", documented(about), "", *lines]) + "\n"
        self.classes[name] = text

    def about(self, value: dict) -> str:
        """What a reference's target says of itself."""
        return self.definitions[value["$ref"].rsplit("/", 1)[1]].get("description", "") if "$ref" in value else ""


def is_none(kind: str) -> bool:
    """For sorting: `None` comes last."""
    return kind == "None"


def named(field: str) -> str:
    """The name of a field."""
    return f"{field}_" if keyword.iskeyword(field) else field


def documented(text: str) -> str:
    """A docstring, indented."""
    text = re.sub(r"\s+", " ", text).strip()
    text = text if text.endswith(".") else f"{text}."
    one = f'    """{text}"""'
    if len(one) <= WIDTH:
        return one
    return textwrap.indent("\n".join(textwrap.wrap(f'"""{text}', WIDTH - 4) + ['"""']), "    ")


def made() -> str:
    """The module's text."""
    schema = json.loads(SCHEMA.read_text())
    types = Types(schema)
    schema["description"] = "The explanation of one trace"
    types.add("Result", schema, "result")
    text = HEAD + "\n" + "\n\n".join(types.classes.values())
    return "\n".join(line if len(line) <= WIDTH else wrapped(line) for line in text.split("\n"))


def wrapped(line: str) -> str:
    """A long field, one of its values a line."""
    found = re.fullmatch(r"    (\w+): (.*?)Literal\[(.*)\](.*)", line)
    if not found:
        return line
    values = textwrap.fill(f"{found[3]},", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8,
                           break_on_hyphens=False)
    return f"    {found[1]}: {found[2]}Literal[\n{values}\n    ]{found[4]}"


def main() -> None:
    """Writes the module, or with --check only compares."""
    text = made()
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(text)
    elif OUTPUT.read_text() != text:
        sys.exit(f"{OUTPUT}: not what docs/schema/explain.json says: run python/make_results.py")


if __name__ == "__main__":
    main()
