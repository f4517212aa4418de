"""Cost of a kernel launch from PyTorch: threads launch torch.sin on streams of their own.

    launch.py SECONDS [profile | TURNS.so]

For each line of the input, which says how many threads, a process is forked that launches for so long; it prints the median
over bursts of 200 of the microseconds that a launch takes, and the launches made. Importing PyTorch takes longer than all
that: it is done once. With `profile` they run under torch.profiler. With turns.so, in a process that is recorded, bursts
with and without the recorder take turns, in one thread: it prints the medians without and with it.
"""
import ctypes
import os
import statistics
import sys
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile


class Launches:
    """Launches into a stream of the thread's own, whose kernel has run once."""

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            self.x, self.out = torch.ones(32, device="cuda"), torch.ones(32, device="cuda")
        self.burst()

    def burst(self) -> float:
        """The microseconds that one takes: few enough that the stream's queue of about a thousand never fills."""
        with torch.cuda.stream(self.stream):
            start = time.perf_counter()
            for _ in range(200):
                torch.sin(self.x, out=self.out)
            took = time.perf_counter() - start
        self.stream.synchronize()
        return took * 1e6 / 200


def measure(threads: int, seconds: float) -> None:
    ready, costs = threading.Barrier(threads), []

    def work() -> None:
        launches = Launches()
        ready.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            costs.append(launches.burst())

    torch.ones(1, device="cuda")
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{statistics.median(costs):.3f} {len(costs) * 200}", flush=True)


def take_turns(turns: ctypes.CDLL, seconds: float) -> None:
    launches, costs = Launches(), ([], [])
    if not turns.turns_find():
        sys.exit("launch.py: the driver is not wrapped: run it under holdup record")
    end, turn = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        # With, without, without, with: neither is always first.
        without = (turn ^ turn >> 1) & 1
        turns.turns_take(without)
        costs[without].append(launches.burst())
        turn += 1
    turns.turns_take(0)
    recorded, bare = map(statistics.median, costs)
    print(f"{bare:.3f} {recorded:.3f}", flush=True)


def run(threads: int, seconds: float, how: list[str]) -> None:
    if how == ["profile"]:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            measure(threads, seconds)
    elif how:
        take_turns(ctypes.CDLL(how[0]), seconds)
    else:
        measure(threads, seconds)


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        run(int(line), float(sys.argv[1]), sys.argv[2:])
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("launch.py: a run failed")
