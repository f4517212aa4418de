"""How fast a processor is while a program runs. A shared machine's processors may be half slower for minutes, which slows the program
and this alike, recorded or not."""

import time

import torch


class Pace:
    """Beats of always the same work, of the kind that a framework does between launches, without the GPU."""

    def __init__(self):
        self.beats, self.seconds = 0, 0.0
        self.numbers = torch.zeros(16)

    def beat(self):
        began = time.perf_counter()
        for _ in range(150):
            self.numbers.add_(1.0).mul_(0.5)
        self.seconds += time.perf_counter() - began
        self.beats += 1

    def __str__(self):
        return f"pace {self.beats / self.seconds:.1f} beats/s"
