"""`%%holdup` for Jupyter and IPython.

A kernel that runs already cannot be recorded from its start, and a CUDA process has room for one client of CUPTI. So a cell is
run under PyTorch's own profiler, and its trace explained; `--script` runs it as a program of its own under `holdup record`.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from holdup._explain import Explanation, explain
from holdup._program import HoldupError, program


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%holdup", description="Explains what a cell's threads and GPUs wait for.")
    parser.add_argument(
        "-s", "--script", action="store_true",
        help="run the cell as a program of its own under `holdup record`, without the notebook's variables",
    )  # fmt: skip
    parser.add_argument("-o", "--output", help="keep the trace: FILE.json.gz, with --script FILE.holdup")
    parser.add_argument("--no-stack", action="store_true", help="do not record Python stacks: cheaper, without lines")
    return parser


def register(shell: Any) -> None:
    """Adds the magic to an IPython shell."""

    def holdup(line: str, cell: str) -> Explanation | None:
        return run_cell(shell, line, cell)

    shell.register_magic_function(holdup, magic_kind="cell")


def run_cell(shell: Any, line: str, cell: str) -> Explanation | None:
    """Runs a cell and explains it; prints one line where it cannot be. What the cell raises is the shell's."""
    try:
        options = _parser().parse_args(shlex.split(line))
    except SystemExit:
        return None
    with tempfile.TemporaryDirectory(prefix="holdup-") as folder:
        try:
            make = _record if options.script else _profile
            path = make(shell, cell, options, Path(folder))
            return None if path is None else explain(path)
        except HoldupError as error:
            print(f"holdup: {error}", file=sys.stderr)
            return None


def _profile(shell: Any, cell: str, options: argparse.Namespace, folder: Path) -> Path | None:
    """The trace of a cell that runs in the kernel under PyTorch's profiler."""
    try:
        import torch.profiler
    except ImportError as error:
        raise HoldupError(
            "the kernel has no PyTorch, whose profiler traces a cell: use %%holdup --script, which records a program"
        ) from error
    path = Path(options.output).absolute() if options.output else folder / "cell.json"
    _free(path)
    with torch.profiler.profile(with_stack=not options.no_stack) as profile:
        outcome = shell.run_cell(cell)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    profile.export_chrome_trace(str(path))
    return path if outcome.success else None


def _record(shell: Any, cell: str, options: argparse.Namespace, folder: Path) -> Path | None:
    """The recording of a cell that runs as a program."""
    path = Path(options.output).absolute() if options.output else folder / "cell.holdup"
    _free(path)
    script = folder / "cell.py"
    script.write_text(shell.transform_cell(cell))
    command = [program(), "record", "--quiet", "--output", str(path), "--", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return path if path.exists() else None


def _free(path: Path) -> None:
    if path.exists():
        raise HoldupError(f"{path}: exists: name another file")
