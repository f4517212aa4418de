"""A callback for Lightning: profiles some steps of a training, and explains them.

    trainer = lightning.Trainer(callbacks=[holdup.lightning.HoldupCallback("traces")])
"""

from __future__ import annotations

import os
from typing import Any

import torch.profiler

from holdup.profiler import Handler

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class HoldupCallback(Callback):
    """Traces `active` steps with PyTorch's profiler, once, and prints what they waited for. Each rank writes its trace;
    rank 0 explains its own."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        skip: int = 10,
        warmup: int = 2,
        active: int = 5,
        repeat: int = 1,
        with_stack: bool = True,
        quiet: bool = False,
    ) -> None:
        """
        Args:
            directory: Where the traces go.
            skip: Steps before the first trace: what happens once is over then.
            warmup: Steps for which the profiler runs before it traces.
            active: Steps in a trace.
            repeat: Traces in all; 0 for as many as there are.
            with_stack: Whether findings get lines; costs time in each operator.
            quiet: Print nothing; `handler.explanations` has the results.
        """
        super().__init__()
        self.handler = Handler(directory, quiet=quiet)
        self._schedule = {"wait": 0, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip}
        self._with_stack = with_stack
        self._profile: Any = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts the profiler."""
        if trainer.world_size > 1:
            os.environ.setdefault("RANK", str(trainer.global_rank))
        self._profile = torch.profiler.profile(
            schedule=torch.profiler.schedule(**self._schedule),
            on_trace_ready=self.handler,
            with_stack=self._with_stack,
        )
        self._profile.start()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        """Ends a step."""
        if self._profile is not None:
            self._profile.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Stops the profiler."""
        self._stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stops the profiler: the program fails for another reason."""
        self._stop()

    def _stop(self) -> None:
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.stop()
