# Applies rotary position embeddings to packed sequences of different lengths with a Triton kernel.
import sys
import time

import numpy as np
import torch
import triton
import triton.language as tl

SEQUENCES = 256
LONGEST = 256
HEADS = 8
HALF = 32
BLOCK = 64
SECONDS = 2.0


@triton.jit
def rotate_kernel(values, bounds, frequencies, first, HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK: tl.constexpr):
    sequence = first + tl.program_id(1)
    start = tl.load(bounds + sequence)
    length = tl.load(bounds + sequence + 1) - start
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lane = tl.arange(0, HALF)
    live = position[:, None] < length
    angle = position[:, None].to(tl.float32) * tl.load(frequencies + lane)[None, :]
    cosine = tl.cos(angle)
    sine = tl.sin(angle)
    for head in range(HEADS):
        low_at = values + ((start + position) * HEADS + head)[:, None] * (2 * HALF) + lane[None, :]
        low = tl.load(low_at, mask=live, other=0.0)
        high = tl.load(low_at + HALF, mask=live, other=0.0)
        tl.store(low_at, low * cosine - high * sine, mask=live)
        tl.store(low_at + HALF, low * sine + high * cosine, mask=live)


class Rotary:
    def __init__(self, lengths):
        self.lengths = lengths
        self.bounds = torch.tensor([0, *np.cumsum(lengths).tolist()], dtype=torch.int32, device="cuda")
        self.frequencies = 10000.0 ** (-torch.arange(HALF, device="cuda") / HALF)

    def launch(self, values, first, count, longest):
        grid = (triton.cdiv(longest, BLOCK), count)
        rotate_kernel[grid](values, self.bounds, self.frequencies, first, HEADS, HALF, BLOCK)

    def rotate_each(self, values):
        for index, length in enumerate(self.lengths):
            self.launch(values, index, 1, length)

    def rotate_packed(self, values):
        self.launch(values, 0, len(self.lengths), max(self.lengths))


def main():
    lengths = np.random.default_rng(4).integers(16, LONGEST + 1, SEQUENCES).tolist()
    rotary = Rotary(lengths)
    values = torch.randn(sum(lengths), HEADS, 2 * HALF, device="cuda")
    rotate = rotary.rotate_packed if "--fixed" in sys.argv[1:] else rotary.rotate_each
    for _ in range(3):
        rotate(values)
    torch.cuda.synchronize()

    done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        rotate(values)
        done += 1
    torch.cuda.synchronize()
    print(f"{done / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
