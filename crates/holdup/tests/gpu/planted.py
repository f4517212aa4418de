"""Python programs that keep a GPU waiting for a reason and at a line that are known: `account.py`. Each prints what it measured, as
["name", nanoseconds].

    planted.py NAME
"""

import ctypes
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import torch

MS = 1_000_000
# `chain`: a library's lock, waited for with Python's lock held, as extension modules do.
LIBRARY = r"""
#include <mutex>
#include <unistd.h>
static std::mutex mutex;
extern "C" void sleep_locked(int us) {
    std::lock_guard<std::mutex> held(mutex);
    usleep(us); // sleeps locked
}
extern "C" void pass() {
    std::lock_guard<std::mutex> held(mutex);
}
"""


def fact(name, value):
    print(json.dumps([name, value]), flush=True)


class Sum:
    """Time spent within, ns."""

    def __init__(self):
        self.ns = 0

    def __enter__(self):
        self.begin = time.monotonic_ns()

    def __exit__(self, *_):
        self.ns += time.monotonic_ns() - self.begin


def cycles():
    """Clock cycles that a GPU makes in a millisecond."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    torch.cuda._sleep(10_000_000)
    end.record()
    end.synchronize()
    return int(10_000_000 / begin.elapsed_time(end))


def kernel(ms):
    """A kernel, and a wait for its end."""
    torch.cuda._sleep(int(ms * CYCLES))  # launches
    torch.cuda.synchronize()  # waits


def loop(count, ms=2):
    """Time of a loop of kernels, ns."""
    begin = time.monotonic_ns()
    for _ in range(count):
        kernel(ms)
    return time.monotonic_ns() - begin


def sleep():
    lost = Sum()
    for _ in range(200):
        kernel(5)
        with lost:
            time.sleep(0.005)  # sleeps
    return lost.ns


def computes():
    lost = Sum()
    for _ in range(100):
        kernel(5)
        with lost:
            total = 0
            for each in range(60_000):  # computes
                total = (total * 3 + each) % 1009  # computes
    return lost.ns


def gil():
    """A thread that computes in Python takes its lock from one that launches."""
    alone, stop = loop(200), []

    def hog():
        total = 0
        while not stop:  # hogs
            total = (total * 3 + 1) % 1009  # hogs

    thread = threading.Thread(target=hog)
    thread.start()
    beside = loop(200)
    stop.append(True)
    thread.join()
    fact("alone", alone)
    return beside - alone


def famine():
    """One processor and four burners."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    alone = loop(600, 0.2)
    torch.cuda._sleep(500 * CYCLES)  # the GPU is busy while they start
    burners = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], env={}) for _ in range(4)]
    try:
        time.sleep(0.2)
        torch.cuda.synchronize()
        beside = loop(600, 0.2)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    fact("alone", alone)
    return beside - alone


class Slow(torch.utils.data.Dataset):
    """A data set that takes a while."""

    def __len__(self):
        return 160

    def __getitem__(self, at):
        time.sleep(0.005)
        return torch.ones(16)


def loader():
    lost, batches = Sum(), iter(torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=1))
    for _ in range(len(batches)):
        with lost:
            batch = next(batches)  # loads
        batch.cuda()
        kernel(5)
    return lost.ns


def queued():
    """A thread prepares what another one launches, in code that releases Python's lock."""
    lost, parcels, data = Sum(), queue.Queue(), os.urandom(1 << 20)

    def produce():
        for _ in range(60):
            parcels.put(len(zlib.compress(data)))  # produces

    thread = threading.Thread(target=produce)
    thread.start()
    for _ in range(60):
        with lost:
            parcels.get()
        kernel(1)
    thread.join()
    return lost.ns


def chain():
    """The launching thread waits for Python's lock; its holder for a mutex; whose holder sleeps."""
    torch.cuda._sleep(2_000 * CYCLES)  # the GPU is busy while the compiler works
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/library.so"
        subprocess.run(["g++", "-O1", "-g", "-shared", "-fPIC", "-x", "c++", "-o", path, "-"], input=LIBRARY, text=True, check=True)
        holding, freeing = ctypes.PyDLL(path), ctypes.CDLL(path)
    torch.cuda.synchronize()
    alone, stop = loop(150), []

    def sleeps():
        while not stop:
            freeing.sleep_locked(10_000)  # sleeps locked
            time.sleep(0.01)

    def waits():
        torch.cuda.current_stream().query()  # a thread that uses CUDA: its waits are recorded
        while not stop:
            holding.pass_()
            time.sleep(0.001)

    holding.pass_ = holding["pass"]
    threads = [threading.Thread(target=each) for each in (sleeps, waits)]
    for thread in threads:
        thread.start()
    beside = loop(150)
    stop.append(True)
    for thread in threads:
        thread.join()
    fact("alone", alone)
    return beside - alone


def busy():
    """Nothing keeps the GPU waiting."""
    for _ in range(300):
        for _ in range(10):
            torch.cuda._sleep(int(0.5 * CYCLES))
        torch.cuda.synchronize()
    return 0


def overlapped():
    """The host sleeps, and computes, while the GPU works."""
    for _ in range(100):
        torch.cuda._sleep(int(20 * CYCLES))
        time.sleep(0.012)
        torch.cuda._sleep(int(1 * CYCLES))
        torch.cuda.synchronize()
    return 0


if __name__ == "__main__":
    torch.cuda.init()
    CYCLES = cycles()
    kernel(1)
    begin = time.monotonic_ns()
    lost = globals()[sys.argv[1].replace("-", "_")]()
    fact("loop", time.monotonic_ns() - begin)
    fact("lost", lost)
