#!/usr/bin/env python3
"""What recording costs a program, within one process: bursts of steps with recording off and on take turns, so that what differs
between two processes does not count. Off means that the wrapped calls are there and record nothing. Needs a GPU and PyTorch.

    holdup record -q --after signal --level full -o a.holdup -- python3 benches/turns.py train|generate|beside [PAIRS]

Prints the medians of a step, and how much longer one takes with recording on (mean over pairs, with its 95 % interval). SIGUSR2 to
`holdup record`, the parent, switches.
"""

import math
import os
import pathlib
import signal
import statistics
import sys
import threading
import time

import torch

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent / "real")]
from intervals import interval

BURST, WARM_UP = 25, 40
STOP = threading.Event()


def train():
    """A step of a training: about 500 launches of 20 µs each on the host."""
    import train as program

    torch.manual_seed(0)
    model = program.network().cuda()
    optimizer, loss = torch.optim.SGD(model.parameters(), 0.01), torch.nn.CrossEntropyLoss()
    pictures, labels = torch.rand(64, 3, 64, 64).cuda(), (torch.arange(64) % 10).cuda()

    def step():
        optimizer.zero_grad()
        value = loss(model(pictures), labels)
        value.backward()
        optimizer.step()
        return value.item()

    return step


def generate():
    """A token."""
    import generate as program

    words = torch.nn.Embedding(program.WORDS, program.WIDTH).cuda().half()
    model = program.transformer(12)
    return lambda: program.generate(words, model, 1)


def beside():
    """A token, while another thread embeds texts: the two take turns at Python's lock."""
    import generate as program

    step = generate()
    words = torch.nn.Embedding(program.WORDS, program.WIDTH).cuda().half()
    reader = program.transformer(6)
    threading.Thread(target=program.embed, args=(words, reader, STOP)).start()
    return step


def burst(step):
    """The median time of a step, s."""
    times = []
    for _ in range(BURST):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def switch():
    os.kill(os.getppid(), signal.SIGUSR2)
    time.sleep(0.05)


def main(name, pairs):
    step = {"train": train, "generate": generate, "beside": beside}[name]()
    for _ in range(WARM_UP):
        step()
    off, on = [], []
    for _ in range(pairs):
        off.append(burst(step))
        switch()
        on.append(burst(step))
        switch()
    STOP.set()
    mean, reach = interval([math.log(with_it / without) for without, with_it in zip(off, on)])
    low, middle, high = (math.expm1(value) for value in (mean - reach, mean, mean + reach))
    medians = " and ".join(f"{statistics.median(times) * 1e3:.2f}" for times in (off, on))
    print(f"{name}: {medians} ms, {middle:+.1%} ({low:+.1%} to {high:+.1%}), {pairs} pairs", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)
