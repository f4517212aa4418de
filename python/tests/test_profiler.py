"""`holdup.handler`, with a stand-in for PyTorch's profiler."""

import gzip
import shutil

import holdup
import pytest


class Profile:
    """Exports an example as PyTorch's profiler does."""

    def __init__(self, trace):
        self.trace = trace

    def export_chrome_trace(self, path):
        opened = gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb")
        with gzip.open(self.trace) as made, opened as file:
            shutil.copyfileobj(made, file)


@pytest.fixture
def profile(examples, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    return Profile(examples / "pytorch-d2h-stall.json.gz")


def test_each_trace_is_written_and_explained(profile, tmp_path, capsys):
    ready = holdup.handler(tmp_path / "traces")
    ready(profile)
    ready(profile)
    assert len(set(ready.paths)) == 2 and all(path.name.endswith(".pt.trace.json") for path in ready.paths)
    assert [each.findings[0].cause for each in ready.explanations] == ["driver-lock"] * 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("GPU 0 was idle 9 %") == 2 and f"holdup view {ready.paths[0]}" in said.err


def test_a_compressed_trace_is_explained_and_nothing_printed(profile, tmp_path, capsys):
    ready = holdup.handler(tmp_path, compress=True, quiet=True)
    ready(profile)
    assert ready.paths[0].suffix == ".gz" and ready.explanations and capsys.readouterr().err == ""


def test_other_ranks_write_only(profile, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    ready, every = holdup.handler(tmp_path, quiet=True), holdup.handler(tmp_path, quiet=True, every_rank=True)
    ready(profile)
    every(profile)
    assert ready.paths[0].name.startswith("rank3.") and ready.explanations == [] and len(every.explanations) == 1


def test_what_fails_is_a_warning_and_the_program_goes_on(tmp_path, examples):
    class Broken:
        def export_chrome_trace(self, path):
            with open(path, "w") as file:
                file.write("{}")

    class Full:
        def export_chrome_trace(self, path):
            raise OSError("no space left")

    ready = holdup.handler(tmp_path)
    with pytest.warns(UserWarning, match="holdup: .*pt.trace.json"):
        ready(Broken())
    with pytest.warns(UserWarning, match="no trace was written: no space left"):
        ready(Full())
    assert ready.explanations == []
