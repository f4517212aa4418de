# Routes the tokens of request batches to experts, with a gating product in PyTorch and a softmax in Triton.
import os
import shutil
import sys
import tempfile
import time

CACHE = tempfile.mkdtemp(prefix="router-")
os.environ["TRITON_CACHE_DIR"] = CACHE

import numpy as np
import torch
import triton
import triton.language as tl

HIDDEN = 1024
EXPERTS = 64
SMALLEST = 256
LARGEST = 4096
SECONDS = 2.0


@triton.jit
def route_rows(logits, weights, rows, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = row[:, None] * EXPERTS + tl.arange(0, EXPERTS)[None, :]
    live = row[:, None] < rows
    values = tl.load(logits + at, mask=live, other=0.0)
    powers = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(weights + at, powers / tl.sum(powers, axis=1)[:, None], mask=live)


@triton.jit
def route_constant(logits, weights, ROWS: tl.constexpr, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    route_rows(logits, weights, ROWS, EXPERTS, BLOCK)


@triton.jit(do_not_specialize=["rows"])
def route_any(logits, weights, rows, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    route_rows(logits, weights, rows, EXPERTS, BLOCK)


class Router:
    def __init__(self, kernel):
        self.kernel = kernel
        self.gate = torch.randn(HIDDEN, EXPERTS, device="cuda") / HIDDEN**0.5
        self.load = torch.zeros(EXPERTS, device="cuda")

    def route(self, tokens):
        logits = tokens @ self.gate
        weights = torch.empty_like(logits)
        rows = logits.shape[0]
        self.kernel[(triton.cdiv(rows, 16),)](logits, weights, rows, EXPERTS, 16)
        self.load += weights.sum(dim=0)
        return weights


def request_batches():
    rng = np.random.default_rng(2)
    tokens = torch.randn(LARGEST, HIDDEN, device="cuda")
    while True:
        for rows in rng.permutation(np.arange(SMALLEST, LARGEST + 1)).tolist():
            yield tokens[:rows]


def main():
    router = Router(route_any if "--fixed" in sys.argv[1:] else route_constant)
    batches = request_batches()
    for _ in range(3):
        router.route(next(batches))
    torch.cuda.synchronize()

    done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        router.route(next(batches))
        done += 1
    torch.cuda.synchronize()
    print(f"{done / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(CACHE, ignore_errors=True)
