#!/usr/bin/env python3
"""What recording costs a training step by when CUPTI is attached, while it records and while it is switched off again. Needs a GPU,
PyTorch and gcc.

    attach.py HOLDUP [ROUNDS [PAIRS [WAY…]]]    default: 4 rounds, each a process of each way, of 20 pairs of bursts

Ways: `bare`; CUPTI's kernel, copy and fill records alone, attached with the driver (`start`), with the context (`context`) or after
the first steps (`late`); a level of the recorder. Each process takes turns: bursts of steps with recording off and on.

Prints the time of a step with recording off as a multiple of bare, both by the processor's pace (real/pace.py), and how much longer
one takes with recording on, with 95 % intervals.
"""

import ctypes
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "real")]
BURST, WARM_UP = 20, 40


def burst(step, pace):
    """The mean time of a step, and of the pace's beats beside it, s."""
    steps, beats = 0.0, pace.seconds
    for _ in range(2):
        step()
    for _ in range(BURST):
        begin = time.perf_counter()
        step()
        steps += time.perf_counter() - begin
        pace.beat()
    return steps / BURST, (pace.seconds - beats) / BURST


def train(way, library, pairs):
    """Prints the bursts of a process: with recording off, then on, and so on."""
    import torch
    import turns
    from pace import Pace

    tracer = ctypes.CDLL(library) if way in ("start", "context", "late") else None
    if way == "context":
        torch.zeros(1, device="cuda")
        tracer.cupti_only_start()
    step, pace = turns.train(), Pace()
    for _ in range(WARM_UP):
        step()
    if way == "late":
        tracer.cupti_only_start()
        step()
    if tracer:
        tracer.cupti_only_pause()

    def switch(to):
        if tracer:
            [tracer.cupti_only_pause, tracer.cupti_only_resume][to]()
        elif way != "bare":
            os.kill(os.getppid(), signal.SIGUSR2)
            time.sleep(0.05)

    bursts = []
    for _ in range(pairs):
        off = burst(step, pace)
        switch(True)
        bursts.append((off, burst(step, pace)))
        switch(False)
    print(json.dumps(bursts), flush=True)


def main(holdup, rounds, pairs, ways):
    from shares import build

    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        library = f"{folder}/cupti_only.so"
        record = [holdup, "record", "--quiet", "--force", "--after", "signal", "-o", f"{folder}/attach.holdup", "--level"]

        def run(way):
            program = [sys.executable, __file__, "--train", way, library, str(pairs)]
            variables = {"CUPTI_ONLY": "operations"} | ({"CUDA_INJECTION64_PATH": library} if way == "start" else {})
            command = program if way in ("bare", "start", "context", "late") else [*record, way, "--", *program]
            output = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True).stdout
            return json.loads(output)

        found = {way: [] for way in ways}
        for _ in range(rounds):
            for way in random.sample(ways, len(ways)):
                found[way].append(run(way))
    report(found)


def report(found):
    from intervals import interval

    def percent(values):
        mean, reach = interval([math.log(value) for value in values])
        low, middle, high = (math.expm1(value) for value in (mean - reach, mean, mean + reach))
        return f"{middle:+.1%} ({low:+.1%} to {high:+.1%})"

    def by_pace(process, which):
        return statistics.mean(pair[which][0] for pair in process) / statistics.mean(pair[which][1] for pair in process)

    bare = statistics.mean(by_pace(process, 0) for process in found["bare"])
    print("| | off, ms | off, by the pace, over bare | on over off |\n|---|---:|---|---|")
    for way, processes in found.items():
        off = statistics.mean(pair[0][0] for process in processes for pair in process) * 1e3
        over_bare = percent([by_pace(process, 0) / bare for process in processes])
        on = percent([pair[1][0] / pair[0][0] for process in processes for pair in process])
        print(f"| {way} | {off:.2f} | {over_bare} | {on} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        from shares import arguments

        main(*arguments(__doc__, [4, 20], ["bare", "start", "context", "late", "full"]))
