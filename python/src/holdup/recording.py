"""`holdup.record`: what of a program's run is recorded, said by the program itself.

The program runs under `holdup record`, whose capture library exports a few C functions (docs/recording.md). Without it,
nothing happens, and one warning says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import warnings
from collections.abc import Iterator
from types import TracebackType

NOT_OPENED = -(1 << 63)
"""The least number: what the library returns where nothing can be recorded."""

_said: set[str] = set()


class _Library:
    """The functions of the capture library in this process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.open = library.holdup_window_open
        self.open.restype = ctypes.c_int64
        self.close = library.holdup_window_close
        self.close.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self.now = library.holdup_now
        self.now.restype = ctypes.c_int64
        self.range = library.holdup_range
        self.range.argtypes = [ctypes.c_char_p, ctypes.c_int64]


@functools.cache
def _library() -> _Library | None:
    """The capture library, if `holdup record` put it into this process."""
    try:
        return _Library(ctypes.CDLL(None))
    except (AttributeError, OSError):
        return None


def _warn(text: str) -> None:
    """Warns once for each text."""
    if text not in _said:
        _said.add(text)
        warnings.warn(f"holdup.record: {text}", stacklevel=4)


class record(contextlib.ContextDecorator):
    """Records a part of a program that runs under `holdup record`, and gives that part a file of its own.

        with holdup.record("epoch.holdup") as window:
            for batch in loader:
                train(batch)
                window.step()

    `holdup record --after program python train.py` records nothing else. Without `--after`, all of the run is recorded, and
    this part of it is also written to the file. The file is there when the program has ended; an existing one is not
    replaced, but the new one is `epoch-2.holdup`. Parts that overlap, on threads or in processes, are recorded while any
    of them is open.

    In a program that `holdup record` did not start it does nothing, and warns once.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """
        Args:
            path: The file for this part; without one, it is a part of the whole recording alone.
        """
        self.path = None if path is None else os.path.abspath(path)
        self._start = NOT_OPENED
        self._step = NOT_OPENED
        self._steps = 0

    def start(self) -> None:
        """Begins to record, unless it began."""
        library = _library()
        if library is None:
            _warn(
                "this program was not started by holdup record: nothing is recorded: run `holdup record --after program "
                "python …`"
            )
            return
        if self._start != NOT_OPENED:
            return
        self._start = self._step = library.open()
        self._steps = 0
        if self._start == NOT_OPENED:
            # The window is counted, whether or not it is recorded.
            library.close(b"", NOT_OPENED)
            _warn("recording was switched 256 times, which is all that a run can: nothing more is recorded")

    def stop(self) -> None:
        """Ends what `start` began."""
        library = _library()
        if library is None or self._start == NOT_OPENED:
            return
        name = "holdup.record" if self.path is None else f"holdup.record {self.path}"
        if not library.close(os.fsencode(name), self._start):
            _warn("this process did not use CUDA before the end of the block: nothing of it was recorded")
        self._start = self._step = NOT_OPENED

    def step(self, name: str = "step") -> None:
        """Ends a step of the program: a range `step N` from the last step, or from the start. `explain` then accounts for
        steps."""
        library = _library()
        if library is None or self._step == NOT_OPENED:
            return
        library.range(os.fsencode(f"{name} {self._steps}"), self._step)
        self._step = library.now()
        self._steps += 1

    def __enter__(self) -> record:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _recreate_cm(self) -> record:
        """For each call of a function that it decorates."""
        return record(self.path)


@contextlib.contextmanager
def span(name: str) -> Iterator[None]:
    """Marks what the block does with a range, as NVTX does, in a program that `holdup record` started.

    >>> with span("load"):
    ...     pass
    """
    library = _library()
    start = library.now() if library else 0
    try:
        yield
    finally:
        if library:
            library.range(os.fsencode(name), start)
