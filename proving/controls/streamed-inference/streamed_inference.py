# Computes scores of batches in pinned memory, with copies to and from the GPU in streams of their own.
import time

import torch
from torch import nn

ROWS = 8192
WIDTH = 1024
HIDDEN = 4096
SLOTS = 3


class Slot:
    """Buffers and events of one batch on its way through the GPU."""

    def __init__(self):
        self.source = torch.empty(ROWS, WIDTH, device="cuda")
        self.scores = torch.empty(ROWS, 64, device="cuda")
        self.result = torch.empty(ROWS, 64, pin_memory=True)
        self.arrived = torch.cuda.Event()
        self.computed = torch.cuda.Event()
        self.returned = torch.cuda.Event()


class Pipeline:
    def __init__(self, model):
        self.model = model
        self.slots = [Slot() for _ in range(SLOTS)]
        self.upload = torch.cuda.Stream()
        self.download = torch.cuda.Stream()
        self.submitted = 0

    def submit(self, batch):
        slot = self.slots[self.submitted % SLOTS]
        slot.returned.synchronize()
        with torch.cuda.stream(self.upload):
            slot.source.copy_(batch, non_blocking=True)
            slot.arrived.record()
        slot.arrived.wait()
        slot.scores.copy_(self.model(slot.source))
        slot.computed.record()
        with torch.cuda.stream(self.download):
            slot.computed.wait()
            slot.result.copy_(slot.scores, non_blocking=True)
            slot.returned.record()
        self.submitted += 1


@torch.inference_mode()
def main():
    with torch.device("cuda"):
        layers = [nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU()]
        model = nn.Sequential(*layers, nn.Linear(HIDDEN, 64)).eval()
    batches = [torch.rand(ROWS, WIDTH, device="cuda").cpu().pin_memory() for _ in range(4)]
    pipeline = Pipeline(model)
    for batch in batches:
        pipeline.submit(batch)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        pipeline.submit(batches[steps % len(batches)])
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
