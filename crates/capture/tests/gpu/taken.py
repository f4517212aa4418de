#!/usr/bin/env python3
"""Copies through addresses that a program took before it initialized the driver, in every way in which it can, are all
recorded, on a real driver; and calls from code made at run time say where they come from: a trampoline's, and Numba's.
Needs a GPU and a C++ compiler with CUDA's header (nvcc, or CXX and CUDA_HOME); Numba's program also numba and cupy.

    crates/capture/tests/gpu/taken.py

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import collections
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))
WAYS = ["name", "table", "constructor", "dlsym", "next", "default", "dlsym-of-libc", "dlvsym-of-libc", "walking", "address", "jit"]


def outcome(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.stdout, done.returncode, done.stderr


def compiled(folder):
    """taken.cpp, linked with the driver (with CUDA's stub of it, for the compiler)."""
    program, source = folder / "taken", HERE.with_name("taken.cpp")
    if shutil.which("nvcc"):
        said = outcome("nvcc", "-g", "-O1", "-o", program, source, "-lcuda", "-ldl")
    else:
        home = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
        search = [f"-I{home}/include", f"-L{home}/lib64/stubs", "-lcuda", "-ldl"]
        said = outcome(os.environ.get("CXX", "c++"), "-g", "-O1", "-o", program, source, *search)
    if said[1]:
        sys.exit(f"taken.cpp cannot be built: {said[2]}")
    return program


def calls(trace):
    """How often each function of the driver was called."""
    lines = outcome(HOLDUP, "calls", trace, "--format", "json")[0].splitlines()
    return collections.Counter(json.loads(line)["name"].removesuffix("_v2") for line in lines)


def is_well(what, trace, wanted, *program):
    """Runs a program bare and recorded; whether it says the same, and its copies are recorded with a place of `wanted`."""
    well = True
    bare = outcome(*program)
    for level in ["light", "full"]:
        said = outcome(HOLDUP, "record", "--quiet", "--force", "--level", level, "--output", trace, "--", *program)
        copies = calls(trace)["cuMemcpyDtoH"]
        places = outcome(HOLDUP, "where", "cuMemcpyDtoH", trace)[0]
        found = said[:2] == bare[:2] and copies == 10 and (wanted is None or wanted in places)
        print(f"{what} {level}: {'well' if found else 'NOT WELL'}: {copies} of 10 copies, status {said[1]} ({bare[1]} bare)")
        if not found:
            print(said[2], places)
        well &= found
    return well


def numba():
    """Ten slow copies from code that Numba compiled."""
    import ctypes

    import cupy
    import numba
    import numpy

    copy = ctypes.CDLL("libcuda.so.1").cuMemcpyDtoH_v2
    copy.argtypes, copy.restype = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t], ctypes.c_int

    @numba.njit(debug=True)
    def compiled_copies(to, source, bytes):
        failures = 0
        for _ in range(10):
            failures += copy(to.ctypes, source, bytes)
        return failures

    source, to = cupy.ones(16 << 20, dtype=cupy.int32), numpy.zeros(16 << 20, dtype=numpy.int32)
    cupy.cuda.Device().synchronize()
    print(compiled_copies(to, source.data.ptr, to.nbytes), int(to.sum()))


def main():
    if sys.argv[1:] == ["--numba"]:
        return numba()
    well = True
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program, trace = compiled(folder), folder / "a.holdup"
        for way in WAYS:
            well &= is_well(way, trace, "taken.cpp" if way == "jit" else None, program, way)
        if all(importlib.util.find_spec(package) for package in ["numba", "cupy"]):
            well &= is_well("numba", trace, "compiled_copies", sys.executable, HERE, "--numba")
        else:
            print("numba: passed over: no numba or no cupy here")
    sys.exit(not well)


if __name__ == "__main__":
    main()
