#!/usr/bin/env python3
"""What recording costs a training loop, by the library that the processor time is spent in. A machine's processors may be half
slower for minutes: that slows all code alike, so each process is compared with its own code of PyTorch, Python and cuDNN, which
recording does not change. Needs a GPU, PyTorch and gcc.

    shares.py HOLDUP [ROUNDS [STEPS [WAY…]]]    default: 6 rounds of 300 steps; a round is a process of each way, in any order

Ways are `bare`, a level with further options after commas, as `light,--sample-rate,0`, and `cupti`: CUPTI's kernel, copy and fill
records alone, with attributes as in `cupti,9=0`. Default: bare light full cupti.

Prints the processor time of each way as a multiple of its own code's, how much more that is than bare, and the parts of it that the
recorder and CUPTI have.
"""

import collections
import ctypes
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "real")]
OWN = ("libtorch", "libc10", "libpython", "python", "libcudnn", "libcublas")
WARM_UP = 60


def train(library, out, steps):
    """Trains on one processor: the thread of the steps backward and the program's own take turns anyway."""
    import turns

    step = turns.train()
    first, *others = sorted(os.sched_getaffinity(0))
    for at in range(steps + WARM_UP):
        if at == WARM_UP // 2:
            for task in pathlib.Path("/proc/self/task").iterdir():
                is_working = int(task.name) == os.getpid() or (task / "comm").read_text().startswith("pt_autograd")
                os.sched_setaffinity(int(task.name), {first} if is_working else set(others) or {first})
        if at == WARM_UP:
            samples = ctypes.CDLL(library)
            samples.samples_begin()
        step()
    samples.samples_end(out.encode())


def part(libraries, *beginnings):
    return sum(count for name, count in libraries.items() if name.startswith(beginnings))


def build(folder):
    """The sampler and the tracer; of CUPTI the one that PyTorch brings."""
    import torch

    cupti = next(pathlib.Path(torch.__file__).parents[1].glob("nvidia/*/lib/libcupti.so.*"))
    cuda = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    common = ["gcc", "-O2", "-shared", "-fPIC"]
    subprocess.run([*common, "-o", f"{folder}/samples.so", HERE / "overhead/samples.c"], check=True)
    tracer = [f"-I{cuda}/include", f"-I{cuda}/extras/CUPTI/include", HERE / "overhead/cupti_only.c"]
    links = [f"-L{cupti.parent}", f"-l:{cupti.name}", f"-Wl,-rpath,{cupti.parent}"]
    subprocess.run([*common, "-o", f"{folder}/cupti_only.so", *tracer, *links], check=True)


def main(holdup, rounds, steps, ways):
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        out = f"{folder}/samples"
        program = [sys.executable, __file__, "--train", f"{folder}/samples.so", out, str(steps)]
        record = [holdup, "record", "--quiet", "--force", "-o", f"{folder}/shares.holdup", "--level"]
        tracer = {"CUDA_INJECTION64_PATH": f"{folder}/cupti_only.so", "CUPTI_ONLY": "operations"}

        def run(way):
            kind, *options = way.split(",")
            variables = tracer | {"CUPTI_ATTRIBUTES": ",".join(options)} if kind == "cupti" else {}
            command = program if kind in ("bare", "cupti") else [*record, kind, *options, "--", *program]
            subprocess.run(command, env=os.environ | variables, check=True)
            return collections.Counter(pathlib.Path(out).read_text().splitlines())

        found = collections.defaultdict(list)
        for _ in range(rounds):
            for way in random.sample(ways, len(ways)):
                found[way].append(run(way))
        report({way: found[way] for way in ways}, rounds, steps)


def report(found, rounds, steps):
    from intervals import student

    multiples = {way: [all_of.total() / part(all_of, *OWN) for all_of in processes] for way, processes in found.items()}
    print(f"{rounds} processes of each kind, {steps} steps\n")
    print("| | processor time, of its own code | more than bare | the recorder | CUPTI |\n|---|---:|---:|---:|---:|")
    for way, values in multiples.items():
        bare, mean = statistics.mean(multiples["bare"]), statistics.mean(values)
        spread = [statistics.stdev(of) / math.sqrt(rounds) / statistics.mean(of) for of in (values, multiples["bare"])]
        reach = student(2 * rounds - 2) * math.hypot(*spread)
        more = "" if way == "bare" else f"{mean / bare - 1:+.1%} ± {reach:.1%}"
        together = sum(found[way], collections.Counter())
        shares = [part(together, name) / together.total() for name in ("libholdup", "libcupti")]
        print(f"| {way} | {mean:.3f} | {more} | {shares[0]:.1%} | {shares[1]:.1%} |")


def arguments(doc, counts, ways):
    """The holdup, two numbers and the ways, from the command line; exits with `doc` where it is another."""
    given = sys.argv[2:4]
    if len(sys.argv) < 2 or not all(value.isdigit() for value in given):
        sys.exit(doc)
    return sys.argv[1], *map(int, given), *counts[len(given) :], sys.argv[4:] or ways


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(*arguments(__doc__, [6, 300], ["bare", "light", "full", "cupti"]))
