"""Programs without a regression, and with one planted: `record.py`. A planted line ends with its name: `# plant: item`.

    programs.py NAME [PLANT]
"""

import sys
import threading
import time

PLANT = sys.argv[2] if len(sys.argv) > 2 else ""


def interpret(rounds):
    total = 0
    for each in range(rounds):  # plant: compute
        total = (total * 3 + each) % 1009  # plant: compute
    return total


def train():
    """A training loop in PyTorch that reads its loss every 25 steps."""
    import torch

    torch.manual_seed(1)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    net = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    batches = [torch.rand(4096, 1024) for _ in range(4)]
    if PLANT != "pageable":
        batches = [batch.pin_memory() for batch in batches]
    total = torch.zeros((), device="cuda")
    losses = []
    torch.cuda.synchronize()
    begin = time.monotonic()
    for step in range(150):
        torch.cuda.nvtx.range_push(f"step {step}")
        batch = batches[step % len(batches)].to("cuda", non_blocking=True)  # plant: pageable
        if PLANT == "sleep":
            time.sleep(0.006)  # plant: sleep
        if PLANT == "compute":
            interpret(60_000)  # plant: compute
        if PLANT == "first" and step == 100:
            torch.fft.rfft(batch).abs().sum()  # plant: first
        if PLANT == "nonzero":
            (batch > 0.999).nonzero()  # plant: nonzero
        loss = net(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if PLANT == "item":
            losses.append(loss.item())  # plant: item
        if PLANT == "empty-cache":
            torch.cuda.empty_cache()  # plant: empty-cache
        if step % 25 == 24:
            losses.append(total.item())
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    return time.monotonic() - begin


def serve():
    """Two threads answer requests with a net of PyTorch, each in its stream, from and to pinned memory."""
    import torch

    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU()]
    layers += [torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 3, 3, padding=1)]
    net = torch.nn.Sequential(*layers).cuda().eval()
    image = torch.rand(16, 3, 256, 256).pin_memory()
    lock, done = threading.Lock(), threading.Event()

    @torch.no_grad()
    def request(stream, result):
        batch = image.to("cuda", non_blocking=True)
        answer = net(batch)
        if PLANT == "cpu":
            answer.cpu()  # plant: cpu
        else:
            result.copy_(answer, non_blocking=True)
        stream.synchronize()  # plant: lock

    def requests(count):
        stream, result = torch.cuda.Stream(), torch.empty_like(image).pin_memory()
        with torch.cuda.stream(stream):
            for _ in range(count):
                if PLANT == "lock":
                    with lock:  # plant: lock
                        request(stream, result)  # plant: lock
                else:
                    request(stream, result)

    def hog():
        total = 0
        while not done.is_set():  # plant: gil
            total = (total * 3 + 1) % 1009  # plant: gil

    requests(5)
    begin = time.monotonic()
    threads = [threading.Thread(target=requests, args=(120,), name=f"server {at}") for at in range(2)]
    beside = [threading.Thread(target=hog, name="hog")] if PLANT == "gil" else []
    for thread in threads + beside:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    for thread in beside:
        thread.join()
    return time.monotonic() - begin


NBODY = r"""
extern "C" __global__ void attract(const float4* bodies, float4* moved, int count, int which) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count)
        return;
    float4 own = bodies[at];
    float x = 0, y = 0, z = 0;
    for (int other = 0; other < count; other++) {
        float4 there = bodies[other];
        float dx = there.x - own.x, dy = there.y - own.y, dz = there.z - own.z;
        float near = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        near = near * near * near * there.w;
        x += dx * near, y += dy * near, z += dz * near;
    }
    moved[at] = make_float4(own.x + 1e-6f * x, own.y + 1e-6f * y, own.z + 1e-6f * z, own.w);
}
"""


def simulate():
    """A simulation in CuPy that reads its energy every 20 steps."""
    import cupy

    count, size, none = 16384, cupy.int32(16384), cupy.int32(0)
    attract = cupy.RawKernel(NBODY, "attract")
    bodies = cupy.random.default_rng(1).random((count, 4), dtype=cupy.float32)
    moved, energy = cupy.empty_like(bodies), cupy.zeros((), cupy.float32)
    pool, seen = cupy.get_default_memory_pool(), []
    attract((count // 128,), (128,), (bodies, moved, size, none))
    energy += cupy.square(moved).sum()
    float(energy)
    begin = time.monotonic()
    for step in range(200):
        cupy.cuda.nvtx.RangePush(f"step {step}")
        for _ in range(2):
            attract((count // 128,), (128,), (bodies, moved, size, none))
            bodies, moved = moved, bodies
        if PLANT == "compile" and step == 120:
            # A source that no cache has.
            new = NBODY.replace("1e-6f", f"1.{time.time_ns()}e-6f")
            cupy.RawKernel(new, "attract")((count // 128,), (128,), (bodies, moved, size, none))  # plant: compile
        energy += cupy.square(moved).sum()
        if PLANT == "float":
            seen.append(float(energy))  # plant: float
        if PLANT == "get":
            seen.append(bodies.get())  # plant: get
        if PLANT == "free":
            pool.free_all_blocks()  # plant: free
        if step % 20 == 19:
            seen.append(float(energy))
        cupy.cuda.nvtx.RangePop()
    cupy.cuda.Device().synchronize()
    return time.monotonic() - begin


PROGRAMS = {"train": train, "serve": serve, "simulate": simulate}

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in PROGRAMS:
        sys.exit(__doc__)
    print(f"{1000 * PROGRAMS[sys.argv[1]]():.0f} ms", flush=True)
