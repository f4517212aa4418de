"""Each frame allocates its result from the driver's pool, whose release threshold is 0: the synchronization gives the memory back."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, Trace  # noqa: E402

trace = Trace(12, ("cuda",), "python3 resize_1080p.py")
process = trace.process("python3", 30412, Gpu("orin"))
stream = process.stream(2)
thread = process.thread("python3", at=2140 * MS)
for frame in range(60):
    thread.host(95 * US)
    thread.call("cuMemAllocAsync", 3720 * US)
    thread.launch(stream, "resize_bilinear_f32_c3", 970 * US, (60, 68, 1), (32, 16, 1), 40, name="cuLaunchKernel", cost=7 * US)
    thread.call("cuMemFreeAsync", 5 * US)
    thread.wait(stream, name="cuStreamSynchronize", extra=trace.about(3350 * US))
trace.save(HERE / "trace.sqlite")
