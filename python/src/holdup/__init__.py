"""holdup: why a CUDA program's threads, streams and GPUs wait.

    import holdup
    explanation = holdup.explain("trace.json.gz")   # a notebook shows it as the report's first screen
    explanation.tables["calls"].to_pandas()

    with torch.profiler.profile(on_trace_ready=holdup.handler("traces")): ...

    with holdup.record("x.holdup") as window: ...    # in a program that `holdup record` started

Times are integers in nanoseconds (`_ns`), shares numbers from 0 to 1.
"""

from holdup._explain import Explanation, explain, explain_all
from holdup._program import HoldupError, program
from holdup._tables import Table, Tables
from holdup.profiler import Handler, handler
from holdup.recording import record, span

__all__ = [
    "Explanation",
    "Handler",
    "HoldupError",
    "Table",
    "Tables",
    "explain",
    "explain_all",
    "handler",
    "program",
    "record",
    "span",
]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext holdup`: the cell magic `%%holdup`."""
    from holdup.magic import register

    register(shell)
