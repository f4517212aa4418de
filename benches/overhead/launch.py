"""Cost of a kernel launch under torch.profiler: THREADS threads launch torch.sin on streams of their own.

    launch.py THREADS SECONDS [profile]

Prints the median over bursts of 200 of the microseconds that a launch takes, and the launches made.
"""
import statistics
import sys
import threading
import time

import torch


def work(ready: threading.Barrier, end: float, costs: list[float]) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x, out = torch.ones(32, device="cuda"), torch.ones(32, device="cuda")
        torch.sin(x, out=out)
        stream.synchronize()
        ready.wait()
        while time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(200):
                torch.sin(x, out=out)
            costs.append((time.perf_counter() - start) * 1e6 / 200)
            stream.synchronize()


def main() -> None:
    threads, seconds = int(sys.argv[1]), float(sys.argv[2])
    torch.ones(1, device="cuda")
    ready, costs = threading.Barrier(threads), []
    end = time.perf_counter() + seconds + 0.5
    workers = [threading.Thread(target=work, args=(ready, end, costs)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{statistics.median(costs):.3f} {len(costs) * 200}")


if sys.argv[3:] == ["profile"]:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        main()
else:
    main()
