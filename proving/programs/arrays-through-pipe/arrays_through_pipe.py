# Computes image features on the GPU from batches that worker processes cut out of larger images.
import multiprocessing
import sys
import time

import numpy as np
import torch

WORKERS = 4
SLOTS = 8
SOURCES = 32
SOURCE_SIZE = 320
SHAPE = (128, 224, 224, 3)
SECONDS = 2.0

processes = multiprocessing.get_context("fork")


class Cropper:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.images = self.rng.integers(0, 256, (SOURCES, SOURCE_SIZE, SOURCE_SIZE, 3), dtype=np.uint8)

    def fill(self, batch):
        count, height, width, _ = batch.shape
        chosen = self.rng.integers(0, SOURCES, count)
        tops = self.rng.integers(0, SOURCE_SIZE - height, count)
        lefts = self.rng.integers(0, SOURCE_SIZE - width, count)
        for out, image, top, left in zip(batch, chosen, tops, lefts):
            out[:] = self.images[image, top : top + height, left : left + width]


def send_arrays(batches, seed):
    cropper = Cropper(seed)
    while True:
        batch = np.empty(SHAPE, dtype=np.uint8)
        cropper.fill(batch)
        batches.put(batch)


def fill_slots(slots, free, filled, seed):
    cropper = Cropper(seed)
    while True:
        slot = free.get()
        cropper.fill(slots[slot])
        filled.put(slot)


def start_workers(target, *args):
    workers = [processes.Process(target=target, args=(*args, seed), daemon=True) for seed in range(WORKERS)]
    for worker in workers:
        worker.start()
    return workers


class PipeLoader:
    def __init__(self):
        self.batches = processes.Queue(maxsize=SLOTS)
        self.workers = start_workers(send_arrays, self.batches)

    def load(self):
        batch = self.batches.get()
        return torch.from_numpy(batch).cuda()


class SharedLoader:
    def __init__(self):
        size = int(np.prod(SHAPE))
        memory = processes.RawArray("B", SLOTS * size)
        self.slots = np.frombuffer(memory, dtype=np.uint8).reshape(SLOTS, *SHAPE)
        self.free = processes.Queue()
        self.filled = processes.Queue()
        for slot in range(SLOTS):
            self.free.put(slot)
        self.workers = start_workers(fill_slots, self.slots, self.free, self.filled)

    def load(self):
        slot = self.filled.get()
        images = torch.from_numpy(self.slots[slot]).cuda()
        self.free.put(slot)
        return images


class FeatureExtractor:
    def __init__(self, loader):
        self.loader = loader
        layers = [torch.nn.Conv2d(3, 64, 8, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(64, 256, 3, stride=2)]
        layers += [torch.nn.ReLU(), torch.nn.Conv2d(256, 256, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)]
        self.network = torch.nn.Sequential(*layers).cuda().half().to(memory_format=torch.channels_last).eval()
        self.mean = torch.zeros(256, device="cuda")

    @torch.inference_mode()
    def step(self):
        images = self.loader.load().permute(0, 3, 1, 2).half() / 255
        features = self.network(images).flatten(1).float()
        self.mean.lerp_(features.mean(dim=0), 0.01)


def main():
    loader = SharedLoader() if "--fixed" in sys.argv[1:] else PipeLoader()
    extractor = FeatureExtractor(loader)
    for _ in range(5):
        extractor.step()
    torch.cuda.synchronize()

    steps = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        extractor.step()
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")

    for worker in loader.workers:
        worker.terminate()
    for worker in loader.workers:
        worker.join()


if __name__ == "__main__":
    main()
