# Trains a network while the word pairs of a text corpus are counted at the same time.
import multiprocessing
import random
import sys
import threading
import time

import torch
from torch import nn

ROWS = 2048
WIDTH = 2048
LAYERS = 8


def make_corpus(documents=2000, words=200):
    generator = random.Random(3)
    vocabulary = [f"word{i}" for i in range(500)]
    return [generator.choices(vocabulary, k=words) for _ in range(documents)]


def count_pairs(corpus, stop):
    counts = {}
    while not stop.is_set():
        for document in corpus:
            for pair in zip(document, document[1:]):
                counts[pair] = counts.get(pair, 0) + 1
            if stop.is_set():
                break
    return counts


class Trainer:
    def __init__(self):
        with torch.device("cuda"):
            layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
            self.model = nn.Sequential(*layers)
            self.batch = torch.randn(ROWS, WIDTH)
            self.target = torch.randn(ROWS, WIDTH)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def step(self):
        loss = nn.functional.mse_loss(self.model(self.batch), self.target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def start_counting(corpus, in_process):
    if in_process:
        context = multiprocessing.get_context("fork")
        stop = context.Event()
        worker = context.Process(target=count_pairs, args=(corpus, stop))
    else:
        stop = threading.Event()
        worker = threading.Thread(target=count_pairs, args=(corpus, stop))
    worker.start()
    return worker, stop


def main():
    corpus = make_corpus()
    trainer = Trainer()
    for _ in range(5):
        trainer.step()
    torch.cuda.synchronize()

    worker, stop = start_counting(corpus, "--fixed" in sys.argv)
    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step()
        steps += 1
    torch.cuda.synchronize()
    rate = steps / (time.perf_counter() - start)
    stop.set()
    worker.join()
    print(f"{rate:.1f} per second")


if __name__ == "__main__":
    main()
