"""Python programs that wait: for the GIL, a queue, the end of a thread. What differs from run to run, they say in a file."""

import ctypes
import inspect
import os
import queue
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
assert sys.argv[1] == "fork-early" or cuda.cuInit(0) == 0


def fact(name, value):
    with open(os.environ["STANDIN_FACTS"], "a") as facts:
        facts.write(f"{name} {value}\n")


def line_below(name):
    """Says the line below the caller's."""
    fact(name, inspect.currentframe().f_back.f_lineno + 1)


def copy():
    there, back = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    cuda.cuMemcpyDtoHAsync_v2(back, ctypes.c_uint64(ctypes.addressof(there)), ctypes.c_size_t(64), None)


def compute(begun, until, counter=0):
    fact("holder-first", inspect.currentframe().f_lineno + 1)
    begun.set()
    while not until.is_set():
        for _ in range(1000):
            counter += 1
    fact("holder-last", inspect.currentframe().f_lineno - 1)
    return counter


def give_up(times):
    for _ in range(times):
        line_below_once()
        time.sleep(0.0001)


said = []


def line_below_once():
    if not said:
        said.append(True)
        fact("waiter-line", inspect.currentframe().f_back.f_lineno + 1)


def holder():
    """One thread computes, the main one gives the GIL up again and again."""
    fact("waiter", threading.get_native_id())
    begun, done = threading.Event(), threading.Event()

    def run():
        fact("holder", threading.get_native_id())
        compute(begun, done)

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    give_up(int(sys.argv[2]) if len(sys.argv) > 2 else 40)
    done.set()
    thread.join()


def alone():
    """No thread waits for the GIL."""
    for _ in range(2000):
        time.sleep(0)
    sum(range(100000))


def get():
    """A thread that calls CUDA waits for what another one puts into a queue."""
    items = queue.Queue()
    fact("waiter", threading.get_native_id())

    def put():
        fact("ender", threading.get_native_id())
        time.sleep(0.02)
        line_below("put-line")
        items.put(1)

    copy()
    thread = threading.Thread(target=put)
    thread.start()
    line_below("get-line")
    items.get()
    thread.join()


def join():
    """A thread that calls CUDA waits for the end of another one."""
    fact("waiter", threading.get_native_id())

    def run():
        fact("ender", threading.get_native_id())
        time.sleep(0.02)

    copy()
    thread = threading.Thread(target=run)
    thread.start()
    line_below("join-line")
    thread.join()


def fork():
    """The child of a process whose threads waited for the GIL has a GIL of its own."""
    early = sys.argv[1] == "fork-early"
    holder()
    child = os.fork()
    if child == 0:
        # CUDA does not work in the child of a process that used it.
        assert not early or cuda.cuInit(0) == 0
        said.clear()
        holder()
        # As a child ends that was made by `multiprocessing`, without what the parent registered.
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    fact("recorded", child if early else os.getpid())


SUB = """
import os, threading, time

def fact(name, value):
    with open(os.environ["STANDIN_FACTS"], "a") as facts:
        facts.write(f"{name} {value}\\n")

def compute(begun, until):
    fact("holder", threading.get_native_id())
    begun.set()
    counter = 0
    while not until.is_set():
        for _ in range(1000):
            counter += 1

def give_up():
    for _ in range(30):
        time.sleep(0.0001)

fact("waiter", threading.get_native_id())
begun, done = threading.Event(), threading.Event()
thread = threading.Thread(target=compute, args=(begun, done))
thread.start()
begun.wait()
give_up()
done.set()
thread.join()
"""


def sub():
    """Two interpreters with a GIL each, at the same time; each has a thread that computes."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    def run():
        one = interpreters.create()
        failure = interpreters.run_string(one, SUB)
        assert failure is None, failure
        interpreters.destroy(one)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


{"fork": fork, "fork-early": fork, "sub": sub, "holder": holder, "alone": alone, "get": get, "join": join}[sys.argv[1]]()
print("done")
