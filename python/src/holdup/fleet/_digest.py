"""The map step: digests of many traces, on Ray, or by processes of this machine."""

from __future__ import annotations

import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from holdup._program import HoldupError, program

TOGETHER = 64
"""Traces of one task and one file, as in `holdup digest`: so few that a worker that is killed loses little, and so many that
thousands of traces are few files."""
RETRIES = 3
"""How often a task is tried again."""


@dataclass(frozen=True)
class Digested:
    """What `digest` did."""

    traces: int
    unreadable: int
    """Traces whose digest is the error."""
    files: tuple[str, ...]
    """The files of digests, below the folder of all digests."""
    bytes: int


def digest(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    run: str | None = None,
    workers: int | None = None,
    ray: bool | None = None,
    retries: int = RETRIES,
    progress: bool | None = None,
) -> Digested:
    """Makes digests of traces: the same files whatever does the work, however often it is killed and repeated.

    Args:
        paths: Traces, or patterns such as `"s3://bucket/run/*.json.gz"`: files, or addresses that fsspec knows.
        output: The folder of all digests, or such an address.
        run: The run that the traces are of; else each trace's folder.
        workers: Traces that are read at the same time; of Ray, tasks. Default: one process that uses all processors; on Ray one
            for each.
        ray: Whether to use Ray Data. Default: if this program has connected to Ray.
        retries: How often a task is tried again.
        progress: Whether to print on standard error how many are done. Default: on a terminal.

    Raises:
        HoldupError: there are no traces, none can be read, or the digests cannot be written.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> digest("examples/recorded-*.holdup", folder, run="docs").traces
    12
    """
    names = list(_expand([paths] if isinstance(paths, str | os.PathLike) else list(paths)))
    if not names:
        raise HoldupError("no traces to digest: check the names")
    tasks = [names[at : at + TOGETHER] for at in range(0, len(names), TOGETHER)]
    target = os.fspath(output)
    if "://" not in target:
        os.makedirs(target, exist_ok=True)
        target = os.path.abspath(target)
    wanted = sys.stderr.isatty() if progress is None else progress
    use_ray = _is_connected() if ray is None else ray
    results = _on_ray(tasks, target, run, workers, retries) if use_ray else _here(tasks, target, run, workers, retries)
    done = Digested(0, 0, (), 0)
    for result in results:
        done = Digested(
            done.traces + result["traces"],
            done.unreadable + result["unreadable"],
            (*done.files, *result["files"]),
            done.bytes + result["bytes"],
        )
        if wanted:
            sys.stderr.write(f"\rdigested {done.traces:,} of {len(names):,}, {done.unreadable:,} unreadable")
    if wanted:
        sys.stderr.write("\n")
    if done.unreadable == done.traces:
        raise HoldupError(f"{target}: none of {done.traces:,} traces could be read: the digests have the errors")
    return done


def _expand(paths: list[str | os.PathLike[str]]) -> Iterator[str]:
    """Names of traces, sorted for each pattern: what a task has must not depend on chance."""
    for path in paths:
        name = os.fspath(path)
        if "://" in name:
            if glob.has_magic(name):
                system, inner = _open(name)
                scheme = name.split("://")[0]
                yield from (f"{scheme}://{each}" for each in sorted(system.glob(inner)))
            else:
                yield name
        elif glob.has_magic(name) and not os.path.exists(name):
            yield from (os.path.abspath(each) for each in sorted(glob.glob(name, recursive=True)))
        else:
            yield os.path.abspath(name)


def _open(address: str) -> tuple[Any, str]:
    """The file system of an address and the path in it.

    Raises:
        HoldupError: fsspec is missing or does not know it.
    """
    try:
        import fsspec

        system, path = fsspec.url_to_fs(address)
    except ImportError as error:
        raise HoldupError(f"{address}: {error}: pip install 'holdup[fleet]'") from None
    except Exception as error:
        raise HoldupError(f"{address}: {_line(error)}: check the address") from None
    return system, str(path)


def _line(error: BaseException) -> str:
    """An error in one line."""
    return " ".join((str(error) or type(error).__name__).split())[:500]


def _is_connected() -> bool:
    ray = sys.modules.get("ray")
    return bool(ray and ray.is_initialized())


def _here(tasks: list[list[str]], output: str, run: str | None, workers: int | None, retries: int) -> Iterator[dict[str, Any]]:
    """The tasks by processes of this machine, in order."""
    count = workers or 1
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        threads = None if count == 1 else 1
        futures = [pool.submit(_again, task, output, run, threads, retries) for task in tasks]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _again(task: list[str], output: str, run: str | None, threads: int | None, retries: int) -> dict[str, Any]:
    """A task, again if it fails."""
    for left in range(retries, -1, -1):
        try:
            return _task(task, output, run, threads)
        except HoldupError:
            if not left:
                raise
    raise AssertionError


def _on_ray(tasks: list[list[str]], output: str, run: str | None, workers: int | None, retries: int) -> Iterator[dict[str, Any]]:
    """The tasks as a job of Ray Data. Ray repeats a task whose worker ended.

    Raises:
        HoldupError: Ray is missing, or a task failed each time.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise HoldupError(f"{error}: pip install 'holdup[fleet]'") from None
    named = os.environ.get("HOLDUP_PROGRAM")

    def work(row: dict[str, Any]) -> dict[str, Any]:
        if named:
            os.environ["HOLDUP_PROGRAM"] = named
        return {"done": json.dumps(_again(json.loads(row["task"]), output, run, 1, retries))}

    rows = [{"task": json.dumps(task)} for task in tasks]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
    compute = ray.data.TaskPoolStrategy(size=workers)
    # Ray starts a task again if its worker ended; an error in a task is tried again there.
    try:
        for row in dataset.map(work, num_cpus=1, compute=compute).iter_rows():
            yield json.loads(row["done"])
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        raise HoldupError(_line(cause)) from None


def _task(names: list[str], output: str, run: str | None, threads: int | None) -> dict[str, Any]:
    """Digests some traces by one `holdup digest`."""
    with tempfile.TemporaryDirectory(prefix="holdup-fleet-") as folder:
        lines = [_fetched(name, os.path.join(folder, str(at))) for at, name in enumerate(names)]
        target = output if "://" not in output else os.path.join(folder, "digests")
        try:
            result = _run(lines, target, run, threads)
        except HoldupError:
            # One of them may have ended the program: it becomes a row with its error, and the others are digested.
            result = _run([_alone(line, folder, run, threads) for line in lines], target, run, threads)
        if "://" in output:
            _put(target, result["files"], output)
        return result


def _alone(line: str, folder: str, run: str | None, threads: int | None) -> str:
    """A line of the list, with the error if the trace alone cannot be digested."""
    try:
        _run([line], os.path.join(folder, "alone"), run, threads)
    except HoldupError as error:
        path, name = line.split("\t")[:2]
        return f"{path}\t{name}\t{_line(error)}"
    finally:
        shutil.rmtree(os.path.join(folder, "alone"), ignore_errors=True)
    return line


def _fetched(name: str, folder: str) -> str:
    """A line of the list: a file of this machine, the trace's own address, and what is wrong with it."""
    if "://" not in name:
        return f"{name}\t{name}"
    path = os.path.join(folder, os.path.basename(name) or "trace")
    try:
        system, inner = _open(name)
        os.makedirs(folder, exist_ok=True)
        system.get_file(inner, path)
    except HoldupError as error:
        return f"{path}\t{name}\t{error}"
    except FileNotFoundError:
        return f"{path}\t{name}\t{name}: no such file: check the name"
    except Exception as error:
        return f"{path}\t{name}\t{name}: {_line(error)}"
    return f"{path}\t{name}"


def _run(lines: list[str], output: str, run: str | None, threads: int | None) -> dict[str, Any]:
    command = [program(), "digest", "--list", "-", "--format", "json", "--output", output]
    command += [] if run is None else ["--run", run]
    environment = dict(os.environ)
    if threads is not None:
        environment["RAYON_NUM_THREADS"] = str(threads)
    done = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, encoding="utf-8", env=environment
    )
    if not done.stdout:
        last = (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
        raise HoldupError(last.removeprefix("holdup: "))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _put(folder: str, names: list[str], output: str) -> None:
    """Copies files to an address."""
    system, inner = _open(output)
    try:
        for name in names:
            target = f"{inner.rstrip('/')}/{name}"
            system.makedirs(target.rsplit("/", 1)[0], exist_ok=True)
            system.put_file(os.path.join(folder, name), target)
    except Exception as error:
        raise HoldupError(f"{output}: cannot be written: {_line(error)}: check the address and its credentials") from None
