"""The program `holdup`, which does the work: where it is, and how it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any


class HoldupError(Exception):
    """What `holdup` reports in one line: what is wrong, where, and what to do."""


def program() -> str:
    """The path of the program `holdup` of this package.

    Raises:
        HoldupError: the package is there without its program.
    """
    named = os.environ.get("HOLDUP_PROGRAM")
    if named:
        return named
    for directory in _directories():
        found = directory / "holdup"
        if found.is_file():
            return str(found)
    elsewhere = shutil.which("holdup")
    if elsewhere:
        return elsewhere
    raise HoldupError(
        "the program holdup is missing: install the package again, or name the program in HOLDUP_PROGRAM"
    )


def _directories() -> list[Path]:
    """Where installers put programs: of this environment, of the user, of `pip install --target` and `--prefix`."""
    package = Path(__file__).resolve().parent
    found = [Path(sysconfig.get_path("scripts")), Path(sys.prefix) / "bin"]
    found.append(package.parent / "bin")
    # PREFIX/lib/python3.x/site-packages/holdup
    found.extend(parent / "bin" for parent in package.parents[3:4])
    found.append(Path(sysconfig.get_path("scripts", f"{os.name}_user")))
    return found


def run(arguments: list[str], statuses: tuple[int, ...] = (0,), **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `holdup` with arguments; its output is text.

    Raises:
        HoldupError: it ended with a status that is not among `statuses`.
    """
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, encoding="utf-8", **options)
    if done.returncode not in statuses:
        raise HoldupError(_message(done))
    return done


def _message(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    # An error is the last line; usage that follows is of no use here.
    errors = [line for line in lines if line.startswith(("holdup: ", "error: "))]
    line = (errors or lines[-1:] or [f"ended with status {done.returncode}"])[0]
    return line.removeprefix("holdup: ").removeprefix("error: ")
