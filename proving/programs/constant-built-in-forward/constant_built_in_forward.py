# Runs a residual network that shifts, scales and clips the input of each of its blocks.
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

ROWS = 2048
WIDTH = 1024
BLOCKS = 24


class ClippedBlock(nn.Module):
    def __init__(self, width, shift, scale, limit):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.shift = shift
        self.scale = scale
        self.limit = limit

    def constants(self, x):
        shift = torch.tensor(self.shift, dtype=x.dtype, device=x.device)
        scale = torch.tensor(self.scale, dtype=x.dtype, device=x.device)
        limit = torch.tensor(self.limit, dtype=x.dtype, device=x.device)
        return shift, scale, limit

    def forward(self, x):
        shift, scale, limit = self.constants(x)
        h = (x - shift) * scale
        h = torch.maximum(torch.minimum(h, limit), -limit)
        return x + self.linear(F.gelu(h))


class BufferedBlock(ClippedBlock):
    def __init__(self, width, shift, scale, limit):
        super().__init__(width, shift, scale, limit)
        self.register_buffer("shift_value", torch.tensor(shift))
        self.register_buffer("scale_value", torch.tensor(scale))
        self.register_buffer("limit_value", torch.tensor(limit))

    def constants(self, x):
        return self.shift_value, self.scale_value, self.limit_value


def build(block):
    with torch.device("cuda"):
        return nn.Sequential(*[block(WIDTH, 0.01 * i, 0.7, 3.0) for i in range(BLOCKS)]).eval()


@torch.inference_mode()
def main():
    model = build(BufferedBlock if "--fixed" in sys.argv else ClippedBlock)
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
