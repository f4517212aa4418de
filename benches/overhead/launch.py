"""Cost of a kernel launch from PyTorch: threads launch torch.sin on streams of their own.

    launch.py SECONDS [profile]

For each line of the input, which says how many threads, a process is forked that launches for so long; it prints the median
over bursts of 200 of the microseconds that a launch takes, and the launches made. Importing PyTorch takes longer than all
that: it is done once. With `profile` they run under torch.profiler.
"""
import contextlib
import os
import statistics
import sys
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile


def work(ready: threading.Barrier, seconds: float, costs: list[float]) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x, out = torch.ones(32, device="cuda"), torch.ones(32, device="cuda")
        torch.sin(x, out=out)
        stream.synchronize()
        ready.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(200):
                torch.sin(x, out=out)
            costs.append((time.perf_counter() - start) * 1e6 / 200)
            stream.synchronize()


def measure(threads: int, seconds: float) -> None:
    torch.ones(1, device="cuda")
    ready, costs = threading.Barrier(threads), []
    workers = [threading.Thread(target=work, args=(ready, seconds, costs)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{statistics.median(costs):.3f} {len(costs) * 200}", flush=True)


profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) if sys.argv[2:] else contextlib.nullcontext()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        with profiler:
            measure(int(line), float(sys.argv[1]))
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("launch.py: a run failed")
