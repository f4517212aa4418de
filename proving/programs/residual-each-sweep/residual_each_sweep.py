# Solves the Poisson equation on a square grid with Jacobi sweeps in CuPy.
import sys
import time

import cupy as cp

SIZE = 2048
TOLERANCE = 1e-12
SECONDS = 2.0

SWEEP = r"""
extern "C" __global__ void sweep(const float* now, const float* source, float* next, int size) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= size - 1 || y >= size - 1) return;
    int at = y * size + x;
    next[at] = 0.25f * (now[at - 1] + now[at + 1] + now[at - size] + now[at + size] + source[at]);
}
"""


class JacobiSolver:
    def __init__(self, check_every):
        self.check_every = check_every
        self.kernel = cp.RawKernel(SWEEP, "sweep")
        self.now = cp.zeros((SIZE, SIZE), dtype=cp.float32)
        self.next = cp.zeros_like(self.now)
        self.source = cp.zeros_like(self.now)
        self.source[SIZE // 4, SIZE // 4] = 1.0
        self.source[SIZE // 2, SIZE // 3] = -1.0
        self.sweeps = 0

    def sweep(self):
        block = (32, 8)
        grid = (SIZE // block[0], SIZE // block[1])
        self.kernel(grid, block, (self.now, self.source, self.next, cp.int32(SIZE)))
        self.now, self.next = self.next, self.now
        self.sweeps += 1

    def residual(self):
        change = cp.abs(self.now - self.next).max()
        return float(change)

    def solve(self, seconds):
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            self.sweep()
            if self.sweeps % self.check_every == 0 and self.residual() < TOLERANCE:
                self.now.fill(0)


def main():
    solver = JacobiSolver(check_every=200 if "--fixed" in sys.argv[1:] else 1)
    for _ in range(5):
        solver.sweep()
        solver.residual()
    cp.cuda.Device().synchronize()

    before = solver.sweeps
    start = time.perf_counter()
    solver.solve(SECONDS)
    cp.cuda.Device().synchronize()
    print(f"{(solver.sweeps - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
