"""A server of remote CUDA calls pins a staging buffer for every copy to the device, and unpins it."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, IN, Trace  # noqa: E402

trace = Trace(13, ("cuda", "osrt"), "./lupine_server")
process = trace.process("lupine_server", 51877, Gpu("rtx4090"))
thread = process.thread("lupine_server", at=905 * MS)
trace.background(process, 900 * MS, 1030 * MS)
thread.stack = [("handle_manual_cuMemcpyHtoD_v2(conn_t*)", "lupine_server"), ("client_handler(int)", "lupine_server"),
                ("main", "lupine_server")]


def pin(name, cost):
    start, end, _ = thread.call(name, cost)
    thread.os("ioctl", start=start + 11 * US, until=end - 9 * US, out=False,
              chain=[("__GI___ioctl", "libc.so.6"), ("0x7f30c4e77ae8", "libcuda.so.1"), (name, "libcuda.so.1")])


for request in range(96):
    thread.os("read", 13 * US, out=False)
    thread.host(5 * US)
    pin("cuMemAllocHost_v2", 545 * US)
    thread.os("read", 3 * US, out=False)
    thread.copy(process.null, 64 if request % 8 else 4096, IN, name="cuMemcpyHtoD_v2")
    pin("cuMemFreeHost", 520 * US)
    thread.os("writev", 9 * US, out=False)
    if request % 4 == 3:
        thread.os("read", 12 * US, out=False)
        thread.launch(process.null, "update_counters(unsigned int *, const unsigned int *)", 21 * US, 24, name="cuLaunchKernel")
        thread.os("writev", 8 * US, out=False)
trace.save(HERE / "trace.sqlite")
