# Advances a large recurrence of matrix products with a CUDA graph, a few replays ahead of the GPU.
import time

import torch

SIZE = 4096
PRODUCTS = 6
AHEAD = 4


class Recurrence:
    def __init__(self):
        self.weight = torch.randn(SIZE, SIZE, device="cuda") / SIZE**0.5
        self.state = torch.randn(SIZE, SIZE, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        self.done = [torch.cuda.Event() for _ in range(AHEAD)]
        self.advance()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.advance()

    def advance(self):
        state = self.state
        for _ in range(PRODUCTS):
            state = torch.tanh(state @ self.weight)
        self.state.copy_(state)

    def replay(self, step):
        done = self.done[step % AHEAD]
        done.synchronize()
        self.graph.replay()
        done.record()


@torch.inference_mode()
def main():
    recurrence = Recurrence()
    for step in range(AHEAD):
        recurrence.replay(step)
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        recurrence.replay(steps)
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
