"""Children of Python's multiprocessing, which launch and end: by os._exit where they are forks."""

import ctypes
import multiprocessing
import sys


def launches(count):
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    for _ in range(count):
        assert cuda.cuLaunchKernel(None, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=launches, args=(count,)) for count in (10, 20)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print(*(child.exitcode for child in children))
