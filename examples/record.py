"""Records traces like those in this folder with PyTorch's profiler, one situation each.

Two threads on one GPU, one copying to the host, the other launching a small kernel:
    stall           fresh pageable memory, both threads on the default stream
    stall-reused    the same pageable memory each time
    own-streams     fresh pageable memory, a stream for each thread
    pinned          pinned memory allocated once, a stream for each thread
    item            .item() instead of a copy, default stream

Something else beside the launches, in another stream:
    pinning         pinned memory allocated again and again

One thread, or several that do the same:
    staggered       four threads, each a long kernel and a pageable copy in its own stream
    frees           device memory freed while a kernel runs
    hidden-sync     results read while a kernel runs
    queue-full      more launches than a stream holds

    python record.py stall out.json.gz --stacks
"""

import argparse
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile

MS = 1_980_000  # cycles of the GPU's clock in about a millisecond on an H200


def copies(stop, variant, source):
    """Copies `source` to the host until told to stop."""
    pin = variant == "pinned"
    kept = torch.empty_like(source, device="cpu", pin_memory=pin) if variant in ("pinned", "stall-reused") else None
    while not stop.is_set():
        if variant == "item":
            source.sum().item()
        elif kept is None:
            torch.empty_like(source, device="cpu").copy_(source)
        else:
            kept.copy_(source, non_blocking=pin)
            torch.cuda.current_stream().synchronize()


def launches(stop, small):
    """Launches a small kernel until told to stop."""
    while not stop.is_set():
        torch.sin(small)


def in_stream(own, work, *arguments):
    """Runs `work`, in a stream of its own if asked to."""
    if own:
        with torch.cuda.stream(torch.cuda.Stream()):
            work(*arguments)
    else:
        work(*arguments)


def thread(name, own, work, *arguments):
    return threading.Thread(target=in_stream, args=(own, work, *arguments), name=name)


def copy_and_launch(options, seconds):
    stop, own = threading.Event(), options.variant in ("own-streams", "pinned")
    source = torch.rand(1024 if options.variant == "item" else options.mib << 18, device="cuda")
    small = torch.randn(1024, device="cuda")
    threads = [
        thread("copies", own, copies, stop, options.variant, source),
        thread("launches", own, launches, stop, small),
    ]
    for each in threads:
        each.start()
    time.sleep(seconds)
    stop.set()
    for each in threads:
        each.join()


def pinning(options, seconds):
    stop, small = threading.Event(), torch.randn(1024, device="cuda")
    other = thread("launches", True, launches, stop, small)
    other.start()
    time.sleep(0.02)
    end, kept = time.monotonic() + seconds, []
    while time.monotonic() < end:
        kept.append(torch.empty((options.mib << 20) + (len(kept) << 20), dtype=torch.uint8, pin_memory=True))
    stop.set()
    other.join()


def kernel_and_copy(cycles, source):
    torch.cuda._sleep(cycles)
    source.cpu()


def staggered(options, seconds):
    source = torch.randn(352 << 10, device="cuda")
    threads = [
        thread(f"worker {at}", True, kernel_and_copy, int(length * seconds * 1000 * MS), source)
        for at, length in enumerate([0.8, 0.7, 0.6, 0.5])
    ]
    for each in threads:
        each.start()
        time.sleep(0.01)
    for each in threads:
        each.join()


def frees(options, seconds):
    for _ in range(4):
        block = torch.empty(options.mib << 20, dtype=torch.uint8, device="cuda")
        torch.cuda._sleep(int(seconds * 250 * MS))
        del block
        torch.cuda.empty_cache()


def hidden_sync(options, seconds):
    small = torch.randn(1024, device="cuda")
    for _ in range(4):
        torch.cuda._sleep(int(seconds * 125 * MS))
        small.cpu()
        torch.cuda._sleep(int(seconds * 125 * MS))
        small.sum().item()


def queue_full(options, seconds):
    small = torch.randn(1024, device="cuda")
    torch.cuda._sleep(int(seconds * 1000 * MS))
    for _ in range(1500):
        torch.sin(small)


OTHERS = {
    "pinning": pinning,
    "staggered": staggered,
    "frees": frees,
    "hidden-sync": hidden_sync,
    "queue-full": queue_full,
}
COPIES = ["stall", "stall-reused", "own-streams", "pinned", "item"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=COPIES + list(OTHERS))
    parser.add_argument("out", help="a .json or .json.gz file")
    parser.add_argument("--seconds", type=float, default=1.2, help="length after a warm-up, about")
    parser.add_argument("--mib", type=int, default=64, help="size of a copy or an allocation")
    parser.add_argument("--stacks", action="store_true", help="record operators and Python functions too")
    options = parser.parse_args()

    run = OTHERS.get(options.variant, copy_and_launch)
    run(options, 0.05)
    torch.cuda.synchronize()
    activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if options.stacks else [])
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=options.stacks)
    with profile(activities=activities, with_stack=options.stacks, experimental_config=config) as recorded:
        run(options, options.seconds)
        torch.cuda.synchronize()
    recorded.export_chrome_trace(options.out)


if __name__ == "__main__":
    main()
