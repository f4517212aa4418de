"""What `train.py` is in the documentation: a program that computes, and calls CUDA's driver in between."""

import ctypes
import time

cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
until = time.thread_time() + 0.3
while time.thread_time() < until:
    sum(range(20000))
    cuda.cuStreamSynchronize(None)
