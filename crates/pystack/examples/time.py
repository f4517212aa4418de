"""Times of a walk: time.py LIBRARY"""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])
lib.pystack_time.restype = ctypes.c_int64


def deep(frames):
    """A stack of so many functions, this module's frame included, that takes the times."""
    functions = "".join(f"def function_{i}(walk):\n  x = 1\n  return function_{i - 1}(walk)\n" for i in range(1, frames - 1))
    source = "def function_0(walk):\n  return time(2000, 1000, walk)\n" + functions
    names = {"time": lib.pystack_time}
    exec(compile(source, "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", "exec"), names)
    return names[f"function_{frames - 2}"]


print(sys.version.split()[0], end="")
for frames in (6, 30):
    call = deep(frames)
    print(f"; {frames} frames: walk {call(True)} ns, places {call(False)} ns", end="")
print()
