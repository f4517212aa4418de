#!/usr/bin/env python3
"""Loops whose steps are known: each program times its own loop, from synchronization to synchronization. Recorded, `explain` must find
as many steps, and their mean and median must be what the program measured, within 2 %. Needs a GPU and PyTorch; programs of a package
that is not there are passed over.

    steps.py [NAME…]            default: all
    steps.py --run NAME         runs a program, and nothing else
    steps.py --check FOLDER     compares recordings that were kept before; needs no GPU

HOLDUP    the holdup to run (default: target/release/holdup)
KEEP      a folder for the recordings (NAME.holdup) and what the programs printed (NAME.json)
"""

import importlib.util
import json
import os
import pathlib
import queue
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))
# How far a mean or median may be off.
TOLERANCE = 0.02


def timed(step, count, warm_up=10, synchronize=None, median=True):
    """Runs `step(number)`; prints how many there were, and how long those after the first ones took: in the mean by the clock, in the
    median by events on the GPU, where PyTorch has some."""
    events = []
    if synchronize is None:
        import torch

        synchronize = torch.cuda.synchronize
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
    for number in range(warm_up):
        step(number)
    synchronize()
    start = time.perf_counter_ns()
    for number in range(count):
        step(warm_up + number)
        if events:
            events[number].record()
    synchronize()
    mean = (time.perf_counter_ns() - start) / count
    took = [before.elapsed_time(after) * 1e6 for before, after in zip(events, events[1:])]
    print(json.dumps({"steps": warm_up + count, "mean_ns": mean, "median_ns": statistics.median(took) if took and median else None}))


def layers(count, width, *between):
    import torch

    made = []
    for _ in range(count):
        made += [torch.nn.Linear(width, width), *(kind() for kind in between)]
    return torch.nn.Sequential(*made).cuda()


def descend(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def training():
    """A step that the GPU takes some 25 ms for and the host 4; the host waits for the loss at each 20th step."""
    import torch

    model, data = layers(12, 2048, torch.nn.GELU), torch.rand(4096, 2048, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(number):
        loss = model(data).pow(2).mean()
        descend(optimizer, loss)
        if number % 20 == 19:
            loss.item()

    return step


def asynchronous():
    """The host runs ahead of the GPU."""
    timed(training(), 300)


def eager():
    """The host's launches are the limit, of an optimizer that has some for each parameter."""
    import torch

    model, data = layers(12, 256, torch.nn.GELU), torch.rand(64, 256, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step(number):
        loss = model(data).pow(2).mean()
        descend(optimizer, loss)

    timed(step, 300)


def masked():
    """What the step computes with depends on the data."""
    import torch

    torch.manual_seed(0)
    model = layers(8, 512, torch.nn.GELU)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(number):
        out = model(torch.rand(2048, 512, device="cuda"))
        chosen = out[out.abs().mean(1) > out.abs().mean() + 0.0001 * (number % 7)]
        loss = chosen.pow(2).mean()
        descend(optimizer, loss)
        for _ in range(number % 3):
            loss = loss.sqrt()
        loss.item()

    timed(step, 300)


def decode():
    """A token at a time, with a cache that grows: as language models generate."""
    import torch

    torch.manual_seed(0)
    width, heads, depth, longest = 1024, 16, 12, 512
    half = dict(device="cuda", dtype=torch.float16)
    weights = [[torch.randn(width, 4 * width, **half) * 0.01, torch.randn(2 * width, width, **half) * 0.01] for _ in range(depth)]
    embedding = torch.randn(8192, width, **half)
    keys, values = (torch.zeros(depth, heads, longest, width // heads, **half) for _ in range(2))
    token = torch.zeros(1, dtype=torch.long, device="cuda")

    def step(number):
        nonlocal token
        x = embedding[token]
        for layer, (into, out) in enumerate(weights):
            query, key, value, rest = torch.nn.functional.layer_norm(x, (width,)).matmul(into).chunk(4, -1)
            keys[layer, :, number], values[layer, :, number] = key.view(heads, -1), value.view(heads, -1)
            seen, of = keys[layer, :, : number + 1], values[layer, :, : number + 1]
            mixed = torch.nn.functional.scaled_dot_product_attention(query.view(heads, 1, -1), seen, of)
            x = x + torch.cat([mixed.reshape(1, width), torch.nn.functional.gelu(rest)], -1).matmul(out)
        token = x.matmul(embedding.t()).argmax(-1)
        token.item()

    timed(step, 400)


def accumulated():
    """Four small batches, then one step of the optimizer: one step of the program."""
    import torch

    model, data = layers(6, 1024, torch.nn.GELU), torch.rand(4, 1024, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)

    def step(number):
        for part in data:
            model(part).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    timed(step, 200)


def validated():
    """Each 50th step is followed by ten batches of validation, which are not steps."""
    import torch

    model, data = layers(8, 1024, torch.nn.GELU), torch.rand(8192, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(number):
        loss = model(data).pow(2).mean()
        descend(optimizer, loss)
        if number % 50 == 49:
            with torch.no_grad():
                sum(model(data).pow(2).mean() for _ in range(10)).item()

    timed(step, 300)


def varied():
    """Batches of very different lengths."""
    import torch

    rng = random.Random(0)
    model, optimizer = layers(8, 1024, torch.nn.GELU), None
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(number):
        loss = model(torch.ones(256 * rng.randint(1, 24), 1024, device="cuda")).pow(2).mean()
        descend(optimizer, loss)
        if number % 25 == 24:
            loss.item()

    # A median of 24 lengths is one of them: the first steps decide which.
    timed(step, 300, median=False)


def replayed():
    """Replays of a graph, for which the host waits at each 25th."""
    import torch

    model, data = layers(24, 2048, torch.nn.GELU), torch.rand(2048, 2048, device="cuda")
    with torch.no_grad():
        model(data)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(data).sum()

    def step(number):
        graph.replay()
        if number % 25 == 24:
            out.item()

    timed(step, 400)


def marked():
    """As `asynchronous`, with each step marked by the program."""
    import torch

    work = training()

    def step(number):
        with torch.cuda.nvtx.range(f"step {number}"):
            work(number)

    timed(step, 300)


def jax():
    """JAX; the loss is read at each 10th step."""
    import jax
    import jax.numpy as jnp

    key = jax.random.PRNGKey(0)
    weights = [jax.random.normal(key, (2048, 2048)) * 0.02 for _ in range(8)]
    data = jax.random.normal(key, (2048, 2048))

    @jax.jit
    def update(weights):
        def loss(weights):
            x = data
            for weight in weights:
                x = jnp.tanh(x @ weight)
            return (x**2).mean()

        value, slopes = jax.value_and_grad(loss)(weights)
        return value, [weight - 0.01 * slope for weight, slope in zip(weights, slopes)]

    value = None

    def step(number):
        nonlocal weights, value
        value, weights = update(weights)
        if number % 10 == 9:
            float(value)

    timed(step, 300, synchronize=lambda: value.block_until_ready())


def rank(number, port, is_printing):
    import torch

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    gpus = torch.cuda.device_count()
    if gpus == 1:
        # NCCL takes two ranks on one GPU for two on as many hosts, and connects them through a socket.
        os.environ |= {"NCCL_HOSTID": str(number), "NCCL_SOCKET_IFNAME": "lo"}
    gpu = number % gpus
    torch.cuda.set_device(gpu)
    torch.distributed.init_process_group("nccl", rank=number, world_size=2)
    model, data = layers(8, 1024, torch.nn.GELU), torch.rand(2048, 1024, device="cuda")
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[gpu])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(at):
        if number == 1:
            until = time.perf_counter() + 0.003
            while time.perf_counter() < until:
                pass
        loss = model(data).pow(2).mean()
        descend(optimizer, loss)
        if at % 20 == 19:
            loss.item()

    output = os.dup(1)
    if not is_printing(number):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    timed(step, 200)
    sys.stdout.flush()
    os.dup2(output, 1)
    torch.distributed.destroy_process_group()


def is_first(number):
    return number == 0


class Clock:
    """The times of requests, by whichever thread."""

    def __init__(self):
        self.took = []
        self.start = None

    def served(self, since):
        self.start = self.start or since
        self.end = time.perf_counter_ns()
        self.took.append(self.end - since)

    def print(self, durations=True):
        seconds, count = (self.end - self.start) / 1e9, len(self.took)
        took = {"mean_ns": sum(self.took) / count, "median_ns": statistics.median(self.took)}
        print(json.dumps({"steps": FIRST + count, "per_second": count / seconds} | (took if durations else {})))


# Requests of a client, those that come before and are not timed, and the rows of 1,024 numbers of one.
REQUESTS, FIRST, ROWS = 400, 5, 64


def client(port, connections):
    """Sends requests to a server and thinks up to 6 ms after each: by one connection, or each by one of its own."""
    rng, body = random.Random(port), bytes(4 * 1024 * ROWS)
    channel = None
    for _ in range(REQUESTS):
        if channel is None:
            channel = socket.create_connection(("127.0.0.1", port))
        channel.sendall(body)
        read(channel, 4 * ROWS)
        if connections == "several":
            channel.close()
            channel = None
        time.sleep(rng.random() * 0.006)


def read(channel, size):
    """Reads that many bytes; none at the end."""
    parts = []
    while size:
        parts.append(channel.recv(size))
        if not parts[-1]:
            return b""
        size -= len(parts[-1])
    return b"".join(parts)


def answers():
    """A model's answer to a request; the first one takes long."""
    import torch

    model = layers(64, 1024, torch.nn.GELU).eval()

    @torch.inference_mode()
    def answer(body):
        data = torch.frombuffer(bytearray(body), dtype=torch.float32).view(-1, 1024).cuda()
        return model(data).mean(1).cpu().numpy().tobytes()

    for _ in range(FIRST):
        answer(bytes(4 * 1024 * ROWS))
    return answer


def clients(port, count, connections):
    command = [sys.executable, str(HERE), "--client", str(port), connections]
    return [subprocess.Popen(command) for _ in range(count)]


def served():
    """A server with one thread and one connection."""
    answer = answers()
    with socket.create_server(("127.0.0.1", 0)) as server:
        (running,) = clients(server.getsockname()[1], 1, "one")
        channel, _ = server.accept()
        clock = Clock()
        while head := channel.recv(1024):
            start = time.perf_counter_ns()
            channel.sendall(answer(head + read(channel, 4 * 1024 * ROWS - len(head))))
            clock.served(start)
        clock.print()
        running.wait()


def handled():
    """A server with a thread for each connection, which has one request. A thread is known from its first call, wait or sample on, so
    the requests take a little longer than is seen, and only their rate is compared."""
    import socketserver

    answer = answers()
    clock = Clock()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            start = time.perf_counter_ns()
            self.request.sendall(answer(read(self.request, 4 * 1024 * ROWS)))
            clock.served(start)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        for one in clients(server.server_address[1], 2, "several"):
            one.wait()
        server.shutdown()
    clock.print(durations=False)


def pooled():
    """Four threads that take requests from a queue, each with a stream of its own."""
    import torch

    answer, requests, clock = answers(), queue.Queue(8), Clock()

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            while body := requests.get():
                start = time.perf_counter_ns()
                answer(body)
                clock.served(start)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(4 * REQUESTS):
        requests.put(bytes(4 * 1024 * ROWS))
    for _ in threads:
        requests.put(b"")
    for thread in threads:
        thread.join()
    clock.print()


def ranks():
    """Two ranks, of which the second computes 3 ms more on the host: on two GPUs, or sharing one."""
    import torch

    torch.multiprocessing.spawn(rank, args=(29400 + os.getpid() % 500, is_first), nprocs=2)


PROGRAMS = {
    program.__name__: program
    for program in (asynchronous, eager, masked, decode, accumulated, validated, varied, replayed, marked, jax, ranks, served, handled, pooled)
}


def lacks(name):
    """Why a program cannot run here; nothing if it can."""
    package = "jax" if name == "jax" else "torch"
    return None if importlib.util.find_spec(package) else f"no {package}"


def compare(name, printed, trace):
    """Whether the steps of a recording are those that its program measured; prints both."""
    explained = subprocess.run([HOLDUP, "explain", "--format", "json", trace], capture_output=True, text=True, check=True)
    steps = json.loads(explained.stdout)["steps"]
    if steps is None:
        print(f"{name}: WRONG: no steps; printed {printed}")
        return False
    figures = ("median_ns", "mean_ns", "per_second")
    off = {key: steps[key] / printed[key] - 1 for key in figures if printed.get(key)}
    # The first one may lack kernels that the others have, and the last one ends where no other begins.
    all_steps = steps["count"] + steps["warm_up"]
    is_well = abs(all_steps - printed["steps"]) <= 2 and all(abs(value) <= TOLERANCE for value in off.values())
    figures = ", ".join(f"{key} {steps[key]:,.0f} for {printed[key]:,.0f} ({off[key]:+.1%})" for key in off)
    counts = f"{all_steps} steps of {printed['steps']}, {len(steps['slow'])} slow"
    print(f"{name}: {'well' if is_well else 'WRONG'}: {counts}; {figures}; {steps['source']}")
    return is_well


def test(name, folder):
    why = lacks(name)
    if why:
        print(f"{name}: passed over: {why}")
        return True
    trace = f"{folder}/{name}.holdup"
    command = [HOLDUP, "record", "--quiet", "--force", "-o", trace, "--", sys.executable, str(HERE), "--run", name]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        print(f"{name}: WRONG: status {run.returncode}: {run.stderr[-500:]}")
        return False
    printed = json.loads(run.stdout.strip().splitlines()[-1])
    pathlib.Path(folder, f"{name}.json").write_text(json.dumps(printed))
    return compare(name, printed, trace)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        PROGRAMS[arguments[1]]()
        return
    if arguments[:1] == ["--client"]:
        client(int(arguments[1]), arguments[2])
        return
    if arguments[:1] == ["--check"]:
        folder = pathlib.Path(arguments[1])
        results = [compare(file.stem, json.loads(file.read_text()), str(file.with_suffix(".holdup"))) for file in sorted(folder.glob("*.json"))]
        sys.exit(not all(results))
    with tempfile.TemporaryDirectory() as own:
        folder = os.environ.get("KEEP", own)
        results = [test(name, folder) for name in arguments or PROGRAMS]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
