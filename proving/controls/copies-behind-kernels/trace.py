"""Two pinned buffers: each copy to the device runs beside a kernel that takes longer."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, IN, OUT, Trace  # noqa: E402

trace = Trace(42, ("cuda",), "./stream_filter --frames 48")
process = trace.process("stream_filter", 31111, Gpu("a100", alone=True))
copies, kernels = process.stream(2), process.stream(2)
thread = process.thread("stream_filter", at=1500 * MS)
loaded, used = {}, {}
thread.copy(copies, 24 * MB, IN)
loaded[0] = thread.record(copies)
for block in range(48):
    slot = block % 2
    thread.hold(kernels, loaded[slot])
    for kernel in ("void denoise<7>(const float *, float *, int, int)", "void deconvolve(const float *, const float *, float *, int, int)"):
        thread.launch(kernels, kernel, 1900 * US, 4096, 256, 56)
    used[slot] = thread.record(kernels)
    if 1 - slot in used:
        thread.hold(copies, used[1 - slot])
    thread.copy(copies, 24 * MB, IN)
    loaded[1 - slot] = thread.record(copies)
    if block > 1:
        thread.wait(event=used[1 - slot])
        thread.host(60 * US)
thread.wait(kernels)
trace.save(HERE / "trace.sqlite")
