"""Python's own samplers interrupt or look at the program while its threads make calls by ctypes: `faulthandler` from a
thread without the interpreter's lock, `signal.setitimer` with a handler in Python. The word names one.
Expected: it ends as bare, and every call is recorded.
"""

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time

library = ctypes.CDLL("libledger.so")
handled = 0


def handles(signum, frame):
    global handled
    handled += 1
    library.adversary_calls(1)


def works():
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        library.adversary_calls(20)
        library.adversary_slow_call(1)
        sum(range(1000))


def in_threads():
    threads = [threading.Thread(target=works) for _ in range(4)]
    for thread in threads:
        thread.start()
    works()
    for thread in threads:
        thread.join()


def meets(barrier):
    for _ in range(8):
        barrier.wait()
        library.adversary_calls(20)
        library.adversary_slow_call(12)


def dumps():
    """Each dump falls into calls: Python itself must not change the frames that it reads."""
    barrier = threading.Barrier(5)
    threads = [threading.Thread(target=meets, args=(barrier,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    with open(os.devnull, "w") as nowhere:
        for _ in range(8):
            barrier.wait()
            faulthandler.dump_traceback_later(0.006, file=nowhere)
            library.adversary_slow_call(12)
            faulthandler.cancel_dump_traceback_later()
    for thread in threads:
        thread.join()


def sampled():
    signal.signal(signal.SIGALRM, handles)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    in_threads()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert handled


def forks():
    for _ in range(5):
        child = os.fork()
        if child == 0:
            library.adversary_child()
            library.adversary_calls(5)
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    in_threads()


def switches():
    sys.setswitchinterval(1e-6)
    in_threads()


library.adversary_begin()
{"dumps": dumps, "sampled": sampled, "forks": forks, "switches": switches}[sys.argv[1]]()
print("done")
