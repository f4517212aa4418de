# Trains a large multilayer perceptron and checks the sum of its losses at the end.
import math
import sys
import time

import torch
from torch import nn

ROWS = 8192
WIDTH = 2048
LAYERS = 6


class Trainer:
    def __init__(self):
        with torch.device("cuda"):
            layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)]
            self.model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH))
            self.batches = torch.randn(4, ROWS, WIDTH)
            self.total = torch.zeros(())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.steps = 0

    def step(self):
        batch = self.batches[self.steps % len(self.batches)]
        loss = nn.functional.mse_loss(self.model(batch), batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.total += loss.detach()
        self.steps += 1


def main():
    trainer = Trainer()
    for _ in range(3):
        trainer.step()
    torch.cuda.synchronize()

    start = time.perf_counter()
    first = trainer.steps
    while time.perf_counter() - start < 2:
        trainer.step()
    torch.cuda.synchronize()
    if not math.isfinite(trainer.total.item()):
        sys.exit("the training diverged")
    print(f"{(trainer.steps - first) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
