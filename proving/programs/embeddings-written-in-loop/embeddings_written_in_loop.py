# Computes embeddings of batches of records and stores them in binary shards on disk.
import os
import queue
import sys
import tempfile
import threading
import time

import torch
from torch import nn

ROWS = 8192
WIDTH = 1024
HIDDEN = 4096
SHARDS = 8


def write_shard(path, embeddings):
    with open(path, "wb", buffering=0) as file:
        file.write(memoryview(embeddings.numpy()).cast("B"))


class ShardWriter:
    def __init__(self, folder):
        self.folder = folder
        self.written = 0
        self.buffer = torch.empty(ROWS, WIDTH, pin_memory=True)

    def next_path(self):
        path = os.path.join(self.folder, f"embeddings-{self.written % SHARDS}.bin")
        self.written += 1
        return path

    def add(self, embeddings):
        self.buffer.copy_(embeddings)
        write_shard(self.next_path(), self.buffer)

    def close(self):
        pass


class BackgroundWriter(ShardWriter):
    def __init__(self, folder, threads=2, buffers=6):
        super().__init__(folder)
        self.free = queue.SimpleQueue()
        self.full = queue.SimpleQueue()
        for _ in range(buffers):
            self.free.put(torch.empty(ROWS, WIDTH, pin_memory=True))
        self.threads = [threading.Thread(target=self.work) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while (item := self.full.get()) is not None:
            path, buffer, copied = item
            copied.synchronize()
            write_shard(path, buffer)
            self.free.put(buffer)

    def add(self, embeddings):
        buffer = self.free.get()
        buffer.copy_(embeddings, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()
        self.full.put((self.next_path(), buffer, copied))

    def close(self):
        for _ in self.threads:
            self.full.put(None)
        for thread in self.threads:
            thread.join()


def embed_all(model, batches, writer):
    for batch in batches:
        writer.add(model(batch))
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        writer.add(model(batches[steps % len(batches)]))
        steps += 1
    writer.close()
    torch.cuda.synchronize()
    return steps / (time.perf_counter() - start)


@torch.inference_mode()
def main():
    with torch.device("cuda"):
        layers = [nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)]
        model = nn.Sequential(*layers).eval()
        batches = torch.randn(4, ROWS, WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        writer = BackgroundWriter(folder) if "--fixed" in sys.argv else ShardWriter(folder)
        rate = embed_all(model, batches, writer)
    print(f"{rate:.1f} per second")


if __name__ == "__main__":
    main()
