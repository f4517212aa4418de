#!/usr/bin/env python3
"""What CUPTI's kernel, copy and fill records alone cost a training step, by when CUPTI is attached. Needs a GPU, PyTorch and gcc.

    attach.py [ROUNDS [PAIRS]]    default: 15 rounds, each a process of each way, of 5 pairs of bursts

Ways: `bare`, which has no CUPTI; attached with the driver (`start`), or after the first steps (`late`). All processes are children of
one that has imported PyTorch, so that their code lies at the same addresses. A process takes turns: bursts of steps with records on
and off. `late` has bursts from before CUPTI was attached, too, and from after it was detached.

Prints how much longer a step takes than bare, by the processor's pace (real/pace.py), and for `late` also than before, with 95 %
intervals.
"""

import ctypes
import json
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "real")]
BURST, WARM_UP = 20, 40


def burst(step, pace):
    """The mean time of a step, in beats of the pace."""
    steps, beats = 0.0, pace.seconds
    for _ in range(2):
        step()
    for _ in range(BURST):
        begin = time.perf_counter()
        step()
        steps += time.perf_counter() - begin
        pace.beat()
    return steps / (pace.seconds - beats)


def train(way, library, pairs):
    """The bursts of a process, by what CUPTI does meanwhile."""
    import turns
    from pace import Pace

    tracer = ctypes.CDLL(library) if way != "bare" else None
    step, pace = turns.train(), Pace()
    for _ in range(WARM_UP):
        step()
    bursts = {}

    def take(name):
        bursts.setdefault(name, []).append(burst(step, pace))

    if way != "start":
        for _ in range(pairs):
            take("before")
    if way == "late":
        tracer.cupti_only_start()
    if tracer:
        for _ in range(pairs):
            take("on")
            tracer.cupti_only_pause()
            take("off")
            tracer.cupti_only_resume()
        tracer.cupti_only_end()
        for _ in range(pairs):
            take("after")
    return {name: statistics.mean(values) for name, values in bursts.items()}


def run(way, library, pairs):
    """What a child of that way found."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            if way == "start":
                os.environ["CUDA_INJECTION64_PATH"] = library
            with os.fdopen(writer, "w") as out:
                json.dump(train(way, library, pairs), out)
        except BaseException as failure:
            print(f"{way}: {failure!r}", file=sys.stderr)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as found:
        text = found.read()
    os.waitpid(child, 0)
    return json.loads(text)


def main(rounds, pairs):
    import torch  # noqa: F401 before the children are made
    from shares import build

    os.environ["CUPTI_ONLY"] = "operations"
    found = {"bare": [], "start": [], "late": []}
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        for _ in range(rounds):
            for way in random.sample(list(found), len(found)):
                found[way].append(run(way, f"{folder}/cupti_only.so", pairs))
    report(found)


def report(found):
    from intervals import interval

    def percent(values):
        mean, reach = interval([math.log(value) for value in values])
        low, middle, high = (math.expm1(value) for value in (mean - reach, mean, mean + reach))
        return f"{middle:+.1%} ({low:+.1%} to {high:+.1%})"

    bare = statistics.geometric_mean(process["before"] for process in found["bare"])
    print("| CUPTI attached | then | over bare | over before |\n|---|---|---|---|")
    for way, processes in found.items():
        for name in processes[0]:
            over_bare = percent([process[name] / bare for process in processes])
            over_before = percent([process[name] / process["before"] for process in processes]) if way == "late" else ""
            print(f"| {way} | {name} | {over_bare} | {over_before} |")


if __name__ == "__main__":
    if len(sys.argv) > 3 or not all(value.isdigit() for value in sys.argv[1:]):
        sys.exit(__doc__)
    given = list(map(int, sys.argv[1:]))
    main(*given, *[15, 5][len(given) :])
