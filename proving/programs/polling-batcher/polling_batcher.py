# Serves a network to client threads, with a batcher thread that answers all waiting requests together.
import queue
import sys
import threading
import time
from concurrent.futures import Future

import torch

WIDTH = 2048
CLIENTS = 4
WARM_UP = 0.2
SECONDS = 2.0


class Batcher:
    def __init__(self, model, blocking):
        self.model = model
        self.collect = self.wait_for_batch if blocking else self.poll_for_batch
        self.requests = queue.SimpleQueue()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.serve, name="batcher")
        self.thread.start()

    def submit(self, vector):
        future = Future()
        self.requests.put((vector, future))
        return future

    def drain(self):
        batch = []
        try:
            while True:
                batch.append(self.requests.get_nowait())
        except queue.Empty:
            return batch

    def poll_for_batch(self):
        time.sleep(0.005)
        return self.drain()

    def wait_for_batch(self):
        first = self.requests.get()
        return [first, *self.drain()]

    def serve(self):
        while not self.stopping.is_set():
            batch = [request for request in self.collect() if request is not None]
            if batch:
                self.answer(batch)

    def answer(self, batch):
        inputs = torch.stack([vector for vector, _ in batch]).cuda().half()
        with torch.inference_mode():
            outputs = self.model(inputs).float().cpu()
        for (_, future), output in zip(batch, outputs):
            future.set_result(output)

    def stop(self):
        self.stopping.set()
        self.requests.put(None)
        self.thread.join()


class Client:
    def __init__(self, batcher, seed):
        self.batcher = batcher
        self.vector = torch.randn(WIDTH, generator=torch.Generator().manual_seed(seed))
        self.answers = 0
        self.thread = threading.Thread(target=self.run, name=f"client-{seed}")
        self.running = True
        self.thread.start()

    def run(self):
        while self.running:
            self.batcher.submit(self.vector).result()
            self.answers += 1

    def stop(self):
        self.running = False
        self.thread.join()


def make_model():
    with torch.device("cuda"):
        layers = [torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, 4 * WIDTH)]
        layers += [torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH)]
    return torch.nn.Sequential(*layers).half().eval()


def main():
    torch.set_num_threads(1)
    batcher = Batcher(make_model(), blocking="--fixed" in sys.argv[1:])
    for _ in range(3):
        batcher.submit(torch.zeros(WIDTH)).result()

    clients = [Client(batcher, seed) for seed in range(CLIENTS)]
    time.sleep(WARM_UP)
    before = sum(client.answers for client in clients)
    start = time.perf_counter()
    time.sleep(SECONDS)
    answers = sum(client.answers for client in clients) - before
    elapsed = time.perf_counter() - start
    for client in clients:
        client.stop()
    batcher.stop()
    print(f"{answers / elapsed:.1f} per second")


if __name__ == "__main__":
    main()
