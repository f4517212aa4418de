"""Threads of pure Python, with the recorder in the process and without it, by turns: work a second.

    gil.py THREADS [ROUNDS]     STANDIN_TURNS names the library that takes the recorder out and puts it back

`switches`: each step gives the GIL up, so that nearly every step waits for it. `computes`: threads lose it every 5 ms.
"""

import ctypes
import os
import statistics
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
turns = ctypes.CDLL(os.environ["STANDIN_TURNS"]) if os.environ.get("STANDIN_TURNS") else None
threads, rounds = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30
# One turn.
SECONDS = 0.1


def fact(name, value):
    with open(os.environ["STANDIN_FACTS"], "a") as facts:
        facts.write(f"{name} {int(value)}\n")


def step_that_switches():
    total = 0
    for at in range(400):
        total += at
    time.sleep(0)


def step_that_computes():
    total = 0
    for at in range(400):
        total += at


def work(step, counts, at, stop):
    while not stop:
        step()
        counts[at] += 1


def rate(counts):
    """Steps a second of all threads together, by the clock and by the processor time of the process."""
    begin, used, count = time.perf_counter(), time.process_time(), sum(counts)
    time.sleep(SECONDS)
    count = sum(counts) - count
    return count / (time.perf_counter() - begin), count / (time.process_time() - used)


if turns:
    assert turns.turns_find() > 0
for name, step in [("switches", step_that_switches), ("computes", step_that_computes)]:
    pairs, bare, counts, stop = [], [], [0] * threads, []
    # The same threads with and without the recorder: what one costs when it starts is no part of this.
    all_threads = [threading.Thread(target=work, args=(step, counts, at, stop)) for at in range(threads)]
    for thread in all_threads:
        thread.start()
    rate(counts)
    for at in range(rounds):
        pair = {}
        for without in (1, 0) if at % 2 else (0, 1):
            if turns:
                turns.turns_take(without)
            pair[without] = rate(counts)
        pairs.append([with_it / alone for with_it, alone in zip(pair[0], pair[1])])
        bare.append(pair[1][0])
    stop.append(True)
    for thread in all_threads:
        thread.join()
    fact(f"{name}-a-second", statistics.median(bare))
    # 1,000,000 is the speed without the recorder.
    for by, ratios in zip(("clock", "processor"), zip(*pairs)):
        fact(f"{name}-by-{by}-millionths", statistics.median(ratios) * 1e6)
        spread = 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5 if rounds > 1 else 0
        fact(f"{name}-by-{by}-spread-millionths", spread * 1e6)
if turns:
    turns.turns_take(0)


def alone(count=20_000):
    """Nanoseconds to release the GIL and to acquire it again while nobody wants it, with a system call in between."""
    begin = time.perf_counter_ns()
    for _ in range(count):
        os.lseek(null, 0, 0)
    return (time.perf_counter_ns() - begin) / count


null, added = os.open("/dev/null", os.O_RDONLY), []
for at in range(2 * rounds):
    pair = {}
    for without in (1, 0) if at % 2 else (0, 1):
        if turns:
            turns.turns_take(without)
        pair[without] = alone()
    added.append((pair[0] - pair[1], pair[1]))
added.sort()
fact("alone-picoseconds", added[len(added) // 2][1] * 1e3)
fact("alone-added-picoseconds", max(0, added[len(added) // 2][0]) * 1e3)
if turns:
    turns.turns_take(0)
