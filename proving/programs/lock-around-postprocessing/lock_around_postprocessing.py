# Serves an object detector over a loopback socket with asyncio, and runs each detection in a pool of threads.
import asyncio
import json
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

ANCHORS = 100_000
FEATURES = 256
CANDIDATES = 800
IMAGES = 8
WORKERS = 8
CLIENTS = 12
WARM_UP = 0.3
SECONDS = 2.0


def overlap(boxes):
    left, top, right, bottom = (boxes[:, column] for column in range(4))
    width = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    height = np.minimum(bottom[:, None], bottom) - np.maximum(top[:, None], top)
    shared = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    area = (right - left) * (bottom - top)
    return shared / (area[:, None] + area - shared)


class Detector:
    def __init__(self, narrow):
        self.detect = self.detect_narrowly if narrow else self.detect_locked
        self.lock = threading.Lock()
        generator = torch.Generator(device="cuda").manual_seed(0)
        self.images = torch.randn(IMAGES, ANCHORS, FEATURES, generator=generator, device="cuda").half()
        self.hidden = torch.randn(FEATURES, FEATURES, generator=generator, device="cuda").half() / FEATURES**0.5
        self.score = torch.randn(FEATURES, 1, generator=generator, device="cuda").half() / FEATURES**0.5
        self.place = torch.randn(FEATURES, 4, generator=generator, device="cuda").half() / FEATURES**0.5

    @torch.inference_mode()
    def forward(self, image):
        features = self.images[image]
        for _ in range(8):
            features = torch.nn.functional.silu(features @ self.hidden)
        scores = (features @ self.score).float().squeeze(1)
        corners = (features @ self.place).float()
        boxes = torch.cat([corners[:, :2], corners[:, :2] + corners[:, 2:].abs()], dim=1)
        return scores.cpu().numpy(), boxes.cpu().numpy()

    def select(self, scores, boxes):
        order = np.argsort(-scores, kind="stable")[:CANDIDATES]
        repeated = np.triu(overlap(boxes[order]) > 0.5, k=1).any(axis=0)
        kept = order[~repeated][:10]
        return [{"score": float(scores[i]), "box": boxes[i].tolist()} for i in kept]

    def detect_locked(self, image):
        with self.lock:
            scores, boxes = self.forward(image)
            return self.select(scores, boxes)

    def detect_narrowly(self, image):
        with self.lock:
            scores, boxes = self.forward(image)
        return self.select(scores, boxes)


class Server:
    def __init__(self, detector):
        self.detector = detector
        self.pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="detect")
        self.answers = 0

    async def handle(self, reader, writer):
        loop = asyncio.get_running_loop()
        try:
            while True:
                (image,) = struct.unpack("!I", await reader.readexactly(4))
                found = await loop.run_in_executor(self.pool, self.detector.detect, image)
                reply = json.dumps(found).encode()
                writer.write(struct.pack("!I", len(reply)) + reply)
                await writer.drain()
                self.answers += 1
        except asyncio.IncompleteReadError:
            writer.close()


async def ask(port, image, stopping):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not stopping.is_set():
        writer.write(struct.pack("!I", image))
        (size,) = struct.unpack("!I", await reader.readexactly(4))
        json.loads(await reader.readexactly(size))
    writer.close()
    await writer.wait_closed()


async def serve(detector):
    server = Server(detector)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    stopping = asyncio.Event()
    clients = [asyncio.create_task(ask(port, number % IMAGES, stopping)) for number in range(CLIENTS)]

    await asyncio.sleep(WARM_UP)
    before = server.answers
    start = time.perf_counter()
    await asyncio.sleep(SECONDS)
    rate = (server.answers - before) / (time.perf_counter() - start)

    stopping.set()
    await asyncio.gather(*clients)
    listener.close()
    server.pool.shutdown()
    return rate


def main():
    torch.set_num_threads(1)
    detector = Detector(narrow="--fixed" in sys.argv[1:])
    for image in range(3):
        detector.detect(image)
    print(f"{asyncio.run(serve(detector)):.1f} per second")


if __name__ == "__main__":
    main()
