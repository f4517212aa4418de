"""`%%holdup`, in a shell of IPython."""

import sys
import types

import pytest

IPython = pytest.importorskip("IPython")


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "holdup")
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_runs_under_the_profiler_with_the_notebooks_variables(shell, examples, monkeypatch):
    made = types.ModuleType("torch.profiler")

    class Profile:
        def __init__(self, with_stack):
            assert with_stack

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def export_chrome_trace(self, path):
            import gzip
            import pathlib

            pathlib.Path(path).write_bytes(gzip.open(examples / "pytorch-d2h-stall.json.gz").read())

    made.profile = Profile
    torch = types.ModuleType("torch")
    torch.profiler = made
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.profiler", made)
    shell.user_ns["before"] = 20
    explanation = shell.run_cell_magic("holdup", "", "after = before + 1")
    assert shell.user_ns["after"] == 21 and explanation.verdict.bound == "driver"
    # What the cell raises is shown, and there is nothing to explain.
    assert shell.run_cell_magic("holdup", "", "1 / 0") is None


def test_a_cell_runs_as_a_program_of_its_own(shell, standin, tmp_path, capfd):
    cell = (
        "import ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\nmemory = ctypes.create_string_buffer(64)\n"
        "address = ctypes.c_uint64(ctypes.addressof(memory))\n"
        "cuda.cuMemsetD32Async(address, 7, ctypes.c_size_t(16), None)\nprint('from the cell')"
    )
    path = tmp_path / "cell.holdup"
    explanation = shell.run_cell_magic("holdup", f"--script -o {path}", cell)
    assert "from the cell" in capfd.readouterr().out and explanation.trace.calls >= 1 and path.exists()
    assert shell.run_cell_magic("holdup", f"--script -o {path}", cell) is None
    assert "exists" in capfd.readouterr().err


def test_without_pytorch_one_line_says_what_to_do(shell, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.profiler", None)
    assert shell.run_cell_magic("holdup", "", "pass") is None
    said = capfd.readouterr().err
    assert said.startswith("holdup: the kernel has no PyTorch") and "--script" in said and said.count("\n") == 1
