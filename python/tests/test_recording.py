"""`holdup.record`, on the stand-in for the driver."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import holdup
import pytest

PROGRAM = Path(__file__).with_name("windows.py")


def record(directory, *options, program=()):
    """Records the program; what it printed on standard error."""
    command = [holdup.program(), "record", "--level", "light", *options, "--", sys.executable, str(PROGRAM), *program]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    return done.stderr


def fills(path):
    """How often fills of which size, in words, are in a recording."""
    arguments = holdup.Tables(path)["arguments"].to_arrow().column("bytes").to_pylist()
    return Counter(bytes // 4 for bytes in arguments if bytes)


@pytest.mark.parametrize("program", [(), ("early",)])
def test_only_windows_are_recorded_with_after_program(standin, tmp_path, program):
    said = record(tmp_path, "--after", "program", program=program)
    assert fills(tmp_path / "first.holdup") == {2: 20}
    assert fills(tmp_path / "second.holdup") == {4: 5} and fills(tmp_path / "second-2.holdup") == {4: 5}
    assert sorted(path.name for path in tmp_path.glob("*.holdup")) == ["first.holdup", "second-2.holdup", "second.holdup"]
    assert "first.holdup" in said


def test_windows_are_parts_of_a_whole_recording(standin, tmp_path):
    record(tmp_path, "--quiet", "-o", "all.holdup")
    assert fills(tmp_path / "all.holdup") == {1: 5, 2: 20, 3: 5, 4: 10, 5: 5}
    assert fills(tmp_path / "first.holdup") == {2: 20}


def test_steps_and_spans_are_ranges(standin, tmp_path):
    record(tmp_path, "--quiet", "--after", "program")
    names = holdup.Tables(tmp_path / "first.holdup")["ranges"].to_arrow().column("name").to_pylist()
    assert [name for name in names if name.startswith("step")] == ["step 0", "step 1", "step 2", "step 3"]
    steps = holdup.explain(tmp_path / "first.holdup").steps
    assert steps is None or steps.count == 4
    assert "inner" in holdup.Tables(tmp_path / "second.holdup")["ranges"].to_arrow().column("name").to_pylist()


def test_a_program_that_is_not_recorded_warns_once_and_runs_unchanged(standin, tmp_path):
    done = subprocess.run([sys.executable, str(PROGRAM)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n")
    warnings = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(warnings) == 1 and "holdup record --after program" in warnings[0] and "windows.py:" in warnings[0]
    assert not list(tmp_path.glob("*.holdup"))


def test_a_window_without_cuda_says_so(standin, tmp_path):
    program = "import holdup\nwith holdup.record('x.holdup'): pass"
    command = [holdup.program(), "record", "--", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "did not use CUDA before the end of the block" in done.stderr


def test_a_window_whose_file_cannot_be_written_costs_nothing_else(standin, tmp_path):
    program = PROGRAM.read_text().replace('"first.holdup"', '"nowhere/first.holdup"')
    (tmp_path / "program.py").write_text(program)
    command = [holdup.program(), "record", "--level", "light", "--after", "program", "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "nowhere/first.holdup: " in done.stderr
    assert fills(tmp_path / "program.holdup") == {2: 20, 4: 10}
