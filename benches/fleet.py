#!/usr/bin/env python3
"""Digests of generated ranks: traces a second, memory, whether the rows are always the same, late ranks found, queries a second.

    benches/fleet.py scale --workers 1 2 4      traces a second for so many workers, by processes; --ray for Ray
    benches/fleet.py same --ranks 4096          one process, Ray with four workers, a worker killed: the same rows?
    benches/fleet.py plantings                  one late rank of 64, for 20 seeds and causes: is it named?
    benches/fleet.py queries                    10,000 digests: how long does each query take?

`same` keeps what it made in --folder, which `queries` reads. Needs `cargo build --release -p holdup -p xtask` (or --programs), and
for `same`, `plantings`, `queries` and --ray the packages of holdup[fleet]. Everything is generated: `cargo xtask generate fleet`.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python/src"))
os.environ["PYTHONPATH"] = str(ROOT / "python/src")

CAUSES = ["host-code", "blocked", "no-cpu", "gil", "lock", "pageable", "allocation"]

# Runs holdup, and writes down its process, its parent's, and the most memory of both, kB.
WATCHED = """#!{python}
import os, resource, subprocess, sys
child = subprocess.Popen([{program!r}, *sys.argv[1:]])
with open({log!r}, "a") as log:
    log.write(f"start {{child.pid}} {{os.getppid()}}\\n")
status = child.wait()
parent = [line.split()[1] for line in open(f"/proc/{{os.getppid()}}/status") if line.startswith("VmHWM")][0]
with open({log!r}, "a") as log:
    log.write(f"end {{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}} {{parent}}\\n")
sys.exit(status if status >= 0 else 128 - status)
"""


def programs(options: argparse.Namespace) -> tuple[str, str]:
    """holdup and xtask."""
    found = [options.programs / name for name in ("holdup", "xtask")]
    for program in found:
        if not program.is_file():
            sys.exit(f"benches/fleet.py: {program}: no such file: cargo build --release -p holdup -p xtask")
    return str(found[0]), str(found[1])


def generate(xtask: str, folder: Path, ranks: int, events: int, processes: int, *more: str) -> dict:
    """Makes traces, those of some ranks in each process; leaves those that are there."""
    if len(list(folder.glob("*.holdup"))) != ranks:
        shutil.rmtree(folder, ignore_errors=True)
        each = -(-ranks // processes)
        command = [xtask, "generate", "fleet", "--ranks", str(ranks), "--events", str(events), "-o", str(folder), *more]
        parts = [(at, min(at + each, ranks)) for at in range(0, ranks, each)]
        running = [subprocess.Popen([*command, "--from", str(a), "--to", str(b)], stdout=subprocess.PIPE, text=True) for a, b in parts]
        outputs = [each.communicate()[0] for each in running]
        made = [json.loads(output) for output in outputs]
        made[0]["written"] = sum(part["written"] for part in made)
        (folder / "made.json").write_text(json.dumps(made[0]))
    return json.loads((folder / "made.json").read_text())


def rows(folder: Path) -> str:
    """A hash of all digests: of the files' names and bytes."""
    digest = hashlib.sha256()
    for path in sorted(glob.glob(f"{folder}/**/*.parquet", recursive=True)):
        digest.update(os.path.relpath(path, folder).encode() + b"\0" + Path(path).read_bytes())
    return digest.hexdigest()


def watched(holdup: str, folder: Path) -> Path:
    """A program that runs holdup and keeps a log of it; returns the log."""
    log, wrapper = folder / "log", folder / "holdup-watched"
    log.unlink(missing_ok=True)
    wrapper.write_text(WATCHED.format(python=sys.executable, program=holdup, log=str(log)))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    os.environ["HOLDUP_PROGRAM"] = str(wrapper)
    return log


def memory(log: Path) -> str:
    """The most memory of a worker."""
    ends = [line.split() for line in log.read_text().splitlines() if line.startswith("end")]
    return f"holdup at most {max(int(end[1]) for end in ends) / 1024:.0f} MiB, its worker {max(int(end[2]) for end in ends) / 1024:.0f} MiB"


def kill(log: Path, after: int, of_parent: bool, killed: list[int]) -> None:
    """Ends one worker once so many tasks have begun."""
    while not killed:
        starts = [line.split() for line in (log.read_text() if log.exists() else "").splitlines() if line.startswith("start")]
        if len(starts) >= after:
            pid = int(starts[-1][2 if of_parent else 1])
            time.sleep(0.2)
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        time.sleep(0.1)


def digest(traces: Path, output: Path, workers: int, ray: bool) -> tuple[float, object]:
    import holdup.fleet

    shutil.rmtree(output, ignore_errors=True)
    begun = time.monotonic()
    done = holdup.fleet.digest(f"{traces}/*.holdup", output, run="bench", workers=workers, ray=ray, progress=sys.stderr.isatty())
    return time.monotonic() - begun, done


def start_ray(workers: int) -> None:
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False


def scale(options: argparse.Namespace) -> None:
    program, xtask = programs(options)
    traces = options.folder / "traces"
    made = generate(xtask, traces, options.ranks, options.events, os.cpu_count() or 1)
    os.environ["HOLDUP_PROGRAM"] = program
    if options.ray:
        start_ray(max(options.workers))
    # A file of 64 traces is one task: fewer tasks than workers would measure nothing.
    if options.ranks < 64 * max(options.workers):
        sys.exit(f"benches/fleet.py: {options.ranks} ranks are fewer than 64 for each of {max(options.workers)} workers: give --ranks")
    first = None
    print(f"{os.cpu_count()} processors, {options.ranks} traces of {made['events']:,} events, {'Ray' if options.ray else 'processes'}")
    for workers in options.workers:
        os.environ["RAYON_NUM_THREADS"] = "1"
        seconds, done = digest(traces, options.folder / "digests", workers, options.ray)
        rate = done.traces / seconds
        first = first or rate
        print(f"{workers} workers: {seconds:.1f} s, {rate:.2f} traces/s, {rate * made['events'] / 1e6:.2f} M events/s, × {rate / first:.2f}", flush=True)


def same(options: argparse.Namespace) -> None:
    program, xtask = programs(options)
    traces = options.folder / "traces"
    made = generate(xtask, traces, options.ranks, options.events, os.cpu_count() or 1, "--late", str(options.ranks // 3))
    print(f"{made['written']} traces of {made['events']:,} events", flush=True)
    found = {}
    runs = [("one process", 1, False, False), ("Ray, 4 workers", 4, True, False), ("Ray, 4 workers, one killed", 4, True, True)]
    for name, workers, ray, kills in [run for run in runs if not options.only or run[0] in options.only]:
        log, killed = watched(program, options.folder), []
        if ray and "ray" not in sys.modules:
            start_ray(workers)
        if kills:
            threading.Thread(target=kill, args=(log, max(options.ranks // 128, 2), ray, killed), daemon=True).start()
        output = options.folder / name.replace(" ", "-").replace(",", "")
        seconds, done = digest(traces, output, workers, ray)
        found[name] = rows(output)
        print(
            f"{name}: {seconds:.0f} s, {done.traces / seconds:.2f} traces/s, {done.bytes / 1e6:.1f} MB in {len(done.files)} files, "
            f"{memory(log)}{f', killed {killed[0]}' if killed else ''}, rows {found[name][:16]}",
            flush=True,
        )
    print("the same rows" if len(set(found.values())) == 1 else "DIFFERENT ROWS")


def plantings(options: argparse.Namespace) -> None:
    import holdup.fleet

    program, xtask = programs(options)
    os.environ["HOLDUP_PROGRAM"] = program
    named = 0
    for seed in range(options.count):
        cause, late = CAUSES[seed % len(CAUSES)], (seed * 37 + 11) % 64
        with tempfile.TemporaryDirectory() as folder:
            made = generate(xtask, Path(folder) / "t", 64, 10_000, 2, "--cause", cause, "--late", str(late), "--seed", str(seed), "--late-us",
                            str(options.late_us))
            holdup.fleet.digest(f"{folder}/t/*.holdup", f"{folder}/d", run="planted")
            summary = holdup.fleet.compare(f"{folder}/d")
        first = summary.late_ranks[0] if summary.late_ranks else None
        part = first.causes[0] if first and first.causes else None
        is_named = bool(first and part and first.rank == late and part.cause == made["cause"] and made["place"] in f"{part.place} {part.call}")
        named += is_named
        said = f"rank {first.rank} {part.cause} {part.place or part.call} {part.share:.0%}" if first and part else "none"
        print(f"{'ok  ' if is_named else 'MISS'} planted rank {late} {made['cause']} {made['place']}: {said}", flush=True)
    print(f"named in {named} of {options.count}")


def queries(options: argparse.Namespace) -> None:
    from holdup.fleet import _query, _reduce, _text

    source = options.folder / "one-process"
    target = options.folder / f"digests-{options.count}"
    if not target.exists():
        multiply(source, target, options.count)
    files = glob.glob(f"{target}/**/*.parquet", recursive=True)
    print(f"{options.count:,} digests, {sum(map(os.path.getsize, files)) / 1e6:.0f} MB in {len(files)} files, {os.cpu_count()} processors")
    pattern = f"'{target}/*/digests-*.parquet'"
    asked = {
        "rows": f"SELECT count(*) FROM {pattern}",
        "verdicts": f"SELECT name, count(*) FROM {pattern} WHERE kind = 'verdict' GROUP BY 1",
        "costliest causes": f"SELECT cause, place, sum(ns) FROM {pattern} WHERE kind = 'account' GROUP BY ALL ORDER BY 3 DESC LIMIT 10",
        "findings": f"SELECT cause, place, name, sum(ns), count(*) FROM {pattern} WHERE kind = 'finding' GROUP BY ALL ORDER BY 4 DESC LIMIT 10",
        "busy by node": f"SELECT host, sum(ns) FROM {pattern} WHERE kind = 'account' AND name = 'busy' GROUP BY 1",
        "slowest ranks' steps": f"SELECT rank, median(end_ns - begin_ns) FROM {pattern} WHERE kind = 'step' GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    }
    for name, query in asked.items():
        times = []
        for _ in range(3):
            database = _query.connect()
            begun = time.monotonic()
            database.execute(query).fetchall()
            times.append(time.monotonic() - begun)
        print(f"{name}: {sorted(times)[1]:.2f} s", flush=True)
    begun = time.monotonic()
    summary = _reduce.compare(target)
    print(f"holdup fleet, all of it: {time.monotonic() - begun:.1f} s\n{_text.text(summary)}")


def multiply(source: Path, target: Path, count: int) -> None:
    """As many digests as wanted, of those of fewer ranks: each with a rank and a name of its own."""
    import pyarrow.parquet as pq

    folder = target / "run=bench"
    folder.mkdir(parents=True)
    for kind in ("digests", "collectives"):
        made = 0
        while made < count:
            for path in sorted(glob.glob(f"{source}/**/{kind}-*.parquet", recursive=True)):
                if made < count:
                    made += copied(pq.ParquetFile(path), folder / f"{kind}-{made:016x}.parquet", made, count - made)


def copied(file, target: Path, first: int, most: int) -> int:
    """Copies the groups of a file for other ranks; returns how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, groups = file.schema_arrow, min(file.num_row_groups, most)
    with pq.ParquetWriter(target, schema, compression="zstd", write_statistics=False) as writer:
        for group in range(groups):
            table, rank = file.read_row_group(group), first + group
            for name, value in (("rank", rank), ("trace", f"/bench/rank{rank}.holdup"), ("host", f"node{rank // 8:04}")):
                at = schema.get_field_index(name)
                table = table.set_column(at, schema.field(at), pa.array([value] * table.num_rows, schema.field(at).type))
            writer.write_table(table, row_group_size=table.num_rows)
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scale", "same", "plantings", "queries"))
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--events", type=int, default=250_000, help="of each trace")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--ray", action="store_true", help="workers of Ray instead of processes")
    parser.add_argument("--count", type=int, help="plantings (20), or digests to query (10,000)")
    parser.add_argument("--late-us", type=int, default=3_000, help="how late the planted rank is in a step")
    parser.add_argument("--only", nargs="+", help="of `same`, these runs")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "holdup-bench-fleet")
    parser.add_argument("--programs", type=Path, default=ROOT / "target/release")
    options = parser.parse_args()
    options.count = options.count or (20 if options.what == "plantings" else 10_000)
    options.folder.mkdir(parents=True, exist_ok=True)
    {"scale": scale, "same": same, "plantings": plantings, "queries": queries}[options.what](options)


if __name__ == "__main__":
    main()
