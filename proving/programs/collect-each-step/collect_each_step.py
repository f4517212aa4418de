# Trains a classifier on features of annotated images, with the annotations of all images held in memory.
import gc
import random
import sys
import time
from dataclasses import dataclass

import torch
from torch import nn

IMAGES = 60_000
BATCH = 2048
WIDTH = 2048


@dataclass(slots=True)
class Annotation:
    path: str
    box: list
    labels: list


def load_annotations():
    return [Annotation(f"image-{i}.jpg", [i % 640, i % 480, 32, 32], [i % 10]) for i in range(IMAGES)]


class MemoryGuard:
    """Frees unreachable objects between steps."""

    def after_step(self, step):
        gc.collect()


class RareMemoryGuard(MemoryGuard):
    def __init__(self, every=200):
        gc.freeze()
        self.every = every

    def after_step(self, step):
        if step % self.every == 0:
            gc.collect()


class Trainer:
    def __init__(self, annotations, guard):
        self.annotations = annotations
        self.guard = guard
        self.order = random.Random(2)
        with torch.device("cuda"):
            layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(4)]
            self.model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
            self.features = torch.randn(16 * BATCH, WIDTH)
            self.classes = torch.randint(10, (16 * BATCH,))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.seen = set()

    def step(self, number):
        first = (number % 16) * BATCH
        self.seen.add(self.order.choice(self.annotations).labels[0])
        scores = self.model(self.features[first : first + BATCH])
        loss = nn.functional.cross_entropy(scores, self.classes[first : first + BATCH])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.guard.after_step(number)


def main():
    annotations = load_annotations()
    guard = RareMemoryGuard() if "--fixed" in sys.argv else MemoryGuard()
    trainer = Trainer(annotations, guard)
    for number in range(3):
        trainer.step(number)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step(steps)
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
