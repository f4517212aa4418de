"""`holdup.handler`: explains the traces of PyTorch's profiler as they are made."""

from __future__ import annotations

import os
import socket
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from holdup._explain import Explanation, explain
from holdup._program import HoldupError


class Handler:
    """For `torch.profiler.profile(on_trace_ready=…)`: writes each trace into a folder, explains it and prints the verdict.

    It never ends the program: what fails is a warning.
    """

    def __init__(
        self, directory: str | os.PathLike[str], *, compress: bool = False, quiet: bool = False, every_rank: bool = False
    ) -> None:
        """
        Args:
            directory: Where the traces go; it is made.
            compress: Write `.json.gz`: a tenth of the size, and several times the time to export.
            quiet: Print nothing; `explanations` has the results.
            every_rank: Explain the traces of all ranks, not only of rank 0 (environment variable `RANK`). All are written.
        """
        self.directory = Path(directory)
        self.compress = compress
        self.quiet = quiet
        self.every_rank = every_rank
        self.paths: list[Path] = []
        """The traces that were written, in their order."""
        self.explanations: list[Explanation] = []
        """The explanations of those that were explained."""
        self.seconds = 0.0
        """How long it took to explain the last trace, s, without its export."""

    def __call__(self, profile: Any) -> None:
        """Exports the trace of a profiler: any object with PyTorch's `export_chrome_trace(path)`."""
        rank = os.environ.get("RANK")
        try:
            path = self._export(profile, rank)
        except (OSError, RuntimeError) as error:
            warnings.warn(f"holdup: no trace was written: {error}", stacklevel=2)
            return
        if self.every_rank or rank in (None, "", "0"):
            self._explain(path)

    def _export(self, profile: Any, rank: str | None) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True)
        who = f"rank{rank}" if rank else f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if self.compress else ".pt.trace.json"
        path = self.directory / f"{who}.{time.time_ns()}{ending}"
        profile.export_chrome_trace(str(path))
        self.paths.append(path)
        return path

    def _explain(self, path: Path) -> None:
        began = time.perf_counter()
        try:
            explanation = explain(path)
        except HoldupError as error:
            warnings.warn(f"holdup: {error}", stacklevel=3)
            return
        finally:
            self.seconds = time.perf_counter() - began
        self.explanations.append(explanation)
        if not self.quiet:
            print(explanation, f"`holdup view {path}` shows the timeline", sep="\n", file=sys.stderr, flush=True)


def handler(
    directory: str | os.PathLike[str], *, compress: bool = False, quiet: bool = False, every_rank: bool = False
) -> Handler:
    """A handler for `torch.profiler.profile(on_trace_ready=holdup.handler("traces"))`: see [`Handler`].

    `with_stack=True` of the profiler gives findings their lines.

    >>> class Profile:
    ...     def export_chrome_trace(self, path):
    ...         import gzip, shutil
    ...         with gzip.open("examples/pytorch-d2h-stall.json.gz") as made, open(path, "wb") as file:
    ...             shutil.copyfileobj(made, file)
    >>> import tempfile
    >>> ready = handler(tempfile.mkdtemp(), quiet=True)
    >>> ready(Profile())
    >>> ready.explanations[0].verdict.bound
    'driver'
    """
    return Handler(directory, compress=compress, quiet=quiet, every_rank=every_rank)
