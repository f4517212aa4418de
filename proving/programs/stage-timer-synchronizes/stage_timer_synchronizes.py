# Simulates bodies on springs and trains a network to predict their motion, with the time of each stage taken.
import logging
import sys
import time
from collections import defaultdict
from contextlib import contextmanager

import torch
from torch import nn

BODIES = 896
SIZE = 16
SUBSTEPS = 18
WIDTH = 1024


class StageTimer:
    def __init__(self):
        self.seconds = defaultdict(float)

    @contextmanager
    def stage(self, name):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        yield
        torch.cuda.synchronize()
        self.seconds[name] += time.perf_counter() - begin

    def report(self):
        return dict(self.seconds)


class EventTimer:
    def __init__(self):
        self.pairs = []

    @contextmanager
    def stage(self, name):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        yield
        end.record()
        self.pairs.append((name, begin, end))

    def report(self):
        torch.cuda.synchronize()
        seconds = defaultdict(float)
        for name, begin, end in self.pairs:
            seconds[name] += begin.elapsed_time(end) / 1000
        return dict(seconds)


class Springs:
    def __init__(self):
        self.position = torch.randn(BODIES, SIZE, device="cuda")
        self.velocity = torch.randn(BODIES, SIZE, device="cuda")

    @torch.no_grad()
    def simulate(self):
        position, velocity = self.position, self.velocity
        states = []
        for _ in range(SUBSTEPS):
            force = torch.sin(3.0 * position) - 4.0 * position - 0.1 * velocity
            velocity = velocity + 0.01 * force
            position = position + 0.01 * velocity
            outside = position.abs() > 2.0
            velocity = torch.where(outside, -velocity, velocity)
            states.append(torch.cat((position, velocity), dim=1))
        self.position, self.velocity = position, velocity
        return torch.cat(states[:-1]), torch.cat(states[1:])


class Trainer:
    def __init__(self, timer):
        self.timer = timer
        self.springs = Springs()
        with torch.device("cuda"):
            layers = [nn.Linear(2 * SIZE, WIDTH), nn.ReLU()]
            layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
            self.model = nn.Sequential(*layers, nn.Linear(WIDTH, 2 * SIZE))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def step(self):
        with self.timer.stage("simulate"):
            before, after = self.springs.simulate()
        with self.timer.stage("forward"):
            loss = nn.functional.mse_loss(self.model(before), after)
        with self.timer.stage("backward"):
            self.optimizer.zero_grad()
            loss.backward()
        with self.timer.stage("update"):
            self.optimizer.step()


def main():
    timer = EventTimer() if "--fixed" in sys.argv else StageTimer()
    trainer = Trainer(timer)
    for _ in range(5):
        trainer.step()
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step()
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")
    logging.info("seconds of each stage: %s", timer.report())


if __name__ == "__main__":
    main()
