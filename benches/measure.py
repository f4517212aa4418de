"""Runs a command and says how long it took and how much memory it had.

    python3 measure.py COMMAND…        prints one JSON object

Memory is sampled from /proc/PID/status while the command runs (each millisecond at first, then
each five): `peak_rss` is the kernel's own high-water mark, so only a peak in the very last sample
gap can be missed; `peak_anon` is the largest sampled RssAnon, the memory that is not a mapped
file. A command of several processes is measured by its first one only.
"""

import dataclasses
import json
import os
import select
import subprocess
import sys
import time


@dataclasses.dataclass
class Measurement:
    """What one run took: seconds, and bytes."""

    wall: float
    peak_rss: int
    peak_anon: int
    status: int


def measure(command: list[str], quiet: bool = True) -> Measurement:
    """Runs `command` to its end, its output thrown away when `quiet`."""
    output = subprocess.DEVNULL if quiet else None
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=output, stderr=output)
    ended = select.poll()
    pidfd = os.pidfd_open(process.pid)
    ended.register(pidfd, select.POLLIN)
    peak_rss = peak_anon = 0
    while True:
        rss, anon = memory(process.pid)
        peak_rss, peak_anon = max(peak_rss, rss), max(peak_anon, anon)
        if ended.poll(1 if time.perf_counter() - start < 1 else 5):
            break
    wall = time.perf_counter() - start
    os.close(pidfd)
    return Measurement(wall, peak_rss, peak_anon, process.wait())


def seconds(command: list[str]) -> float:
    """Wall time of one run without looking at it: on two cores, sampling memory takes part of one."""
    start = time.perf_counter()
    status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"exit status {status}: {' '.join(command)}")
    return wall


def memory(pid: int) -> tuple[int, int]:
    """High-water mark and anonymous part of the process's resident memory, in bytes."""
    fields = {"VmHWM": 0, "RssAnon": 0}
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                name, _, value = line.partition(":")
                if name in fields:
                    fields[name] = int(value.split()[0]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return fields["VmHWM"], fields["RssAnon"]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: measure.py COMMAND…")
    result = measure(sys.argv[1:])
    print(json.dumps(dataclasses.asdict(result)))
    sys.exit(0 if result.status == 0 else 1)
