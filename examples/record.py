"""Records the traces in this folder: two threads on one GPU under PyTorch's profiler.

One thread copies from the device to the host, the other launches a small kernel, for SECONDS
after a warm-up. The variants differ in where the copy goes and which streams the threads use:

    python record.py stall out.json.gz            fresh pageable memory, both on the default stream
    python record.py own-streams out.json.gz      the same with a stream for each thread
    python record.py pinned out.json.gz           pinned memory allocated once, own streams
    python record.py item out.json.gz             .item() instead of a copy, default stream

--stacks adds Python call stacks, --sync the profiler's synchronization records.
"""

import argparse
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile


def copies(stop, variant, source):
    """Copies `source` to the host until told to stop."""
    pinned = torch.empty(source.shape, dtype=source.dtype, pin_memory=True) if variant == "pinned" else None
    while not stop.is_set():
        if variant == "item":
            source.sum().item()
        elif pinned is not None:
            pinned.copy_(source, non_blocking=True)
            torch.cuda.current_stream().synchronize()
        else:
            torch.empty(source.shape, dtype=source.dtype).copy_(source)


def launches(stop, small):
    """Launches a small kernel until told to stop."""
    while not stop.is_set():
        torch.sin(small)


def in_stream(own, work, *arguments):
    """Runs `work` in a stream of its own if asked to."""
    if own:
        with torch.cuda.stream(torch.cuda.Stream()):
            work(*arguments)
    else:
        work(*arguments)


def both_threads(variant, source, small, seconds):
    stop = threading.Event()
    own = variant in ("own-streams", "pinned")
    threads = [
        threading.Thread(target=in_stream, args=(own, copies, stop, variant, source), name="copies"),
        threading.Thread(target=in_stream, args=(own, launches, stop, small), name="launches"),
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=["stall", "own-streams", "pinned", "item"])
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=1.2)
    parser.add_argument("--mib", type=int, default=64, help="size of the copy")
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--sync", action="store_true")
    options = parser.parse_args()

    elements = 1024 if options.variant == "item" else options.mib << 18
    source = torch.rand(elements, device="cuda")
    small = torch.randn(1024, device="cuda")
    both_threads(options.variant, source, small, 0.2)

    activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if options.stacks else [])
    config = torch._C._profiler._ExperimentalConfig(
        enable_cuda_sync_events=options.sync, profile_all_threads=options.stacks
    )
    with profile(activities=activities, with_stack=options.stacks, experimental_config=config) as recorded:
        both_threads(options.variant, source, small, options.seconds)
    recorded.export_chrome_trace(options.out)


if __name__ == "__main__":
    main()
