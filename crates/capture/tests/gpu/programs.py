#!/usr/bin/env python3
"""Programs of PyTorch, CuPy and JAX, bare and recorded at both levels: each must say the same and end with the same status, and
what holds it up must be found under its name. Needs a GPU; programs of a package that is not there are passed over.

    crates/capture/tests/gpu/programs.py [NAME…]        default: all
    crates/capture/tests/gpu/programs.py --run NAME     runs a program, and nothing else

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))


# The programs. What they compute with is integers: the sums are the same each time.


def at_once(*works):
    """Runs each in a thread of its own; what they return."""
    results = [None] * len(works)

    def run(at, work):
        results[at] = work()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def torch_threads():
    """Streams and events of several threads."""
    import torch

    def work():
        stream, done = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(stream):
            total = torch.zeros(1 << 16, dtype=torch.int64, device="cuda")
            for step in range(500):
                total += torch.arange(1 << 16, device="cuda") * step
            done.record()
        done.synchronize()
        return total.sum().item()

    print(at_once(*[work] * 8))
    return 3


def torch_graph():
    """A graph that is captured in one thread and replayed while another launches."""
    import torch

    total, graph = torch.zeros(1024, dtype=torch.int64, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(10):
            total += 1

    def replay():
        for _ in range(200):
            graph.replay()
        torch.cuda.synchronize()
        return total.sum().item()

    def launch():
        with torch.cuda.stream(torch.cuda.Stream()):
            other = torch.ones(1024, dtype=torch.int64, device="cuda")
            for _ in range(2000):
                other = (other * 3 + 1) % 1009
            return other.sum().item()

    print(at_once(replay, launch))
    return 4


class Squares:
    """A data set whose rows say which process made them."""

    def __len__(self):
        return 256

    def __getitem__(self, at):
        return at * at


def torch_fork():
    """DataLoader's workers are forks of a process that uses CUDA."""
    import torch

    torch.ones(1, device="cuda")
    loader = torch.utils.data.DataLoader(Squares(), batch_size=16, num_workers=3, pin_memory=True)
    print([batch.cuda(non_blocking=True).sum().item() for batch in loader])
    return 5


def torch_compiled():
    """Kernels that Triton compiles, in graphs."""
    import torch

    @torch.compile(mode="reduce-overhead")
    def step(numbers):
        return ((numbers * 3 + 1) % 1009).cumsum(0) % 1013

    numbers = torch.arange(1 << 12, device="cuda")
    for _ in range(50):
        torch.compiler.cudagraph_mark_step_begin()
        numbers = step(numbers).clone()
    print(numbers.sum().item())
    return 6


def torch_profiled():
    """PyTorch's profiler uses CUPTI itself."""
    import torch

    numbers = torch.arange(1 << 16, device="cuda")
    with torch.profiler.profile() as profile:
        for step in range(200):
            numbers = (numbers * 3 + step) % 1009
        torch.cuda.synchronize()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print(numbers.sum().item(), len(kernels) >= 400)
    return 7


def in_child(answers):
    import torch

    answers.put(torch.arange(1 << 20, device="cuda").sum().item())


def torch_spawn():
    """Children that begin anew use CUDA, too."""
    import torch.multiprocessing

    context = torch.multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    children = [context.Process(target=in_child, args=(answers,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print([answers.get() for _ in children], [child.exitcode for child in children])
    return 6


def cupy_streams():
    """Streams of several threads, and a graph."""
    import cupy

    def work():
        with cupy.cuda.Stream(non_blocking=True) as stream:
            total = cupy.zeros(1 << 16, dtype=cupy.int64)
            for step in range(300):
                total += cupy.arange(1 << 16) % (step + 1)
            stream.synchronize()
            return int(total.sum())

    print(at_once(*[work] * 4))
    stream, total = cupy.cuda.Stream(non_blocking=True), cupy.zeros(64, dtype=cupy.int64)
    with stream:
        cupy.add(total, 1, out=total)
        stream.begin_capture()
        cupy.add(total, 1, out=total)
        graph = stream.end_capture()
        for _ in range(100):
            graph.launch(stream)
        stream.synchronize()
    print(int(total.sum()))


def jax_threads():
    """Compiled functions, called by several threads."""
    import jax

    step = jax.jit(lambda x: (x * 3 + 1) % 1009)

    def work():
        x = jax.numpy.arange(1 << 16)
        for _ in range(300):
            x = step(x)
        return int(x.sum())

    print(at_once(*[work] * 4))
    return 7


# Those that something holds up.


def copy_and_launch(own_streams, pinned):
    """For two seconds one thread copies to the host, and another launches."""
    import torch

    source, small = torch.ones(64 << 20, device="cuda"), torch.ones(1024, device="cuda")
    kept = torch.empty_like(source, device="cpu", pin_memory=True) if pinned else None
    source.cpu(), torch.sin(small)
    torch.cuda.synchronize()
    end = time.monotonic() + 2

    def stream():
        return torch.cuda.stream(torch.cuda.Stream() if own_streams else torch.cuda.default_stream())

    def copies():
        with stream():
            while time.monotonic() < end:
                to = kept if pinned else torch.empty_like(source, device="cpu")
                to.copy_(source)  # copies

    def launches():
        with stream():
            while time.monotonic() < end:
                torch.sin(small)  # launches

    at_once(copies, launches)


def stall():
    copy_and_launch(own_streams=False, pinned=False)


def own_streams():
    copy_and_launch(own_streams=True, pinned=False)


def pinned():
    copy_and_launch(own_streams=True, pinned=True)


def norm():
    """cuBLAS's norm writes its result to the host."""
    import cupy
    import numpy
    from cupy_backends.cuda.libs import cublas

    x, result = cupy.ones(1 << 28, dtype=cupy.float32), numpy.zeros(1, dtype=numpy.float32)
    handle = cupy.cuda.device.get_cublas_handle()
    for _ in range(200):
        cublas.snrm2(handle, x.size, x.data.ptr, 1, result.ctypes.data)  # norms
    print(result[0])


def first_use():
    """Libraries are used for the first time beside launches."""
    import torch

    small, over = torch.ones(1024, device="cuda"), threading.Event()
    torch.sin(small)

    def load():
        time.sleep(0.1)
        square = torch.rand(64, 64, device="cuda")
        for use in [torch.linalg.svd, torch.fft.fft2, torch.sort, torch.linalg.inv]:
            use(square)  # loads
        over.set()

    def launches():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not over.is_set():
                torch.sin(small)  # launches

    at_once(load, launches)


# What must be found.


def line(marker):
    """The lines that end with a comment of that word."""
    return [at for at, text in enumerate(HERE.read_text().splitlines(), 1) if text.endswith(f"# {marker}")]


def is_at(place, marker):
    return any(each["file"] == str(HERE) and each["line"] in line(marker) for each in place)


def launches_wait_for_copies(finding):
    holder = finding["holder"] or {}
    return "Launch" in finding["waiter"]["call"] and "Memcpy" in holder.get("call", "")


def is_stall(findings, level):
    first = findings[0]
    if not first["holder"]:
        return False
    certain = (first["cause"], first["evidence"], first["confidence"]) == ("driver-lock", "lock", "certain")
    lines = is_at(first["waiter"]["where"], "launches") and is_at(first["holder"]["where"], "copies")
    copy = "DtoH pageable 268435456 B" in first["holder"]["detail"]
    return certain and lines and copy and launches_wait_for_copies(first) and first["share"] >= 0.9


def is_no_stall(findings, level):
    return not any(map(launches_wait_for_copies, findings))


def is_hidden(findings, level):
    hidden = [each for each in findings if each["cause"] == "hidden-sync" and is_at(each["where"], "norms")]
    # That a copy waits for a kernel is seen where the GPU's work is recorded.
    return level == "light" or any(each["confidence"] == "certain" and each["count"] >= 200 for each in hidden)


def is_first_use(findings, level):
    waits = [each for each in findings if each["cause"] == "driver-lock" and each["holder"]]
    loads = [each["holder"]["where"] for each in waits if "Load" in each["holder"]["call"]]
    loads += [each["where"] for each in findings if each["cause"] == "first-use"]
    return any(is_at(place, "loads") for place in loads)


def anything(findings, level):
    return True


PROGRAMS = {
    "torch_threads": (torch_threads, anything),
    "torch_graph": (torch_graph, anything),
    "torch_fork": (torch_fork, anything),
    "torch_spawn": (torch_spawn, anything),
    "torch_compiled": (torch_compiled, anything),
    "torch_profiled": (torch_profiled, anything),
    "cupy_streams": (cupy_streams, anything),
    "jax_threads": (jax_threads, anything),
    "stall": (stall, is_stall),
    "own_streams": (own_streams, is_no_stall),
    "pinned": (pinned, is_no_stall),
    "norm": (norm, is_hidden),
    "first_use": (first_use, is_first_use),
}
PACKAGES = {"cupy_streams": "cupy", "norm": "cupy", "jax_threads": "jax"}


def outcome(*command):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    return done.stdout, done.returncode, done.stderr


def first_words(explained):
    """The finding that counts most, in a line."""
    for finding in explained["findings"][:1]:
        holder = f" for {finding['holder']['call']}" if finding["holder"] else ""
        waiter, share = finding["waiter"]["call"], finding["share"] or 0
        lost = f"{finding['lost_ns'] / 1e6:.0f} ms ({share:.0%}) in {finding['count']} {waiter}{holder}"
        return f"{finding['cause']}, {finding['evidence']}, {finding['confidence']}: {lost}"
    return "nothing found"


def is_well(name, level, bare, trace):
    """Runs a program recorded; whether it is as it was, and the right thing is found."""
    program = [sys.executable, str(HERE), "--run", name]
    record = [HOLDUP, "record", "--quiet", "--level", level, "--output", trace, "--"]
    said, status, errors = outcome(*record, *program)
    if (said, status) != bare[:2]:
        print(f"{name} {level}: DIFFERS: {bare[:2]} bare, {(said, status)} recorded; {errors}")
        return False
    explained = json.loads(outcome(HOLDUP, "explain", trace, "--format", "json", "--all")[0])
    header, found = explained["trace"], PROGRAMS[name][1](explained["findings"], level)
    counts = f"{header['calls']:,} calls, {header['lost_records']} lost"
    print(f"{name} {level}: {'as bare' if found else 'NOT FOUND'}, status {status}, {counts}; {first_words(explained)}")
    return found and not header["lost_records"]


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        sys.exit(PROGRAMS[arguments[1]][0]())
    unknown = [name for name in arguments if name not in PROGRAMS]
    if unknown:
        sys.exit(__doc__)
    well = True
    for name in arguments or PROGRAMS:
        package = PACKAGES.get(name, "torch")
        if importlib.util.find_spec(package) is None:
            print(f"{name}: passed over: no {package} here")
            continue
        bare = outcome(sys.executable, str(HERE), "--run", name)
        if "Traceback" in bare[2]:
            sys.exit(f"{name} does not run here: {bare[2]}")
        with tempfile.TemporaryDirectory() as folder:
            for level in ["light", "full"]:
                well &= is_well(name, level, bare, f"{folder}/{level}.holdup")
        sys.stdout.flush()
    sys.exit(not well)


if __name__ == "__main__":
    main()
