# Counts the steps that points of the plane take to leave the Mandelbrot set's disc, with a Triton kernel of long programs.
import time

import torch
import triton
import triton.language as tl

SIZE = 4096
STEPS = 2000
BLOCK = 256
SECONDS = 2.0


@triton.jit
def escape_kernel(counts, left, top, spacing, steps, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = left + (at % SIZE).to(tl.float32) * spacing
    imaginary = top + (at // SIZE).to(tl.float32) * spacing
    x = tl.zeros((BLOCK,), dtype=tl.float32)
    y = tl.zeros((BLOCK,), dtype=tl.float32)
    count = tl.zeros((BLOCK,), dtype=tl.int32)
    for _ in range(steps):
        inside = x * x + y * y < 4.0
        moved = x * x - y * y + real
        y = tl.where(inside, 2.0 * x * y + imaginary, y)
        x = tl.where(inside, moved, x)
        count += inside.to(tl.int32)
    tl.store(counts + at, count)


class Zoom:
    def __init__(self):
        self.counts = torch.empty(SIZE * SIZE, dtype=torch.int32, device="cuda")
        self.total = torch.zeros((), dtype=torch.int64, device="cuda")
        self.reached = [torch.cuda.Event() for _ in range(2)]
        self.pictures = 0

    def picture(self):
        width = 3.0 / (1.0 + 0.01 * (self.pictures % 100))
        grid = (SIZE * SIZE // BLOCK,)
        escape_kernel[grid](self.counts, -0.75 - width / 2, -width / 2, width / SIZE, STEPS, SIZE, BLOCK)
        self.total += self.counts.sum()
        self.reached[self.pictures % 2].record()
        self.pictures += 1
        if self.pictures > 1:
            self.reached[self.pictures % 2].synchronize()


def main():
    zoom = Zoom()
    for _ in range(3):
        zoom.picture()
    torch.cuda.synchronize()

    before = zoom.pictures
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        zoom.picture()
    torch.cuda.synchronize()
    print(f"{(zoom.pictures - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
