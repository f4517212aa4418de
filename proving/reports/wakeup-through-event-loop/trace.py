"""A Julia task waits for its stream by a callback: the driver's thread tells the event loop's thread, which wakes the task's thread."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, WITHIN, Trace  # noqa: E402

trace = Trace(25, ("cuda", "osrt", "sched"), "julia --project -O3 -t 2 copy_bench.jl 70000000")
process = trace.process("julia", 5150, Gpu("a100"))
stream = process.stream(2)
thread = process.thread("julia", at=9200 * MS)
loop = process.thread("julia", at=9200 * MS)
driver = process.thread("cuda00004400012", at=9200 * MS)
thread.stack = [("julia_nonblocking_synchronize_4811", "[jit]"), ("julia_synchronize_4790", "[jit]"), ("main", "julia")]
for repetition in range(70):
    thread.host(9 * US)
    end = thread.launch(stream, "_Z11copy_kernel13CuDeviceArrayI7Float64Li1ELi1EES_", 740 * US, 273438, name="cuLaunchKernel", cost=6 * US)
    thread.call("cuLaunchHostFunc", 9 * US)
    called = end + trace.between(35 * US, 60 * US)          # the driver's thread calls the function
    driver.os("poll", until=called - 6 * US, chain=[("__poll", "libc.so.6"), ("0x7f30c43a15f7", "libcuda.so.1"),
                                                    ("start_thread", "libc.so.6")])
    driver.now = called
    driver.os("write", 5 * US, out=False)
    woken = called + trace.between(55 * US, 110 * US)       # the event loop's thread finds the notice
    loop.os("epoll_wait", until=woken, chain=[("epoll_wait", "libc.so.6"), ("uv__io_poll", "libjulia-internal.so.1"),
                                              ("uv_run", "libjulia-internal.so.1"), ("jl_task_get_next", "libjulia-internal.so.1"),
                                              ("start_thread", "libc.so.6")])
    loop.now = woken + trace.between(8 * US, 20 * US)
    signal, _ = loop.os("pthread_cond_signal", 4 * US, out=False)
    late = trace.between(90 * US, 260 * US) if repetition % 9 else trace.between(700 * US, 1300 * US)
    thread.os("pthread_cond_wait", until=signal + late, chain=[
        ("pthread_cond_wait", "libc.so.6"), ("uv_cond_wait", "libjulia-internal.so.1"), ("jl_task_get_next", "libjulia-internal.so.1"),
        ("julia_wait_3120", "sys.so")])
    thread.host(14 * US)
trace.save(HERE / "trace.sqlite")
