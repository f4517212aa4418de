"""A recording that holds calls of the operating system only: no call of CUDA, no kernel, no copy."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, Trace  # noqa: E402

trace = Trace(27, ("osrt",), "python3 matmul_bench.py", 2021)
process = trace.process("python3", 90210, Gpu("rtx2080"))
thread = process.thread("python3", at=212 * MS)
for module in range(60):
    thread.host(700 * US)
    for name, duration in (("open64", 14), ("read", 6), ("mmap64", 11)):
        thread.os(name, duration * US, out=False)
for _ in range(50):
    thread.host(300 * US)
    thread.os("ioctl", 210 * US, out=False, chain=[("__GI___ioctl", "libc.so.6"), ("0x7f30c4e77ae8", "libcuda.so.1")])
for repetition in range(25):
    thread.host(21 * MS)
    thread.os("write", 9 * US, out=False)
helper = trace.background(process, 260 * MS, thread.now)
pool = process.thread("python3", at=220 * MS)
pool.os("sem_wait", until=thread.now, chain=[("sem_wait", "libc.so.6"), ("PyThread_acquire_lock_timed", "python3")])
trace.save(HERE / "trace.sqlite")
