"""A Numba program copies its result asynchronously, but to an array that is not pinned.

The call waits for the kernel, and the host's work, which was meant to run beside the kernel, comes after.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, IN, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(30, ("cuda",), "python3 async_api.py")
process = trace.process("python3", 17540, Gpu("v100"))
stream = process.stream(1)
thread = process.thread("python3", at=1200 * MS)
for batch in range(30):
    thread.host(150 * US)
    thread.copy(stream, 4 * MB, IN, PAGEABLE, "cuMemcpyHtoDAsync_v2")
    thread.host(60 * US)
    thread.launch(stream, "cudapy::__main__::increment_kernel$241(Array<int, 1, C, mutable, aligned>, Array<int, 1, C, mutable, aligned>, "
                  "__int64)", 9 * MS, 2048, 512, 36, name="cuLaunchKernel", cost=7 * US)
    thread.copy(stream, 4 * MB, OUT, PAGEABLE, "cuMemcpyDtoHAsync_v2")
    thread.host(7 * MS)                                     # meant to run beside the kernel
    thread.wait(stream, name="cuStreamSynchronize")
trace.nvprof_csv(HERE / "trace.csv", process, "python3 async_api.py")
