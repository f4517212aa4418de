# Extracts features from batches and keeps those of the last 64 batches in host memory for a report.
import sys
import time

import torch
from torch import nn

ROWS = 2048
WIDTH = 2048
FEATURES = 512
WINDOW = 64


class History:
    def __init__(self):
        self.window = torch.zeros(WINDOW, ROWS, FEATURES, device="cuda")
        self.host = torch.zeros(WINDOW, ROWS, FEATURES, pin_memory=True)
        self.count = 0

    def add(self, features):
        self.window[self.count % WINDOW] = features
        self.count += 1
        self.mirror()

    def mirror(self):
        self.host.copy_(self.window)


class NewestHistory(History):
    def mirror(self):
        newest = (self.count - 1) % WINDOW
        self.host[newest].copy_(self.window[newest], non_blocking=True)


@torch.inference_mode()
def main():
    history = NewestHistory() if "--fixed" in sys.argv else History()
    with torch.device("cuda"):
        layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(8)]
        model = nn.Sequential(*layers, nn.Linear(WIDTH, FEATURES)).eval()
        batches = torch.randn(4, ROWS, WIDTH)
    for batch in batches:
        history.add(model(batch))
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        history.add(model(batches[steps % len(batches)]))
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
