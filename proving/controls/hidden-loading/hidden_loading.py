# Trains a network on random records that loader processes make ahead, in pinned memory.
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

ROWS = 4096
WIDTH = 512
HIDDEN = 4096


class Records(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.rand(ROWS, WIDTH)


class Trainer:
    def __init__(self):
        with torch.device("cuda"):
            layers = [nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU()]
            self.model = nn.Sequential(*layers, nn.Linear(HIDDEN, WIDTH))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def step(self, batch):
        batch = batch.to("cuda", non_blocking=True)
        loss = nn.functional.mse_loss(self.model(batch), batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    loader = DataLoader(Records(), batch_size=None, num_workers=4, pin_memory=True)
    batches = iter(loader)
    trainer = Trainer()
    for _ in range(5):
        trainer.step(next(batches))
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step(next(batches))
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
