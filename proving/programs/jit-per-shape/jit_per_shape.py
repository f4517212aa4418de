# Rates how crowded the detections of each frame are, with a JAX function over all pairs of detections.
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import jax
import jax.numpy as jnp
import numpy as np

LARGEST = 4096
SMALLEST = 1024
SECONDS = 2.0


@jax.jit
def crowding(points, valid):
    distance = jnp.square(points[:, None, :] - points[None, :, :]).sum(axis=-1)
    closeness = jnp.exp(-50.0 * distance) * valid[None, :]
    return (closeness.sum(axis=1) * valid).max()


def exact(points):
    return points, np.ones(len(points), dtype=np.float32)


def padded(points):
    room = np.zeros((LARGEST, points.shape[1]), dtype=np.float32)
    room[: len(points)] = points
    valid = np.zeros(LARGEST, dtype=np.float32)
    valid[: len(points)] = 1.0
    return room, valid


class FrameRater:
    def __init__(self, prepare):
        self.prepare = prepare
        self.worst = jnp.zeros(())

    def rate(self, points):
        points, valid = self.prepare(points)
        self.worst = jnp.maximum(self.worst, crowding(points, valid))


def frames():
    rng = np.random.default_rng(7)
    cloud = rng.random((LARGEST, 3), dtype=np.float32)
    while True:
        for count in rng.permutation(np.arange(SMALLEST, LARGEST + 1)):
            yield cloud[:count]


def main():
    rater = FrameRater(padded if "--fixed" in sys.argv[1:] else exact)
    source = frames()
    for _ in range(3):
        rater.rate(next(source))
    rater.worst.block_until_ready()

    done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        rater.rate(next(source))
        done += 1
    rater.worst.block_until_ready()
    print(f"{done / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
