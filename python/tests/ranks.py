"""Traces as PyTorch's profiler writes them, of ranks that reduce gradients in each step; one of them may be late."""

import json
from pathlib import Path

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BASE_NS = 1_790_000_000_000_000_000


def write(
    folder: Path,
    ranks: int = 4,
    *,
    steps: int = 12,
    late: int = 1,
    late_us: float = 3000,
    world: int | None = None,
    stated: bool = True,
    ahead=lambda rank, step: 137.0 * rank,
    only=None,
    place: str = "ddp.py(31): augment",
    host=lambda rank: f"node{rank // 2}",
    skips=lambda rank: 0,
    irregular: int = 1,
    buckets: bool = False,
    pairs: bool = False,
) -> list[Path]:
    """Writes the traces, rank0.json and so on. `ahead` is by how much a rank's clock is ahead in a step, us; `skips` how many of the
    first steps its trace lacks. With `buckets`, a first bucket is reduced while the rank still computes; with `pairs`, only between two ranks
    each, and the traces state the communicators."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank in range(ranks):
        if only is not None and rank not in only:
            continue
        path = folder / f"rank{rank}.json"
        body = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "hostname": host(rank)}
        body["deviceProperties"] = [{"id": 0, "name": "NVIDIA H100"}]
        if stated:
            body["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world or ranks}
        events = _events(rank, ranks, steps, late_us if rank == late else 0.0, late_us, ahead, place, skips(rank), irregular, buckets or pairs, late if pairs else None)
        path.write_text(json.dumps(body | {"traceEvents": events}))
        paths.append(path)
    return paths


def _events(rank, ranks, steps, own, late_us, ahead, place, skips, irregular, buckets, late):
    events, now = [], 1000.0
    for step in range(steps):
        at = ahead(rank, step)
        took = len(events)
        pair = [rank // 2 * 2, rank // 2 * 2 + 1]
        stated = {"In msg nelems": 1 << 20, "dtype": "BFloat16"} if late is not None else {}
        of_pair = stated | ({"Process Group Name": f"{rank // 2 + 1}", "Process Group Ranks": str(pair)} if stated else {})
        of_all = stated | ({"Process Group Name": "0", "Process Group Ranks": list(range(ranks))} if stated else {})
        waited = late_us if late is None or late in pair else 0.0

        def event(category, name, start, length, tid=0, at=at, **args):
            pid = 0 if category == "kernel" else 4000 + rank
            events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid or 4000 + rank, "ts": start + at, "dur": length, "args": args})

        begun, noise = now, 5.0 * ((rank * 7 + step) % 5)
        now += 100 + noise + own
        if own:
            event("python_function", place, begun + 100 + noise, own, **{"Python id": step * 4 + 2})
        for kernel in range(3):
            correlation = step * 10 + kernel + 1
            event("cuda_runtime", "cudaLaunchKernel", now, 6.0, correlation=correlation)
            event("kernel", "gemm", now + 10, 40.0, 7, correlation=correlation, stream=7, device=0, context=1)
            now += 50
        if buckets:
            # Launched after the first kernel; ends 400 us after the last rank's has begun, while the later kernels run.
            event("cuda_runtime", "cudaLaunchKernel", now - 90, 6.0, correlation=step * 10 + 8)
            begin, end = now - 80, begun + 100 + 20 + waited + 150 + 400
            event("kernel", NCCL, begin, end - begin, 20, correlation=step * 10 + 8, stream=20, device=0, context=1, **of_pair)
            event("cuda_runtime", "cudaLaunchKernel", now, 6.0, correlation=step * 10 + 7)
            event("kernel", "gemm", now + 10, 350.0, 7, correlation=step * 10 + 7, stream=7, device=0, context=1)
            now = end
        correlation = step * 10 + 9
        event("cuda_runtime", "cudaLaunchKernel", now, 6.0, correlation=correlation)
        # All end together: 200 us after the last has begun.
        end = begun + 100 + 20 + late_us + 150 + (700 if buckets else 200) + (step * 37 * irregular) % 91 * 10
        event("kernel", NCCL, now + 8, end - now - 8, 20, correlation=correlation, stream=20, device=0, context=1, **of_all)
        event("cuda_runtime", "cudaStreamSynchronize", now + 10, end - now - 5, correlation=correlation + 1)
        now = end + 20
        event("user_annotation", f"ProfilerStep#{step}", begun, now - begun - 1)
        if step < skips:
            del events[took:]
    return events
