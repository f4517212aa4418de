"""Begins when it is watched, then does CASE: `python.py SPOOL CASE [LIBRARY]`. Says the lines of its functions."""

import ctypes
import mmap
import os
import sys
import threading
import time

spool, case = sys.argv[1:3]
pid = os.getpid()
path = f"{spool}/{pid}-0.spool"
header = open(f"{spool}/header", "rb").read()
fresh = header[:8] + pid.to_bytes(4, sys.byteorder) + header[12:]
with open(path + ".fresh", "wb") as file:
    file.write(fresh)
with open(path + ".fresh", "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
os.rename(path + ".fresh", path)
watched = path.replace(".spool", ".watch")
deadline = time.monotonic() + 20
while not os.path.exists(watched):
    assert time.monotonic() < deadline, "nobody watches"
    time.sleep(0.001)
time.sleep(0.03)


def spin(until):
    total = 0
    while time.thread_time() < until:
        total += sum(range(200))
    return total


def often(until):
    return spin(until)


def seldom(until):
    return spin(until)


def inner(depth):
    if depth:
        inner(depth - 1)
    else:
        time.sleep(0.6)


if case == "shares":
    # 80 and 20 ms of the thread's own processor time, 12 times.
    now = time.thread_time()
    for _ in range(12):
        often(now + 0.08)
        seldom(now + 0.1)
        now += 0.1
    print("main", pid)
    print("often", often.__code__.co_firstlineno + 1)
    print("seldom", seldom.__code__.co_firstlineno + 1)
elif case == "threads":
    thread = threading.Thread(target=inner, args=(5,))
    thread.start()
    print("thread", thread.native_id)
    thread.join()
    print("sleeps", inner.__code__.co_firstlineno + 4)
elif case == "late":
    # The library's own thread calls back after a while.
    @ctypes.CFUNCTYPE(None)
    def call():
        print("thread", threading.get_native_id())
        inner(5)

    ctypes.CDLL(sys.argv[3]).start(call)
    print("sleeps", inner.__code__.co_firstlineno + 4)
elif case == "fork":
    # The child is watched as its own process; the parent only waits.
    child = os.fork()
    if child == 0:
        path = f"{spool}/{os.getpid()}-0.spool"
        with open(path + ".fresh", "wb") as file:
            file.write(header[:8] + os.getpid().to_bytes(4, sys.byteorder) + header[12:])
        with open(path + ".fresh", "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        os.rename(path + ".fresh", path)
        spin(time.thread_time() + 0.5)
        os._exit(0)
    os.waitpid(child, 0)
    print("child", child)
    print("spins", spin.__code__.co_firstlineno)
time.sleep(0.06)
