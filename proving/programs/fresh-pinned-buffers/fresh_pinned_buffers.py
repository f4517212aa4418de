# Uploads camera frames through pinned memory with CuPy and averages them after a correction of the background.
import sys
import time

import cupy as cp
import cupyx
import numpy as np

SHAPE = (4, 2048, 2048)
FRAMES = 4
SECONDS = 2.0

correct = cp.ElementwiseKernel(
    "uint16 pixel, float32 dark, float32 gain",
    "float32 mean",
    "mean = 0.99f * mean + 0.01f * (pixel - dark) * gain",
    "correct_and_average",
)


class FrameUploader:
    def __init__(self, keep):
        self.keep = keep
        self.pool = cp.get_default_pinned_memory_pool()
        self.buffer = None
        self.frame = cp.empty(SHAPE, dtype=cp.uint16)
        self.copied = cp.cuda.Event(disable_timing=True)

    def staging(self, frame):
        if self.keep and self.buffer is not None:
            return self.buffer
        self.buffer = None
        self.pool.free_all_blocks()
        self.buffer = cupyx.empty_pinned(frame.shape, frame.dtype)
        return self.buffer

    def upload(self, frame):
        buffer = self.staging(frame)
        np.copyto(buffer, frame)
        self.frame.set(buffer)
        self.copied.record()
        self.copied.synchronize()
        return self.frame


class Camera:
    def __init__(self, uploader):
        rng = np.random.default_rng(5)
        self.frames = [rng.integers(0, 4096, SHAPE, dtype=np.uint16) for _ in range(FRAMES)]
        self.uploader = uploader
        self.dark = cp.full(SHAPE, 100.0, dtype=cp.float32)
        self.gain = cp.full(SHAPE, 1.5, dtype=cp.float32)
        self.mean = cp.zeros(SHAPE, dtype=cp.float32)
        self.done = 0

    def take(self):
        frame = self.uploader.upload(self.frames[self.done % FRAMES])
        correct(frame, self.dark, self.gain, self.mean)
        self.done += 1


def main():
    camera = Camera(FrameUploader(keep="--fixed" in sys.argv[1:]))
    for _ in range(5):
        camera.take()
    cp.cuda.Device().synchronize()

    before = camera.done
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        camera.take()
    cp.cuda.Device().synchronize()
    print(f"{(camera.done - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
