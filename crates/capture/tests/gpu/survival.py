#!/usr/bin/env python3
"""Programs that other recorders do not survive, on a GPU, bare and recorded: each must say the same and end with the same status,
in a time that is not more than twice as long, and without a loss. What a machine lacks is passed over.

    survival.py [NAME…]         default: all
    survival.py --run NAME      runs a program, and nothing else

HOLDUP    the holdup to run (default: target/release/holdup)
TIMES     how often recording is started and stopped in `switched` (default: 2000)
"""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))
TIMES = int(os.environ.get("TIMES", "2000"))
# Longer than any program here takes.
PATIENCE = 300


# The programs. What they compute with is integers: the sums are the same each time.


def numbers():
    import torch

    return torch.arange(1 << 14, device="cuda")


def plain():
    import torch

    total = numbers()
    for step in range(2000):
        total = (total * 3 + step) % 1009
    print(total.sum().item())
    torch.cuda.synchronize()
    return 3


def profiled():
    """PyTorch's profiler uses CUPTI itself, three times, with work between."""
    import torch

    total, seen = numbers(), []
    for _ in range(3):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for step in range(200):
                total = (total * 3 + step) % 1009
            torch.cuda.synchronize()
        kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        seen.append(len(kernels) >= 400)
        for step in range(200):
            total = (total * 5 + step) % 1013
    print(total.sum().item(), seen)
    return 4


def monitored():
    """PyTorch's own CUPTI monitor, in the versions that have it."""
    import torch
    from torch.profiler._cupti import monitor

    with monitor.Monitor():
        total = numbers()
        for step in range(200):
            total = (total * 3 + step) % 1009
        torch.cuda.synchronize()
    print(total.sum().item())
    return 4


def compiled():
    """Kernels that Triton compiles in processes of its own, in graphs."""
    import torch

    @torch.compile(mode="reduce-overhead")
    def one(total):
        return ((total * 3 + 1) % 1009).cumsum(0) % 1013

    @torch.compile
    def other(total):
        return (total * total + 7) % 1009 + total.flip(0)

    total = numbers()
    for _ in range(50):
        torch.compiler.cudagraph_mark_step_begin()
        total = other(one(total).clone()) % 1009
    print(total.sum().item())
    return 5


def in_child(at, answers):
    answers.put((at, numbers().sum().item()))


def in_forked_child(at, answers):
    answers.put((at, at * at))


def children(method, work):
    import multiprocessing

    context = multiprocessing.get_context(method)
    answers = context.Queue()
    processes = [context.Process(target=work, args=(at, answers)) for at in range(3)]
    for process in processes:
        process.start()
    print(sorted(answers.get() for _ in processes))
    for process in processes:
        process.join()
    print([process.exitcode for process in processes], numbers().sum().item())


def forked():
    """Forks of a process that uses CUDA, which do not."""
    numbers()
    children("fork", in_forked_child)
    return 6


def forked_first():
    """Forks of a process that does not use CUDA yet, which do."""
    children("fork", in_child)
    return 6


def spawned():
    numbers()
    children("spawn", in_child)
    return 6


def forkserver():
    numbers()
    children("forkserver", in_child)
    return 6


def switched():
    """Recording is switched by signals while four threads launch, replay graphs and copy."""
    import torch

    @torch.compile(mode="reduce-overhead")
    def one(total):
        return ((total * 3 + 1) % 1009).cumsum(0) % 1013

    def graph():
        total = torch.zeros(1024, dtype=torch.int64, device="cuda")
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            for _ in range(10):
                total += 1
        return total, captured

    total, captured = graph()
    # The compiler runs its graph eagerly, then captures it, while no thread replays another.
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        ready = one(numbers()).sum().item()
    over, done = threading.Event(), [0] * 4

    def replay(at):
        with torch.cuda.stream(torch.cuda.Stream()):
            captured.replay()
            torch.cuda.current_stream().synchronize()

    def launch(at):
        with torch.cuda.stream(torch.cuda.Stream()):
            other = numbers()
            for step in range(50):
                other = (other * 3 + step) % 1009
            assert other.sum().item() > 0

    def copy(at):
        assert numbers().cpu().sum().item() == (1 << 13) * ((1 << 14) - 1)

    def work(at):
        while not over.is_set():
            [replay, launch, copy, launch][at](at)
            done[at] += 1

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    # Without a recorder the parent is none that takes the signal.
    recorder = os.getppid() if os.environ.get("HOLDUP_SPOOL") else 0
    for _ in range(2 * TIMES):
        if recorder:
            os.kill(recorder, signal.SIGUSR2)
        # The main thread's compiled graph runs in both states.
        torch.compiler.cudagraph_mark_step_begin()
        assert one(numbers()).sum().item() == ready
        time.sleep(0.002)
    over.set()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    print(ready, all(done))
    return 7


PROGRAMS = {
    each.__name__: each
    for each in [plain, profiled, monitored, compiled, forked, forked_first, spawned, forkserver, switched]
}


# How they are run.


class Servers:
    """MPS's daemon, while the program runs."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}

    def __enter__(self):
        for name in self.environment.values():
            os.makedirs(name)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env=os.environ | self.environment, check=True)
        return self.environment

    def __exit__(self, *_):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=os.environ | self.environment)


def own(name):
    return [sys.executable, str(HERE), "--run", name]


def record(level, trace, *options):
    return [HOLDUP, "record", "--quiet", "--force", "--level", level, *options, "--output", trace, "--"]


def run(command, environment):
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=PATIENCE)
    except subprocess.TimeoutExpired as late:
        return "HANGS", None, str(late.stderr)[-2000:], PATIENCE
    return done.stdout, done.returncode, done.stderr, time.monotonic() - begin


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def lacks(name):
    """Why a program cannot run here; nothing if it can."""
    if name == "monitored" and not has("torch.profiler._cupti"):
        return "this PyTorch has no CUPTI monitor"
    tools = {"sanitized": "compute-sanitizer", "served": "nvidia-cuda-mps-control"}
    if name in tools and not shutil.which(tools[name]):
        return f"no {tools[name]}"
    return None


def compare(name, level, bare, recorded, trace):
    """Whether a recorded run was as the bare one."""
    said = f"{name} {level}: {bare[3]:.1f} s bare, {recorded[3]:.1f} s recorded"
    if recorded[:2] != bare[:2]:
        print(f"{said}: DIFFERS: {bare[:2]} bare, {recorded[:2]} recorded; {recorded[2][-3000:]}")
        return False
    explained = run([HOLDUP, "explain", trace, "--format", "json"], {})
    header = json.loads(explained[0])["trace"] if explained[1] == 0 else {"calls": 0, "ops": 0, "lost_records": "?"}
    counts = f"{header['calls']:,} calls, {header['ops']:,} operations, {header['lost_records']} lost"
    late = "" if recorded[3] <= 2 * bare[3] + 5 else ", TOO LATE"
    print(f"{said}, status {recorded[1]}, {counts}{late}; {explained[2][-300:]}", flush=True)
    return not header["lost_records"] and not late


def test(name, folder):
    program = {"sanitized": "plain", "nested": "plain", "served": "forked_first"}.get(name, name)
    around = ["compute-sanitizer", "--error-exitcode", "9"] if name == "sanitized" else []
    well = True
    with Servers(folder) if name == "served" else open(os.devnull) as environment:
        environment = environment if name == "served" else {}
        bare = run([*around, *own(program)], environment)
        if "Traceback" in bare[2] or bare[0] == "HANGS":
            print(f"{name}: does not run here bare: {bare[2][-500:]}")
            return True
        for level in ["light", "full"]:
            trace = f"{folder}/{name}-{level}.holdup"
            options = ["--max-size", "200MB", "--keep", "last"] if name == "switched" else []
            command = [*record(level, trace, *options), *around, *own(program)]
            if name == "nested":
                inner = record(level, f"{folder}/inner.holdup")
                command = [*record(level, trace), *inner, *own(program)]
                # The inner one records the program.
                trace = f"{folder}/inner.holdup"
            well &= compare(name, level, bare, run(command, environment), trace)
    return well


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        sys.exit(PROGRAMS[arguments[1]]())
    names = [*PROGRAMS, "sanitized", "nested", "served"]
    if any(name not in names for name in arguments):
        sys.exit(__doc__)
    well = True
    for name in arguments or names:
        why = lacks(name)
        if why:
            print(f"{name}: passed over: {why}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            well &= test(name, folder)
        sys.stdout.flush()
    sys.exit(not well)


if __name__ == "__main__":
    main()
