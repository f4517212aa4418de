#!/usr/bin/env python3
"""Two ranks of DistributedDataParallel, of which the second computes 3 ms more a step on the host, at a line and for a time that are
known: recorded, and profiled by PyTorch, holdup must name that rank, that line and that part of the GPUs' time, within 3 points.
`even` is the control: both compute, and ranks wait for each other for less than 50 µs a collective. Needs two GPUs with NCCL, and
PyTorch.

    ddp.py [--traces DIR] [late] [even]     records and checks; default: both
    ddp.py --check DIR [late] [even]        checks recordings that are in a folder; needs no GPU

HOLDUP    the holdup to run (default: target/release/holdup)
"""

import argparse
import csv
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HOLDUP = os.environ.get("HOLDUP", str(HERE.parents[3] / "target/release/holdup"))
POINTS = 0.03
STEPS, PROFILED, WARM_UP = 200, 40, 20
MS = 1_000_000


def compute(ns):
    """Computes for a time; returns how long it took, ns."""
    begin = time.monotonic_ns()
    end = begin + ns
    while time.monotonic_ns() < end:
        sum(range(20_000))  # computes
    return time.monotonic_ns() - begin


def train(rank, name, folder, port, facts):
    """A rank: steps of a small network that ask for the loss, as training loops do."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=2)
    network = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(4))).cuda()
    network = DistributedDataParallel(network, device_ids=[rank])
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    data = torch.randn(512, 4096, device="cuda")
    extra = 3 * MS if rank == 1 or name == "even" else 0

    def steps(count):
        computed, begin = 0, time.monotonic_ns()
        for _ in range(count):
            computed += compute(extra) if extra else 0
            loss = network(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
        return computed, time.monotonic_ns() - begin

    steps(WARM_UP)
    if facts == "profiled":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, with_stack=True) as profile:
            computed, wall = steps(PROFILED)
        profile.export_chrome_trace(str(folder / f"{name}-rank{rank}.json"))
    else:
        computed, wall = steps(STEPS)
    (folder / f"{name}-{facts}{rank}.facts").write_text(json.dumps({"computed": computed, "wall": wall}))
    torch.distributed.destroy_process_group()


def run(name, folder, facts):
    """Both ranks, as processes of this one."""
    import torch

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, (name, folder, port, facts), nprocs=2)


def record(name, folder):
    program = [sys.executable, str(HERE / "ddp.py"), "--run"]
    trace = str(folder / f"{name}.holdup")
    subprocess.run([HOLDUP, "record", "--quiet", "--force", "-o", trace, "--", *program, "recorded", str(folder), name], check=True)
    subprocess.run([*program, "profiled", str(folder), name], check=True)


def explain(*traces):
    command = [HOLDUP, "explain", "--format", "json", *(str(trace) for trace in traces)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return found if isinstance(found, list) else [found]


def waited(trace):
    """By GPU, ns: how long it ran a collective and nothing else, before the other one began it. From the kernels alone, not from an
    account: the collectives of both GPUs are the same ones in the same order."""
    with tempfile.TemporaryDirectory() as scratch:
        tables = pathlib.Path(scratch) / "tables"
        command = [HOLDUP, "export", "--format", "csv", "--output", str(tables), str(trace)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        with open(tables / "ops.csv") as file:
            ops = [(int(row["device"]), int(row["start_ns"]), int(row["end_ns"]), row["name"]) for row in csv.DictReader(file)]
    collectives = [[(start, end) for gpu, start, end, name in sorted(ops) if gpu == of and name.startswith("nccl")] for of in range(2)]
    others = [[(start, end) for gpu, start, end, name in sorted(ops) if gpu == of and not name.startswith("nccl")] for of in range(2)]
    waits, until = [0, 0], [0, 0]
    for both in zip(*collectives):
        gpu = 0 if both[0][0] < both[1][0] else 1
        begin, end = max(both[gpu][0], until[gpu]), both[1 - gpu][0]
        until[gpu] = max(until[gpu], end)
        for start, stop in others[gpu]:
            if stop > begin and start < end:
                waits[gpu] += max(0, start - begin)
                begin = max(begin, stop)
        waits[gpu] += max(0, end - begin)
    return waits


def is_planted(places):
    return any(pathlib.Path(place["file"]).name == "ddp.py" and place["function"] == "compute" for place in places)


def check_ranks(what, ranks, name):
    """Whether the second rank is late at most collectives because it computes; for the control, whether ranks wait for little."""
    if ranks is None:
        print(f"{what}: no collective's ranks are known")
        return False
    for rank in ranks["ranks"]:
        causes = ", ".join(f"{part['cause']} {part['ns'] / max(rank['cost_ns'], 1):.0%}" for part in rank["causes"][:3])
        print(f"{what}: GPU {rank['device']} late at {rank['late']} of {rank['collectives']}, {rank['late_ns'] / MS:.2f} ms, cost {rank['cost_ns'] / MS:.1f} ms: {causes}")
    first, second = sorted(ranks["ranks"], key=lambda rank: (rank["trace"] or 0, rank["device"]))
    if name == "even":
        # Each rank loads its kernels once, and not as fast as the other.
        waits = sum(part["ns"] for rank in (first, second) for part in rank["causes"] if part["cause"] != "first-use")
        return waits < 0.05 * ranks["collectives"] * MS
    planted = sum(part["ns"] for part in second["causes"] if part["cause"] == "host-code" and is_planted(part["where"]))
    return second["late"] > 2 * first["late"] and planted >= 0.9 * second["cost_ns"]


def check(name, folder):
    """Compares what findings at the line cost the GPUs with what each rank computed, and for how long the first GPU waited for the second."""
    [recorded] = explain(folder / f"{name}.holdup")
    ranks = recorded["accounts"]["ranks"]
    right = check_ranks(f"{name} recorded", ranks, name)
    facts = [json.loads((folder / f"{name}-recorded{rank}.facts").read_text()) for rank in range(2)]
    # The facts are of the steps alone; the warm-up computes, too.
    planted = sum(each["computed"] for each in facts) * (STEPS + WARM_UP) / STEPS
    waits = waited(folder / f"{name}.holdup")
    print(f"{name}: GPUs waited in collectives with nothing else running, by their kernels: {', '.join(f'{ns / MS:.1f} ms' for ns in waits)}")
    planted += max(waits) if name == "late" else 0
    there = [finding for finding in recorded["findings"] if finding["phase"] == "recurring" and is_planted(finding["where"][:1])]
    blamed, wall = sum(finding["cost_ns"] for finding in there), sum(each["wall"] for each in facts) * (STEPS + WARM_UP) / STEPS
    first = next(finding for finding in recorded["findings"] if finding["phase"] == "recurring")
    print(f"{name}: of the steps' time on both GPUs: planted {planted / wall:.1%}, blamed {blamed / wall:.1%}; first that recurs: {first['cause']} {first['where'][:1]}")
    right &= abs(planted - blamed) <= POINTS * wall and first["cause"] == "host-code" and is_planted(first["where"])
    rank_files = [next(folder.glob(f"{name}-rank{rank}.json*")) for rank in range(2)]
    return check_ranks(f"{name} profiled", explain(*rank_files)[0]["accounts"]["ranks"], name) and right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--run", nargs=2, metavar=("FACTS", "DIR"), help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or ["late", "even"]
    if arguments.run:
        return run(names[0], pathlib.Path(arguments.run[1]), arguments.run[0])
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.check or arguments.traces or pathlib.Path(scratch)
        if not arguments.check:
            for name in names:
                record(name, folder)
        wrong = [name for name in names if not check(name, folder)]
    if wrong:
        sys.exit(f"not as planted: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
