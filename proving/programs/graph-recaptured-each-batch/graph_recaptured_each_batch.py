# Scores batches with a deep narrow network that runs as a CUDA graph.
import sys
import time

import torch
from torch import nn

ROWS = 128
WIDTH = 1024
BLOCKS = 32


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + nn.functional.gelu(self.linear(self.norm(x)))


class GraphRunner:
    def __init__(self, model):
        self.model = model

    def run(self, batch):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = self.model(batch)
        self.graph.replay()
        return self.output


class StaticRunner:
    def __init__(self, model, example):
        self.model = model
        self.input = example.clone()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = self.model(self.input)

    def run(self, batch):
        self.input.copy_(batch)
        self.graph.replay()
        return self.output


def score(runner, batch, best):
    output = runner.run(batch)
    torch.maximum(best, output.amax(dim=0), out=best)


@torch.inference_mode()
def main():
    with torch.device("cuda"):
        model = nn.Sequential(*[Block(WIDTH) for _ in range(BLOCKS)]).eval()
        batches = torch.randn(8, ROWS, WIDTH)
        best = torch.full((WIDTH,), float("-inf"))
    for batch in batches[:3]:
        model(batch)
    runner = StaticRunner(model, batches[0]) if "--fixed" in sys.argv else GraphRunner(model)
    for batch in batches[:3]:
        score(runner, batch, best)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        score(runner, batches[steps % len(batches)], best)
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
