# Serves requests to classify sound clips from several threads with one model.
import sys
import threading
import time

import numpy as np
import torch
from torch import nn

THREADS = 8
FRAMES = 256
SAMPLES = 2048
WIDTH = 2048


def spectrogram(clip):
    """Logarithmic power of each frame of a clip."""
    spectrum = np.fft.rfft(clip * np.hanning(SAMPLES).astype(np.float32), axis=1)
    return np.log1p(np.abs(spectrum)).astype(np.float32)


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        with torch.device("cuda"):
            layers = [nn.Linear(SAMPLES // 2 + 1, WIDTH), nn.ReLU()]
            for _ in range(20):
                layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
            self.model = nn.Sequential(*layers, nn.Linear(WIDTH, 32)).eval()

    @torch.inference_mode()
    def classify(self, features):
        scores = self.model(torch.from_numpy(features).to("cuda"))
        return scores.mean(dim=0).argmax().item()

    def handle(self, clip):
        with self.lock:
            features = spectrogram(clip)
            return self.classify(features)


class NarrowServer(Server):
    def handle(self, clip):
        features = spectrogram(clip)
        with self.lock:
            return self.classify(features)


def client(server, clip, ready, served):
    server.handle(clip)
    ready.wait()
    deadline = time.perf_counter() + 2
    while time.perf_counter() < deadline:
        server.handle(clip)
        served.append(1)


def main():
    server = NarrowServer() if "--fixed" in sys.argv else Server()
    generator = np.random.default_rng(5)
    clips = [generator.standard_normal((FRAMES, SAMPLES), dtype=np.float32) for _ in range(THREADS)]
    server.handle(clips[0])

    served = []
    ready = threading.Barrier(THREADS + 1)
    clients = [threading.Thread(target=client, args=(server, clip, ready, served)) for clip in clips]
    for thread in clients:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in clients:
        thread.join()
    print(f"{len(served) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
