"""Compares the hardware queue of each launch (`queues.cu`) with the rule of `crates/waits/src/operations/changing.rs`. Needs a GPU.

    nvcc -O2 -std=c++17 -o queues queues.cu -Xcompiler -pthread -Xlinker --export-dynamic -ldl
    queues.py ./queues

A stream stays in its queue until another one is launched into it; then it goes on in the queue that was used least recently, of those in
which no kernel waits if there are any. With several threads, which of two launches chose first is not known: for them only the launches of
streams that have a queue are compared.
"""

import os
import subprocess
import sys

# Queues, threads, streams, launches of each thread, waits.
RUNS = [
    (8, 1, 8, 4000, 5), (8, 1, 12, 4000, 5), (8, 1, 16, 4000, 0), (8, 1, 16, 4000, 20), (8, 1, 40, 4000, 2), (3, 1, 5, 4000, 5), (1, 1, 4, 1000, 5),
    (8, 2, 2, 1000, 0), (8, 2, 16, 2000, 0), (8, 4, 16, 1000, 0), (8, 8, 8, 500, 0), (8, 16, 16, 500, 0), (8, 32, 32, 500, 0), (2, 2, 4, 1000, 0),
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| queues | threads | streams | launches | of streams with a queue | in it | of others | in the one named | used least recently |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    sums = [0, 0, 0, 0, 0]
    for queues, threads, streams, launches, waits in RUNS:
        environment = {**os.environ, "CUDA_DEVICE_MAX_CONNECTIONS": str(queues)}
        command = [sys.argv[1], *map(str, (threads, streams, launches, waits))]
        output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        rows = sorted(parse(line) for line in output.splitlines())
        counts = compare(rows, queues, threads == 1)
        sums = [sum + count for sum, count in zip(sums, counts)]
        print(f"| {queues} | {threads} | {streams} | {len(rows)} |", " | ".join(map(str, counts)), "|")
    print("| | | | |", " | ".join(map(str, sums)), "|")


def parse(line):
    acquired, queue, stream, start, _ = line.split()
    return int(acquired), queue, int(stream), int(start)


def compare(rows, count, is_ordered):
    """Launches of streams that have a queue, how many went into it, the others, how many went where the rule says, and where it would say
    if waiting kernels did not matter."""
    of_stream, last_stream, used, waits_until = {}, {}, {}, {}
    stay, stayed, others, named, oldest = 0, 0, 0, 0, 0
    for at, (acquired, queue, stream, start) in enumerate(rows):
        own = of_stream.get(stream)
        if own is not None and last_stream[own] == stream:
            stay += 1
            stayed += own == queue
        elif is_ordered and len(used) == count:
            others += 1
            free = [queue for queue in used if waits_until[queue] <= acquired]
            named += queue == min(free or used, key=used.get)
            oldest += queue == min(used, key=used.get)
        of_stream[stream], last_stream[queue], used[queue] = queue, stream, at
        waits_until[queue] = max(start, waits_until.get(queue, 0))
    return stay, stayed, others, named, oldest


if __name__ == "__main__":
    main()
