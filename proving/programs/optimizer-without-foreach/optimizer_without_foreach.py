# Trains a deep residual network of many small layers with AdamW.
import sys
import time

import torch
from torch import nn

ROWS = 2048
WIDTH = 512
BLOCKS = 96


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.linear(x))


class Trainer:
    def __init__(self, **options):
        with torch.device("cuda"):
            self.model = nn.Sequential(*[Block(WIDTH) for _ in range(BLOCKS)])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, weight_decay=0.01, **options)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self, batch, target):
        loss = nn.functional.mse_loss(self.model(batch), target)
        loss.backward()
        self.update()


def main():
    options = {"fused": True} if "--fixed" in sys.argv else {"foreach": False}
    trainer = Trainer(**options)
    batch = torch.randn(ROWS, WIDTH, device="cuda")
    target = torch.randn(ROWS, WIDTH, device="cuda")
    for _ in range(5):
        trainer.step(batch, target)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step(batch, target)
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
