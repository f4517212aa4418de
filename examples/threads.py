#!/usr/bin/env python3
"""Threads that wait for something else than a GPU: each program loses time for one reason outside of CUDA calls. It needs CUDA's driver, and
no other package.

    holdup record python examples/threads.py gil

PROGRAM   gil                 a thread computes and holds Python's lock, which the thread that calls CUDA needs
          lock                a thread computes under a lock of the program that the other thread needs
          no-cpu              both threads' process may use one processor, which another process uses, too
          no-demand           the thread that calls CUDA waits for connections
          kernel-build        the thread that calls CUDA writes a kernel for each length, and loads it
          data-loading        it makes its next batch itself, in a function named as that of PyTorch's loader
          feeding             it lays its next batch out for the GPU, in a function named as that of JAX
          file-writing        it writes what it has to disk
          file-reading        it reads what it needs from a file
          garbage-collection  it collects garbage among many objects that live long
"""

import ctypes
import functools
import gc
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = 1


class Cuda:
    """A thread's context on the first GPU, in which nothing runs."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.check(self.driver.cuInit(0))

    def create(self):
        self.check(self.driver.cuCtxCreate_v2(ctypes.byref(ctypes.c_void_p()), 0, 0))

    def load(self, kernel):
        module = ctypes.c_void_p()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(module), kernel.encode()))

    def synchronize(self):
        self.check(self.driver.cuStreamSynchronize(None))

    @staticmethod
    def check(result):
        if result:
            sys.exit(f"a call of the driver failed: error {result}")


def compute(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(2000))


def gil(cuda, until):
    def serve():
        cuda.create()
        while time.monotonic() < until:
            cuda.synchronize()
            sum(range(20000))

    return serve, lambda: compute(SECONDS)


def lock(cuda, until):
    shared = threading.Lock()

    def serve():
        cuda.create()
        while time.monotonic() < until:
            cuda.synchronize()
            with shared:
                pass
            time.sleep(0.001)

    def hold():
        while time.monotonic() < until:
            with shared:
                compute(0.01)
            time.sleep(0.001)

    return serve, hold


def no_cpu(cuda, until):
    processor = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    other = subprocess.Popen([sys.executable, "-c", f"import time\nwhile time.time() < {time.time() + SECONDS}: pass"])

    def serve():
        cuda.create()
        while time.monotonic() < until:
            cuda.synchronize()
            sum(range(20000))

    return serve, other.wait


def no_demand(cuda, until):
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        cuda.create()
        while time.monotonic() < until:
            cuda.synchronize()
            server.accept()[0].close()

    def ask():
        while time.monotonic() < until + 0.2:
            socket.create_connection(server.getsockname()).close()
            time.sleep(0.1)

    return serve, ask


def kernel_build(cuda, until):
    def written(length):
        compute(0.01)
        return f".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry of_{length}() {{ ret; }}\n"

    def serve():
        cuda.create()
        length = 0
        while time.monotonic() < until:
            length += 1
            cuda.load(written(length))
            cuda.synchronize()

    return (serve,)


def within(file, function):
    """A function that computes for 10 ms, of a library's file and name: no library is needed."""
    names = {"compute": compute}
    exec(compile(f"def {function}():\n    compute(0.01)", file, "exec"), names)
    return names[function]


def after(work):
    """The program of a thread that does some work before each of its calls."""

    def program(cuda, until):
        def serve():
            cuda.create()
            while time.monotonic() < until:
                work()
                cuda.synchronize()

        return (serve,)

    return program


def write():
    with tempfile.TemporaryFile() as file:
        file.write(bytes(1 << 22))
        file.flush()
        os.fsync(file.fileno())


@functools.cache
def table():
    file = tempfile.TemporaryFile()
    file.write(bytes(1 << 26))
    file.flush()
    os.fsync(file.fileno())
    return file


def read():
    table().seek(0)
    os.posix_fadvise(table().fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    table().read()


LIVING = []


def collect():
    if not LIVING:
        LIVING.extend([] for _ in range(500_000))
    gc.collect()


def main():
    programs = {
        "gil": gil,
        "lock": lock,
        "no-cpu": no_cpu,
        "no-demand": no_demand,
        "kernel-build": kernel_build,
        "data-loading": after(within("torch/utils/data/dataloader.py", "_next_data")),
        "feeding": after(within("jax/_src/dispatch.py", "_device_put")),
        "file-writing": after(write),
        "file-reading": after(read),
        "garbage-collection": after(collect),
    }
    if len(sys.argv) != 2 or sys.argv[1] not in programs:
        sys.exit(f"threads.py: expected one of {', '.join(programs)}")
    cuda = Cuda()
    works = programs[sys.argv[1]](cuda, time.monotonic() + SECONDS)
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
