"""A plugin for pytest: a test fails if what it runs holds up its GPU more than a baseline does.

    @pytest.mark.holdup(baseline="baselines/step.holdup")
    def test_step(holdup_trace):
        holdup_trace.record(sys.executable, "train.py", "--steps", "20")

The trace is what the test records, what it names (`holdup_trace.use(path)`), or else one of PyTorch's profiler around the
test. `pytest --holdup-update` writes the baselines. With `fail_over="5%+1ms"` the time of a step is judged instead.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdup._program import HoldupError, program, run

if TYPE_CHECKING:
    from holdup._explain import Explanation

MARK = "holdup(baseline, fail_over=None, options=()): fails if `holdup diff BASELINE TRACE` does with --gate, or --fail-over FAIL_OVER"


class TraceOfTest:
    """The trace by which a test is judged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path: Path | None = None
        """The trace, once there is one."""

    def use(self, path: str | os.PathLike[str]) -> None:
        """Judges the test by this trace."""
        self.path = Path(path)

    def record(self, *command: str, options: tuple[str, ...] = (), **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Runs a program under `holdup record`, and judges the test by the recording. `options` are of `holdup record`, the
        rest of `subprocess.run`.

        Raises:
            HoldupError: nothing was recorded.
            subprocess.CalledProcessError: the program failed.
        """
        path = self.folder / "recorded.holdup"
        path.unlink(missing_ok=True)
        arguments = [program(), "record", "--quiet", "--output", str(path), *options, "--", *command]
        done = subprocess.run(arguments, check=True, **more)
        if not path.exists():
            raise HoldupError(f"{command[0]}: nothing was recorded: does it use CUDA?")
        self.use(path)
        return done

    @property
    def explanation(self) -> Explanation:
        """The explanation of the trace."""
        from holdup._explain import explain

        if self.path is None:
            raise HoldupError("the test has no trace yet")
        return explain(self.path)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes baselines."""
    group = parser.getgroup("holdup")
    group.addoption(
        "--holdup-update", action="store_true", help="write the baselines of tests with the mark holdup, and compare nothing"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The mark."""
    config.addinivalue_line("markers", MARK)


@pytest.fixture
def holdup_trace(request: pytest.FixtureRequest, tmp_path: Path) -> TraceOfTest:
    """The trace by which the test is judged: `record(*command)` or `use(path)` gives it one."""
    trace = TraceOfTest(tmp_path)
    request.node._holdup_trace = trace
    return trace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Runs a test with the mark, and compares its trace with the baseline."""
    mark = item.get_closest_marker("holdup")
    if mark is None:
        return (yield)
    gate = Gate(item, **mark.kwargs)
    trace: TraceOfTest | None = getattr(item, "_holdup_trace", None)
    if trace is not None:
        result = yield
        if trace.path is None:
            pytest.fail("the test has the mark holdup, and recorded nothing: holdup_trace.record(…) or .use(…)", pytrace=False)
        gate.judge(trace.path)
        return result
    profile = _profiler()
    with profile:
        result = yield
    folder = item.config._tmp_path_factory.mktemp("holdup")  # type: ignore[attr-defined]
    path = folder / "test.json"
    profile.export_chrome_trace(str(path))
    gate.judge(path)
    return result


def _profiler() -> Any:
    try:
        import torch
        import torch.profiler
    except ImportError:
        pytest.fail("the mark holdup needs PyTorch, or the fixture holdup_trace: record a program with it", pytrace=False)
    return torch.profiler.profile(with_stack=True)


class Gate:
    """What a mark asks for."""

    def __init__(self, item: pytest.Item, **arguments: Any) -> None:
        unknown = set(arguments) - {"fail_over", "baseline", "options"}
        if unknown or "baseline" not in arguments:
            pytest.fail(f"the mark holdup takes baseline, fail_over and options: {MARK}", pytrace=False)
        self.baseline = item.path.parent / arguments["baseline"]
        fail_over = arguments.get("fail_over")
        self.limit = ["--gate"] if fail_over is None else ["--fail-over", str(fail_over)]
        self.options = list(arguments.get("options", ()))
        self.updates = item.config.getoption("holdup_update")

    def judge(self, trace: Path) -> None:
        """Fails the test if the trace is worse than the baseline."""
        if self.updates:
            self.baseline.parent.mkdir(parents=True, exist_ok=True)
            run(["import", "--force", "--output", str(self.baseline), "--", str(trace)])
            return
        if not self.baseline.exists():
            pytest.fail(f"{self.baseline}: no baseline: `pytest --holdup-update` writes it", pytrace=False)
        try:
            done = run(
                ["diff", *self.limit, *self.options, "--", str(self.baseline), str(trace)], (0, 1)
            )
        except HoldupError as error:
            pytest.fail(f"holdup: {error}", pytrace=False)
        if done.returncode == 1:
            pytest.fail(f"{done.stdout}\n{done.stderr}".strip(), pytrace=False)
