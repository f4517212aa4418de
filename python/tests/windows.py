"""A program that uses CUDA, the stand-in or the real driver, and opens windows."""

import ctypes
import sys

import holdup

FILLS = 5


def fill(words):
    """So many fills of a size, in words: what was recorded shows by their sizes."""
    memory = (ctypes.c_char * 4096)()
    for _ in range(FILLS):
        cuda.cuMemsetD32Async(ctypes.c_uint64(ctypes.addressof(memory)), 7, ctypes.c_size_t(words), None)


cuda = ctypes.CDLL("libcuda.so.1")
if "early" not in sys.argv:
    assert cuda.cuInit(0) == 0
    fill(1)

with holdup.record("first.holdup") as window:
    assert cuda.cuInit(0) == 0
    for _ in range(4):
        fill(2)
        window.step()
fill(3)


@holdup.record("second.holdup")
def second():
    with holdup.span("inner"):
        fill(4)


second()
second()
fill(5)
print("done")
