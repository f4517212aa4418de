"""The package with real PyTorch on a GPU, without a network:

    python3 -m pip install --no-index --no-deps --target /tmp/site holdup-*-manylinux_2_28_x86_64.whl
    PYTHONPATH=/tmp/site python3 python/tests/gpu/pytorch.py

Prints a line for each check; the status is 1 if one failed. Not a test of pytest: it needs a GPU.
"""

import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import holdup
import torch

STEPS = 30


def model():
    """A small training step, whose loss is read back each time: a hidden synchronization at a known line."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)
    batch = torch.randn(512, 2048, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = net(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()  # LOSS

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    return step


def program():
    """What `recording` starts under `holdup record`."""
    step = model()
    with holdup.record("train.holdup") as window:
        for _ in range(STEPS):
            step()
            window.step()
    step()


def handler(folder):
    """The profiler's trace is written and explained as it is made, within 1 s per million events."""
    ready = holdup.handler(folder / "traces", quiet=True)
    step = model()
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=2, active=5, repeat=2), on_trace_ready=ready, with_stack=True
    ) as profile:
        for _ in range(20):
            step()
            profile.step()
    assert len(ready.explanations) == 2, ready.explanations
    explanation = ready.explanations[-1]
    assert explanation.trace.ops > 100 and explanation.steps is not None and explanation.steps.count >= 4
    events = ready.paths[-1].read_text().count('"ph":')
    assert ready.seconds < 1 + events / 1e6, (ready.seconds, events)
    assert explanation._repr_html_() and len(explanation.tables["ops"].to_pandas()) == explanation.trace.ops
    return f"{events:,} events explained in {ready.seconds:.2f} s: {explanation.verdict.text}"


def recording(folder):
    """A window of a program under `holdup record`, with its steps and the line of its hidden synchronization."""
    command = [holdup.program(), "record", "--after", "program", "--", sys.executable, __file__, "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    explanation = holdup.explain(folder / "train.holdup")
    assert explanation.steps is not None and explanation.steps.count == STEPS, explanation.steps
    line = next(at for at, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# LOSS"))
    places = {(Path(at.file).name, at.line) for finding in explanation.findings for at in finding.where}
    accounts = [*explanation.accounts.gpus[0].idle, *(part for each in explanation.accounts.threads for part in each.parts)]
    places |= {(Path(at.file).name, at.line) for part in accounts for at in part.where}
    assert ("pytorch.py", line) in places, places
    assert not list(folder.glob("python*.holdup")), "only the window is recorded"
    return f"{explanation.trace.calls:,} calls, {explanation.steps.count} steps of {explanation.steps.median_ns / 1e6:.2f} ms"


def bare(folder):
    """The same program without `holdup record` runs, and warns once."""
    done = subprocess.run([sys.executable, __file__, "program"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("UserWarning") == 1, done.stderr
    return "one warning"


def cell(folder):
    """A cell of a notebook, where IPython is there."""
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        return "skipped: no IPython"
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "holdup")
    shell.user_ns["step"] = model()
    explanation = shell.run_cell_magic("holdup", "", "for _ in range(10): step()")
    assert explanation.trace.ops > 100, explanation
    return explanation.verdict.text


def main():
    """Runs the checks."""
    failed = 0
    # Cells and handlers last: PyTorch's profiler, once used, is CUPTI's client in this process.
    for check in (recording, bare, handler, cell):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # Of the package: PyTorch's profiler warns, too, and does not bear an exception there.
            warnings.filterwarnings("error", "holdup", UserWarning)
            try:
                print(f"{check.__name__}: {check(Path(folder))}", flush=True)
            except Exception:
                failed += 1
                print(f"{check.__name__}: FAILED", flush=True)
                traceback.print_exc()
    sys.exit(failed > 0)


program() if sys.argv[1:] == ["program"] else main()
