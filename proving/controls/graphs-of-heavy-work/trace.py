"""A solver launches one graph of heavy kernels after another, made once."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, Trace  # noqa: E402

trace = Trace(44, ("cuda", "nvtx"), "./multigrid --cycles 60")
process = trace.process("multigrid", 31313, Gpu("a100", alone=True))
stream = process.stream(2)
thread = process.thread("multigrid", at=3300 * MS)
recent = []
for cycle in range(60):
    with thread.range("v_cycle"):
        thread.graph(stream, 6200 * US, 1, 1)
        recent.append(thread.record(stream))
    if len(recent) > 3:
        thread.wait(event=recent.pop(0))                    # three cycles stay queued
        thread.host(25 * US)
thread.wait(stream)
trace.save(HERE / "trace.sqlite")
