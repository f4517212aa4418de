"""A Python program whose copies are slow, called from places that it says itself."""

import ctypes
import inspect
import os
import threading

cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0


def fact(name, value):
    with open(os.environ["STANDIN_FACTS"], "a") as facts:
        facts.write(f"{name} {value}\n")


class Worker:
    def copy(self):
        there, back = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
        fact("line", inspect.currentframe().f_lineno + 1)
        cuda.cuMemcpyDtoHAsync_v2(back, ctypes.c_uint64(ctypes.addressof(there)), ctypes.c_size_t(64), None)

    def run(self, name):
        fact(name, threading.get_native_id())
        fact("caller", inspect.currentframe().f_lineno + 1)
        self.copy()


Worker().run("main")
thread = threading.Thread(target=Worker().run, args=("thread",))
thread.start()
thread.join()
print("done")
