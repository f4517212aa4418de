# Encodes batches of vectors with a network whose layers bound the length of each row.
import sys
import time

import torch
from torch import nn

ROWS = 4096
WIDTH = 1024
BLOCKS = 16


def bound_rows(x, limit):
    length = torch.linalg.vector_norm(x, dim=1)
    too_long = length > limit
    x[too_long] = x[too_long] * (limit / length[too_long]).unsqueeze(1)
    return x


def scale_rows(x, limit):
    length = torch.linalg.vector_norm(x, dim=1)
    return x * (limit / length).clamp_max(1).unsqueeze(1)


class BoundedBlock(nn.Module):
    def __init__(self, width, limit, bound):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.limit = limit
        self.bound = bound

    def forward(self, x):
        x = self.bound(x, self.limit)
        return x + torch.relu(self.linear(x))


def build(bound):
    with torch.device("cuda"):
        blocks = [BoundedBlock(WIDTH, 24.0, bound) for _ in range(BLOCKS)]
        return nn.Sequential(nn.Linear(WIDTH, WIDTH), *blocks, nn.Linear(WIDTH, 128)).eval()


@torch.inference_mode()
def main():
    model = build(scale_rows if "--fixed" in sys.argv else bound_rows)
    batches = torch.randn(4, ROWS, WIDTH, device="cuda")
    for batch in batches:
        model(batch)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        model(batches[steps % len(batches)])
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
