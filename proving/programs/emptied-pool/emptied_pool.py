# Sharpens large image tiles in CuPy, one after another, and keeps the mean contrast of each.
import sys
import time

import cupy as cp

SIZE = 4096
TILES = 8
SECONDS = 2.0


def enhance(tile):
    vertical = cp.roll(tile, 1, axis=0) + cp.roll(tile, -1, axis=0)
    horizontal = cp.roll(tile, 1, axis=1) + cp.roll(tile, -1, axis=1)
    smooth = 0.25 * (vertical + horizontal)
    detail = tile - smooth
    strength = 1.0 / (1.0 + cp.abs(detail))
    return smooth + detail * strength


class TileProcessor:
    def __init__(self, release):
        self.release = release
        self.pool = cp.get_default_memory_pool()
        self.tiles = [cp.random.random((SIZE, SIZE), dtype=cp.float32) for _ in range(TILES)]
        self.contrast = cp.zeros(TILES, dtype=cp.float32)
        self.done = 0

    def process(self):
        index = self.done % TILES
        sharp = enhance(self.tiles[index])
        self.contrast[index] = cp.abs(sharp - self.tiles[index]).mean()
        del sharp
        if self.release:
            self.pool.free_all_blocks()
        self.done += 1


def main():
    processor = TileProcessor(release="--fixed" not in sys.argv[1:])
    for _ in range(5):
        processor.process()
    cp.cuda.Device().synchronize()

    before = processor.done
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        processor.process()
    cp.cuda.Device().synchronize()
    print(f"{(processor.done - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
