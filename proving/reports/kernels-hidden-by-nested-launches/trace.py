"""A library whose code holds launches from the device: the profiler records its calls and copies, and none of its kernels."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, IN, OUT, Trace  # noqa: E402

trace = Trace(26, ("cuda", "nvtx"), "./bin/cu_intersect_test")
process = trace.process("cu_intersect_te", 48811, Gpu("v100"))
stream = process.stream(1)
thread = process.thread("cu_intersect_te", at=710 * MS)
for frame in range(40):
    with thread.range("k2::MultiGraphDenseIntersect::PropagateForward"):
        thread.host(30 * US)
        thread.copy(stream, 48 * KB, IN)
        for kernel in range(3):
            thread.host(12 * US)
            thread.launch(stream, None, 120 * US)           # the profiler does not record it
        thread.copy(stream, 4, OUT)
        thread.wait(stream)
trace.save(HERE / "trace.sqlite")
