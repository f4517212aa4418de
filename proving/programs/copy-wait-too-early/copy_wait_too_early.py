# Trains an autoencoder on batches in pinned memory, which a prefetcher copies to the GPU in a stream of its own.
import sys
import time

import torch
from torch import nn

ROWS = 8192
WIDTH = 4096


class Prefetcher:
    """Copies the next batch to one of two slots while the batch in the other slot is in use."""

    def __init__(self, batches):
        self.batches = batches
        self.stream = torch.cuda.Stream()
        self.slots = [torch.empty_like(batches[0], device="cuda") for _ in range(2)]
        self.copied = [torch.cuda.Event() for _ in range(2)]
        self.used = [torch.cuda.Event() for _ in range(2)]
        self.fetched = 0
        self.fetch()

    def fetch(self):
        slot = self.fetched % 2
        self.stream.wait_event(self.used[slot])
        with torch.cuda.stream(self.stream):
            self.slots[slot].copy_(self.batches[self.fetched % len(self.batches)], non_blocking=True)
            self.copied[slot].record()
        self.fetched += 1

    def wait_for(self, slot):
        torch.cuda.current_stream().wait_stream(self.stream)

    def next(self):
        slot = (self.fetched - 1) % 2
        self.fetch()
        self.wait_for(slot)
        return slot

    def release(self, slot):
        self.used[slot].record()


class EventPrefetcher(Prefetcher):
    def wait_for(self, slot):
        torch.cuda.current_stream().wait_event(self.copied[slot])


class Trainer:
    def __init__(self, prefetcher):
        self.prefetcher = prefetcher
        with torch.device("cuda"):
            self.encoder = nn.Linear(WIDTH, 512)
            self.decoder = nn.Linear(512, WIDTH)
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.optimizer = torch.optim.SGD(parameters, lr=1e-3)

    def step(self):
        slot = self.prefetcher.next()
        batch = self.prefetcher.slots[slot]
        loss = nn.functional.mse_loss(self.decoder(torch.relu(self.encoder(batch))), batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.prefetcher.release(slot)


def main():
    prefetcher = EventPrefetcher if "--fixed" in sys.argv else Prefetcher
    batches = [torch.rand(ROWS, WIDTH, device="cuda").cpu().pin_memory() for _ in range(3)]
    trainer = Trainer(prefetcher(batches))
    for _ in range(4):
        trainer.step()
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step()
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
