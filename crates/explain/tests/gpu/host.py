#!/usr/bin/env python3
"""Programs that lose their time on the host for a reason that has a name, and two that lose none. Recorded, `explain` must say the reason
first, at the line that is marked `HERE`, with what does it. Needs a GPU, PyTorch, and JAX and CuPy for some; programs of a package
that is not there are passed over.

    host.py [NAME…]            default: all
    host.py --run NAME         runs a program, and nothing else
    host.py --check FOLDER     looks at recordings that were kept before; needs no GPU

HOLDUP    the holdup to run (default: target/release/holdup)
KEEP      a folder for the recordings (NAME.holdup) and the first screens (NAME.txt)
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[4] / "target/release/holdup"))


def rate(step, seconds=3, warm_up=3):
    """Runs `step(number)` for some time, and prints how often that was a second."""
    for number in range(warm_up):
        step(number)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step(warm_up + count)
        count += 1
    print(f"{count / (time.perf_counter() - start):.1f} steps/s", file=sys.stderr)


def model(width=1024, count=6):
    import torch

    layers = [layer for _ in range(count) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers).cuda()


def trained(layers, batch, optimizer):
    loss = layers(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def fitted():
    """A model, its optimizer, and a batch that keeps the GPU busy for some milliseconds."""
    import torch

    layers = model()
    return layers, torch.optim.SGD(layers.parameters(), 1e-3), torch.rand(4096, 1024, device="cuda")


class Images:
    """Made by Python, slowly."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, at):
        import torch

        image = torch.rand(1024)
        for _ in range(40):
            image = image.roll(at % 7) * 0.99  # HERE:loader
        return image


def loader():
    """A loader without workers makes each batch when it is asked for."""
    import torch

    layers, optimizer, _ = fitted()
    batches = iter(torch.utils.data.DataLoader(Images(), batch_size=64))
    rate(lambda _: trained(layers, next(batches).cuda(), optimizer))


def workers():
    """A loader whose two workers are too slow."""
    import torch

    torch.set_num_threads(1)
    layers, optimizer, _ = fitted()
    batches = iter(torch.utils.data.DataLoader(Images(), batch_size=256, num_workers=2))
    rate(lambda _: trained(layers, next(batches).cuda(), optimizer))  # HERE:workers


def checkpoint():
    """The model is saved at each 20th step."""
    import torch

    layers, optimizer, batch = fitted()
    path = pathlib.Path(tempfile.mkdtemp()) / "model.pt"

    def step(number):
        trained(layers, batch, optimizer)
        if number % 20 == 19:
            torch.save(layers.state_dict(), path)  # HERE:checkpoint

    rate(step)


def collected():
    """Garbage is collected at each step, among many objects that live long."""
    import gc

    layers, optimizer, batch = fitted()
    living = [[number] for number in range(400_000)]

    def step(_):
        trained(layers, batch, optimizer)
        gc.collect()  # HERE:collected

    rate(step)
    assert living


def tensorwise():
    """An optimizer that updates one tensor of many at a time."""
    import torch

    layers = model(128, 60)
    optimizer = torch.optim.AdamW(layers.parameters(), foreach=False)
    batch = torch.rand(64, 128, device="cuda")

    def step(_):
        loss = layers(batch).pow(2).mean()
        loss.backward()
        optimizer.step()  # HERE:tensorwise

    rate(step)


def fed():
    """Batches of NumPy's are given to JAX as they are."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    weight = jnp.full((4096, 1024), 0.01)
    batches = [np.random.rand(4096, 4096).astype(np.float32) for _ in range(4)]
    infer = jax.jit(lambda weight, batch: jnp.tanh(batch @ weight).sum())
    rate(lambda number: float(infer(weight, batches[number % 4])))  # HERE:fed


def specialized():
    """A Triton kernel has a constant that is another one in each step."""
    import torch
    import triton
    import triton.language as tl

    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    source = pathlib.Path(tempfile.mkdtemp()) / "kernels.py"
    source.write_text(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef scale(x, n, K: tl.constexpr, B: tl.constexpr):\n"
        "    at = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(x + at, tl.load(x + at, at < n) * K, at < n)\n"
    )
    sys.path.insert(0, str(source.parent))
    import kernels

    assert triton and tl
    data = torch.rand(1 << 20, device="cuda")

    def step(number):
        kernels.scale[(1024,)](data, data.numel(), number + 3, 1024)  # HERE:specialized
        for _ in range(8):
            data.mul_(0.999)

    rate(step)


def written():
    """CuPy compiles a kernel whose source has a number in it that changes."""
    import cupy

    data = cupy.ones(1 << 20, cupy.float32)

    def step(number):
        code = f'extern "C" __global__ void scale(float* x) {{ x[blockIdx.x * 256 + threadIdx.x] *= {number + 1}.0f; }}'
        cupy.RawKernel(code, "scale")((4096,), (256,), (data,))  # HERE:written
        for _ in range(8):
            cupy.multiply(data, 0.5, out=data)

    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    rate(step)


def saved():
    """An array is written with NumPy at each 10th step."""
    import numpy

    layers, optimizer, batch = fitted()
    path = pathlib.Path(tempfile.mkdtemp()) / "batch.npy"

    def step(number):
        loss = trained(layers, batch, optimizer)
        if number % 10 == 9:
            numpy.save(path, batch.cpu().numpy())  # HERE:saved
        return loss

    rate(step)


def busy():
    """Control: the GPU has work all the time."""
    import torch

    layers, optimizer, _ = fitted()
    batch = torch.rand(32768, 1024, device="cuda")

    def step(number):
        loss = trained(layers, batch, optimizer)
        if number % 10 == 9:
            loss.item()

    rate(step)


def overlapped():
    """Control: batches are copied from pinned memory while the step before runs."""
    import torch

    layers, optimizer, _ = fitted()
    side = torch.cuda.Stream()
    pinned = [torch.rand(16384, 1024).pin_memory() for _ in range(2)]
    following = pinned[0].cuda()

    def step(number):
        nonlocal following
        batch = following
        with torch.cuda.stream(side):
            following = pinned[number % 2].to("cuda", non_blocking=True)
        loss = trained(layers, batch, optimizer)
        torch.cuda.current_stream().wait_stream(side)
        following.record_stream(torch.cuda.current_stream())
        if number % 10 == 9:
            loss.item()

    rate(step)


# Each program with the causes that may be first, and what does it: the word for it, or a function or library below the line.
PROGRAMS = {
    loader: (("data-loading",), "DataLoader"),
    workers: (("data-loading",), "DataLoader"),
    checkpoint: (("file-writing",), "torch.save"),
    collected: (("garbage-collection",), "collector"),
    tensorwise: (("own-work", "host-code"), "torch.optim"),
    fed: (("feeding",), "device_put"),
    specialized: (("kernel-build",), "Triton"),
    written: (("kernel-build",), "NVRTC"),
    saved: (("file-writing",), "numpy.save"),
    busy: ((), ""),
    overlapped: ((), ""),
}
NAMED = {program.__name__: program for program in PROGRAMS}
PACKAGES = {"fed": "jax", "written": "cupy", "specialized": "triton"}


def line_of(name):
    marks = [at for at, text in enumerate(HERE.read_text().splitlines(), 1) if text.endswith(f"# HERE:{name}")]
    return marks[0] if marks else None


def look(name, trace):
    """Whether the first screen of a recording says what its program does; prints the screen."""
    causes, work = PROGRAMS[NAMED[name]]
    screen = subprocess.run([HOLDUP, "explain", trace], capture_output=True, text=True, check=True).stdout
    if keep := os.environ.get("KEEP"):
        pathlib.Path(keep, f"{name}.txt").write_text(screen)
    verdict = screen.split("\n\n")[1]
    explained = subprocess.run([HOLDUP, "explain", "--format", "json", trace], capture_output=True, text=True, check=True)
    explained = json.loads(explained.stdout)
    findings = explained["findings"]
    if not causes:
        first = " ".join(verdict.split()).partition(":")
        right = first[0].startswith("GPU 0 was busy") and first[2].startswith(" nothing on the host holds it up")
    else:
        first = findings[0] if findings else {"cause": None, "where": [], "work": None, "inner": []}
        lines = [place["line"] for place in first["where"][:1] if place["file"].endswith("host.py")]
        right = first["cause"] in causes and lines == [line_of(name)] and work in (first["work"] or "")
        if name == "workers":
            right = right and [place["line"] for place in first["inner"]] == [line_of("loader")]
    print(f"{'right' if right else 'WRONG'}  {name}\n{verdict}\n")
    return right


def lacks(name):
    """Why a program cannot run here; nothing if it can."""
    missing = [package for package in ("torch", PACKAGES.get(name, "torch")) if importlib.util.find_spec(package) is None]
    return f"no {missing[0]}" if missing else None


def measure(name):
    with tempfile.TemporaryDirectory() as folder:
        trace = str(pathlib.Path(os.environ.get("KEEP", folder), f"{name}.holdup"))
        run = [HOLDUP, "record", "--force", "-o", trace, sys.executable, str(HERE), "--run", name]
        recorded = subprocess.run(run, capture_output=True, text=True)
        if recorded.returncode:
            print(f"WRONG  {name} ended with {recorded.returncode}\n{recorded.stderr[-2000:]}")
            return False
        print([text for text in recorded.stderr.splitlines() if "steps/s" in text])
        return look(name, trace)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        return NAMED[arguments[1]]()
    if arguments[:1] == ["--check"]:
        folder = pathlib.Path(arguments[1])
        results = {name: look(name, str(folder / f"{name}.holdup")) for name in NAMED if (folder / f"{name}.holdup").exists()}
    else:
        results = {}
        for name in arguments or NAMED:
            if why := lacks(name):
                print(f"{name}: {why}, passed over")
            else:
                results[name] = measure(name)
    wrong = [name for name, right in results.items() if not right]
    print(f"{len(results) - len(wrong)} of {len(results)} right; wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
