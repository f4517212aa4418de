"""The tests run against an installed package; `python/test` installs it and says where things are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


@pytest.fixture
def examples() -> Path:
    """The repository's example traces."""
    return ROOT / "examples"


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The stand-in for the driver, found as libcuda.so.1 by programs that are started."""
    folder = os.environ.get("HOLDUP_TEST_STANDIN")
    if not folder:
        pytest.skip("HOLDUP_TEST_STANDIN does not name the folder of the stand-in for the driver")
    monkeypatch.setenv("LD_LIBRARY_PATH", folder)
    monkeypatch.setenv("STANDIN_FACTS", str(tmp_path / "facts"))
    return Path(folder)
