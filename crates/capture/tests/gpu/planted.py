#!/usr/bin/env python3
"""Programs whose threads wait outside CUDA calls, for a time that they measure themselves: recorded, each wait must be shown as what it
is, at most 2 % longer or shorter. They use CUDA through the driver alone, so that any driver will do.

    planted.py [NAME…]        default: all
    planted.py --run NAME     runs a program, and nothing else

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import csv
import ctypes
import importlib.util
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))

MUTEX = r"""
#include <chrono>
#include <mutex>
#include <thread>
static std::mutex mutex;
extern "C" void hold(int ms) {
    std::lock_guard<std::mutex> held(mutex);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}
"""


class Cuda:
    """The driver, in a context of the calling thread."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.context, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuInit", 0)
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, 0)
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(1 << 16))
        self.host = ctypes.create_string_buffer(1 << 16)

    def call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        assert code == 0, (name, code)

    def copy(self):
        self.call("cuMemcpyHtoDAsync_v2", self.memory, self.host, ctypes.c_size_t(1 << 10), None)


def own():
    return threading.get_native_id()


def fact(name, value):
    print(json.dumps([name, value]), flush=True)


def counted():
    """The calling thread's time on a processor, and ready without one, as the kernel counts it."""
    return [int(word) for word in pathlib.Path(f"/proc/self/task/{own()}/schedstat").read_text().split()[:2]]


class Timed:
    """How long something took, ns, of the calling thread; with `idle`, without its time on a processor."""

    def __init__(self, name, idle=False):
        self.name, self.clocks = name, [time.monotonic_ns, *([time.thread_time_ns] if idle else [])]

    def __enter__(self):
        self.begin = [clock() for clock in self.clocks]

    def __exit__(self, *_):
        total, *on_processor = [clock() - begin for clock, begin in zip(self.clocks, self.begin)]
        fact(self.name, total - sum(on_processor))


# The programs. Their main thread waits.


def gil(cuda):
    """Another thread computes in Python, which gives the GIL up each switch interval."""
    stop = []

    def compute():
        fact("other", own())
        total = 0
        while not stop:
            total = (total * 3 + 1) % 1009  # computes

    thread = threading.Thread(target=compute)
    thread.start()
    for _ in range(200):
        cuda.copy()
        time.sleep(0.0001)
    stop.append(True)
    thread.join()


def famine(cuda):
    """Four burners and one processor."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        until = time.monotonic() + 4
        while time.monotonic() < until:
            cuda.copy()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def sleep(_):
    with Timed("blocked"):
        time.sleep(2)


def read(_):
    out, into = os.pipe()
    child = subprocess.Popen(["sh", "-c", "sleep 2; echo"], stdout=into)
    with Timed("blocked"):
        os.read(out, 1)
    child.wait()


def queue_get(_):
    parcels = queue.Queue()

    def produce():
        fact("other", own())
        time.sleep(1)
        parcels.put(1)  # puts

    thread = threading.Thread(target=produce)
    thread.start()
    with Timed("blocked"):
        parcels.get()  # gets
    thread.join()


def mutex(_):
    with tempfile.TemporaryDirectory() as folder:
        source, path = pathlib.Path(folder, "mutex.cpp"), f"{folder}/mutex.so"
        source.write_text(MUTEX)
        subprocess.run(["g++", "-O1", "-g", "-shared", "-fPIC", "-o", path, source], check=True)
        library = ctypes.CDLL(path)

    def hold():
        fact("other", own())
        library.hold(1000)

    thread = threading.Thread(target=hold)
    thread.start()
    time.sleep(0.1)
    with Timed("blocked"):
        library.hold(0)
    thread.join()


class Slow:
    """A data set that takes a while."""

    def __len__(self):
        return 40

    def __getitem__(self, at):
        time.sleep(0.05)
        return at


def loader(_):
    import torch

    # It also starts the worker.
    with Timed("blocked", idle=True):
        print(sum(batch.sum().item() for batch in torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=1)), file=sys.stderr)


# What must be found.


def near(found, planted, what):
    """Whether a time is within 2 % of the planted one."""
    off = found / planted - 1
    print(f"    {what}: {found / 1e6:.2f} ms, planted {planted / 1e6:.2f} ms, {off:+.2%}")
    return abs(off) < 0.02


def line(marker):
    return [f"{HERE.name}:{at}" for at, text in enumerate(HERE.read_text().splitlines(), 1) if text.endswith(f"# {marker}")]


def is_at(place, marker):
    return any(each in place for each in line(marker))


class Found:
    """The tables of a recording, of its program's main thread."""

    def __init__(self, folder, facts):
        self.folder, self.facts = folder, facts

    def rows(self, table):
        with open(self.folder / f"{table}.csv", newline="") as file:
            return [row for row in csv.DictReader(file) if row["tid"] == str(self.facts["main"])]

    def waits(self, *kinds):
        return [row for row in self.rows("waits") if row["kind"] in kinds]

    def long_waits(self, *kinds):
        return [row for row in self.waits(*kinds) if int(row["duration_ns"]) > 1_000_000]

    def blocked(self, calls):
        """How long it was blocked, in rows that end in one of those system calls."""
        rows = [row for row in self.rows("states") if row["call"] in calls]
        return self.sum(rows) - self.sum(rows, "running_ns") - self.sum(rows, "runnable_ns")

    def sum(self, rows, column="duration_ns"):
        return sum(int(row[column] or 0) for row in rows)


def is_gil(found):
    long = found.long_waits("gil")
    right = [row for row in long if int(row["releaser_tid"] or 0) == found.facts["other"] and "compute" in row["releaser_place"]]
    print(f"    {len(long)} waits over 1 ms, {len(right)} with the holder's line")
    counted = [row for row in found.rows("tallies") if row["name"] == "gil"]
    total = found.sum(found.waits("gil")) + found.sum(counted, "time_ns")
    measured = found.facts.get("timedwait")
    return len(long) > 100 and len(right) == len(long) and (measured is None or near(total, measured, "waits for the GIL"))


def is_famine(found):
    states, facts = found.rows("states"), found.facts
    with_one = near(found.sum(states, "running_ns"), facts["running"], "on a processor")
    return near(found.sum(states, "runnable_ns"), facts["runnable"], "ready without a processor") and with_one


def is_blocked_in(*calls):
    def check(found):
        return near(found.blocked(calls), found.facts["blocked"], f"blocked in {' or '.join(calls)}")

    return check


def is_wait(kinds, puts):
    def check(found):
        long = [row for row in found.waits(*kinds) if int(row["duration_ns"]) > found.facts["blocked"] // 2]
        if len(long) != 1 or int(long[0]["releaser_tid"] or 0) != found.facts["other"]:
            return print(f"    {len(long)} waits, by {[row['releaser_tid'] for row in long]}")
        wait = long[0]
        print(f"    at {wait['place']}, ended at {wait['releaser_place']}")
        placed = not puts or is_at(wait["releaser_place"], puts) and is_at(wait["place"], "gets")
        return placed and near(int(wait["duration_ns"]), found.facts["blocked"], wait["kind"])

    return check


PROGRAMS = {
    "gil": (gil, is_gil),
    "famine": (famine, is_famine),
    "sleep": (sleep, is_blocked_in("clock_nanosleep", "nanosleep", "select", "pselect6")),
    "read": (read, is_blocked_in("read")),
    "queue_get": (queue_get, is_wait(("semaphore", "condition"), "puts")),
    "mutex": (mutex, is_wait(("mutex",), None)),
    "loader": (loader, is_blocked_in("poll", "ppoll", "read", "select", "epoll_wait", "futex")),
}


def run(name):
    # Threads are watched once the driver is initialized.
    begin, cuda = counted(), Cuda()
    fact("main", own())
    PROGRAMS[name][0](cuda)
    for what, before, after in zip(["running", "runnable"], begin, counted()):
        fact(what, after - before)


def measuring(folder):
    """A library that measures how long `pthread_cond_timedwait` takes."""
    source = HERE.parents[1] / "standin/measure.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", f"{folder}/measure.so", source], check=True)
    return {"LD_PRELOAD": f"{folder}/measure.so", "STANDIN_FACTS": f"{folder}/facts"}


def is_well(name):
    with tempfile.TemporaryDirectory() as folder:
        trace, tables = f"{folder}/planted.holdup", pathlib.Path(folder, "tables")
        record = [HOLDUP, "record", "--quiet", "--output", trace, "--", sys.executable, str(HERE), "--run", name]
        more = measuring(folder) if name == "gil" else {}
        done = subprocess.run(record, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | more)
        facts = dict(json.loads(text) for text in done.stdout.splitlines())
        if more:
            facts["timedwait"] = int(pathlib.Path(more["STANDIN_FACTS"]).read_text().split()[1])
        subprocess.run([HOLDUP, "export", "--format", "csv", "--output", tables, trace], check=True, stderr=subprocess.DEVNULL)
        print(name)
        well = PROGRAMS[name][1](Found(tables, facts))
        print(f"{name}: {'well' if well else 'NOT FOUND'}", flush=True)
        return well


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        return run(arguments[1])
    if any(name not in PROGRAMS for name in arguments):
        sys.exit(__doc__)
    sys.exit(not all([is_well(name) for name in arguments or PROGRAMS if name != "loader" or importlib.util.find_spec("torch")]))


if __name__ == "__main__":
    main()
