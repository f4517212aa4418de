# Multiplies large matrices in a chain with CuPy, round after round, and reads one value at the end.
import time

import cupy as cp

SIZE = 4096
LINKS = 8
SECONDS = 2.0


class Chain:
    def __init__(self):
        self.links = [cp.random.random((SIZE, SIZE), dtype=cp.float32) * (2.0 / SIZE) for _ in range(LINKS)]
        self.product = cp.eye(SIZE, dtype=cp.float32)
        self.other = cp.empty_like(self.product)
        self.reached = [cp.cuda.Event(disable_timing=True) for _ in range(2)]
        self.rounds = 0

    def round(self):
        for link in self.links:
            cp.matmul(link, self.product, out=self.other)
            self.product, self.other = self.other, self.product
        self.reached[self.rounds % 2].record()
        self.rounds += 1
        if self.rounds > 1:
            self.reached[self.rounds % 2].synchronize()


def main():
    chain = Chain()
    for _ in range(3):
        chain.round()
    cp.cuda.Device().synchronize()

    before = chain.rounds
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        chain.round()
    trace = float(chain.product.trace())
    rate = (chain.rounds - before) / (time.perf_counter() - start)
    assert trace == trace
    print(f"{rate:.1f} per second")


if __name__ == "__main__":
    main()
