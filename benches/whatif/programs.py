"""Python programs with something to mend, before and after it is mended: `pairs.toml`. Each times a section, which is an NVTX range,
and prints how long it took: "section: 812.3 ms".

    programs.py NAME before|after

KINETO    where to write a trace of PyTorch's profiler, for the programs of PyTorch
"""

import contextlib
import os
import sys
import threading
import time


@contextlib.contextmanager
def section(push, pop, synchronize):
    synchronize()
    begin = time.monotonic_ns()
    push("section")
    yield
    synchronize()
    pop()
    print(f"section: {(time.monotonic_ns() - begin) / 1e6:.3f} ms")


def torch_section():
    import torch

    nvtx, ranges = torch.cuda.nvtx, []

    def push(name):
        nvtx.range_push(name)
        ranges.append(torch.profiler.record_function(name))
        ranges[-1].__enter__()

    def pop():
        ranges.pop().__exit__(None, None, None)
        nvtx.range_pop()

    return section(push, pop, torch.cuda.synchronize)


@contextlib.contextmanager
def profiled(path):
    """A trace of PyTorch's profiler of all that runs within, if there is a path."""
    if not path:
        yield
        return
    import torch

    with torch.profiler.profile() as profiler:
        yield
    profiler.export_chrome_trace(path)


def serve(own, pinned):
    """An image server: a pool of four threads; images come from and results go to host memory."""
    import torch

    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU()]
    layers += [torch.nn.Conv2d(32, 3, 3, padding=1)]
    net = torch.nn.Sequential(*layers).cuda().eval()
    image = torch.rand(8, 3, 256, 256)
    image = image.pin_memory() if pinned else image

    @torch.no_grad()
    def requests(count):
        stream = torch.cuda.Stream() if own else torch.cuda.current_stream()
        result = torch.empty_like(image, pin_memory=pinned)
        with torch.cuda.stream(stream):
            for _ in range(count):
                batch = image.to("cuda", non_blocking=pinned)
                result.copy_(net(batch), non_blocking=pinned)
                stream.synchronize()

    requests(10)
    with torch_section():
        threads = [threading.Thread(target=requests, args=(150,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def train(keeps):
    """A training loop that reads its loss in each step, or adds it up on the device."""
    import torch

    torch.manual_seed(1)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    net = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    batch = torch.rand(4096, 1024, device="cuda")

    def steps(count):
        total = torch.zeros((), device="cuda") if keeps else 0.0
        for _ in range(count):
            loss = net(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() if keeps else loss.item()
        return total

    steps(20)
    with torch_section():
        steps(500)


def infer(graph):
    """A net of many small layers, as calls or as a graph."""
    import torch

    torch.manual_seed(1)
    layers = [layer for _ in range(20) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    net = torch.nn.Sequential(*layers).cuda().eval()
    batch = torch.rand(64, 256, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(20):
                net(batch)
        torch.cuda.synchronize()
        run = lambda: net(batch)
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured):
                net(batch)
            run = captured.replay
        for _ in range(20):
            run()
        with torch_section():
            for _ in range(1500):
                run()
                torch.cuda.synchronize()


def first_use(warm):
    """Libraries are used for the first time, in the section or before."""
    import torch

    x, image = torch.rand(1024, 1024, device="cuda"), torch.rand(8, 16, 128, 128, device="cuda")
    weights = torch.rand(16, 16, 3, 3, device="cuda")

    def steps(count):
        for _ in range(count):
            (x @ x).relu()
            torch.nn.functional.conv2d(image, weights, padding=1)
            torch.cuda.synchronize()

    if warm:
        steps(1)
    with torch_section():
        steps(1000)


def interpret(rounds):
    """Computes in Python: about 0.4 µs a round."""
    total = 0
    for each in range(rounds):  # interprets
        total = (total * 3 + each) % 1009  # interprets
    return total


def tokens(fast):
    """Python prepares each batch."""
    import torch

    x = torch.rand(2048, 2048, device="cuda")

    def batches(count):
        for _ in range(count):
            interpret(20_000 if fast else 40_000)  # prepares
            torch.mm(x, x)
            torch.cuda.synchronize()

    batches(5)
    with torch_section():
        batches(250)


def threads_of_python(processes):
    """Four workers that compute in Python and launch: threads, or processes. The section begins when all have used their stream."""
    import torch

    def work(count, wait=lambda: None):
        x = torch.rand(512, 512, device="cuda")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for at in range(5 + count):
                if at == 5:
                    wait()
                interpret(4_000)
                torch.mm(x, x)
                stream.synchronize()

    if not processes:
        work(0)
        ready, go = threading.Barrier(5), threading.Barrier(5)
        threads = [threading.Thread(target=work, args=(300, lambda: (ready.wait(), go.wait()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        ready.wait()
        with torch_section():
            go.wait()
            for thread in threads:
                thread.join()
        return
    # The section ends when the last one is done: not with its end, which takes as long as its start.
    ready, go, done = [torch.zeros(4, dtype=torch.int32).share_memory_() for _ in range(3)]
    children = []
    for at in range(4):
        child = os.fork()
        if child == 0:

            def wait(at=at):
                ready[at] = 1
                while not go[0]:
                    time.sleep(0.0002)

            work(300, wait)
            torch.cuda.synchronize()
            done[at] = 1
            os._exit(0)
        children.append(child)
    while ready.sum() < 4:
        time.sleep(0.001)
    begin = time.monotonic_ns()
    go[0] = 1
    while done.sum() < 4 and time.monotonic_ns() - begin < 60e9:
        time.sleep(0.0001)
    print(f"section: {(time.monotonic_ns() - begin) / 1e6:.3f} ms")
    assert not any(os.waitpid(child, 0)[1] for child in children)


def cupy_upload(pinned):
    """Each batch comes from host memory."""
    import cupy
    import cupyx
    import numpy

    host = cupyx.empty_pinned((2048, 1024), "f4") if pinned else numpy.empty((2048, 1024), "f4")
    host[:] = 1
    batch, weights = cupy.empty((2048, 1024), "f4"), cupy.ones((1024, 1024), "f4")
    stream = cupy.cuda.Stream(non_blocking=True)

    def batches(count):
        with stream:
            for _ in range(count):
                batch.set(host, stream)
                cupy.tanh(batch @ weights).sum()
                stream.synchronize()

    batches(10)
    nvtx = cupy.cuda.nvtx
    with section(nvtx.RangePush, nvtx.RangePop, cupy.cuda.Device().synchronize):
        batches(700)


def streams(_):
    """Sums in six streams, each stream's one after the other."""
    import torch

    streams = [torch.cuda.Stream() for _ in range(6)]
    batches = [torch.rand(4000, 64, device="cuda") for _ in streams]
    torch.cuda.synchronize()

    def rounds(count):
        for _ in range(count):
            for stream, batch in zip(streams, batches):
                with torch.cuda.stream(stream):
                    for _ in range(6):
                        batch = batch.cumsum(0)
            torch.cuda.synchronize()

    rounds(10)
    with torch_section():
        rounds(300)


def jax_steps(_):
    """Gradient steps, compiled."""
    import jax
    import jax.numpy as jnp

    key = jax.random.key(1)
    weights = [jax.random.normal(key, (1024, 1024)) * 0.03 for _ in range(6)]
    batch = jax.random.normal(key, (2048, 1024))

    @jax.jit
    def step(weights):
        def loss(weights):
            x = batch
            for each in weights:
                x = jnp.tanh(x @ each)
            return (x * x).mean()

        return [each - 0.01 * slope for each, slope in zip(weights, jax.grad(loss)(weights))]

    for _ in range(5):
        weights = step(weights)
    with section(lambda _: None, lambda: None, lambda: jax.block_until_ready(weights)):
        for _ in range(500):
            weights = step(weights)
            float(weights[0][0, 0])


PROGRAMS = {
    "serve-own-stream": lambda after: serve(after, False),
    "serve-pinned": lambda after: serve(False, after),
    "serve-both": lambda after: serve(after, after),
    "train": train,
    "first-use": first_use,
    "infer": infer,
    "tokens": tokens,
    "threads": threads_of_python,
    "cupy-upload": cupy_upload,
    "streams": streams,
    "jax": jax_steps,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PROGRAMS or sys.argv[2] not in ("before", "after"):
        sys.exit(f"programs.py NAME before|after, where NAME is {' '.join(PROGRAMS)}")
    with profiled(os.environ.get("KINETO")):
        PROGRAMS[sys.argv[1]](sys.argv[2] == "after")
