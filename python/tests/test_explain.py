"""Results, tables, and what a notebook shows."""

import dataclasses
import json
import subprocess
import sys
import typing
from html.parser import HTMLParser
from pathlib import Path

import holdup
import pytest
from holdup import _html, results


def plain(value):
    """A typed result as JSON has it."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name.rstrip("_"): plain(each) for name, each in fields.items() if name not in ("json", "selection")}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def same(typed, printed):
    """Whether a typed result has all that was printed; optional fields that are absent are None."""
    if isinstance(printed, dict) and isinstance(typed, dict):
        return all(key in typed and same(typed[key], value) for key, value in printed.items())
    if isinstance(printed, list):
        return len(typed) == len(printed) and all(map(same, typed, printed))
    return typed == printed


@pytest.mark.parametrize("name", ["recorded-d2h-stall.holdup", "pytorch-hidden-sync.json.gz", "recorded-launch-convoy.holdup"])
def test_results_have_all_that_the_program_prints(examples, name):
    explanation = holdup.explain(examples / name)
    assert same(plain(explanation), explanation.json)
    assert isinstance(explanation.accounts.gpus[0].busy_ns, int)


def test_a_selection_selects_and_its_tables_are_of_it(examples):
    path = examples / "recorded-d2h-stall.holdup"
    whole, part = holdup.explain(path), holdup.explain(path, start="1s", end=1.5, thread=2250)
    assert 0 < part.chosen_calls < whole.chosen_calls
    calls = part.tables["calls"].to_pandas()
    selected = calls[calls["tid"] == 2250]
    assert len(selected) >= part.chosen_calls and (selected["start_ns"] < 1_500_000_000).all()
    assert (selected["end_ns"] > 1_000_000_000).all() and len(calls) < len(whole.tables["calls"].to_pandas())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.holdup",), "nowhere.holdup: No such file or directory"),
        ((__file__,), "a program, not a trace"),
    ],
)
def test_bad_input_is_one_line(arguments, said):
    with pytest.raises(holdup.HoldupError, match=said) as raised:
        holdup.explain(*arguments)
    assert "\n" not in str(raised.value)


def test_no_trace_is_an_error():
    with pytest.raises(holdup.HoldupError, match="at least one"):
        holdup.explain_all([])


def test_findings_are_a_frame(examples):
    frame = holdup.explain(examples / "recorded-d2h-stall.holdup").to_pandas()
    first = frame.iloc[0]
    assert (first["cause"], first["holder_call"], first["lost_ns"]) == ("driver-lock", "cudaMemcpyAsync", 1016915337)
    assert first["where"] == "d2h_stall.py:34 launch_worker"


def test_every_table_opens_in_pandas_and_arrow(examples):
    tables = holdup.Tables(examples / "recorded-launch-convoy.holdup")
    assert {"calls", "ops", "waits", "findings", "losses", "states", "samples", "threads"} <= set(tables)
    for name, table in tables.items():
        assert len(table.to_pandas()) == table.to_arrow().num_rows, name
    import pyarrow

    calls = pyarrow.table(tables["calls"])
    assert calls.num_rows > 0 and calls.schema.field("start_ns").type == pyarrow.int64()
    waits = tables["waits"].to_pandas()
    # Numbers that a trace does not state stay integers.
    assert str(waits["holder_tid"].dtype).lower() == "int64" and waits["holder_tid"].notna().any()
    assert tables.meta["source"]
    with pytest.raises(KeyError):
        tables["no such table"]


class Balanced(HTMLParser):
    """Whether tags are closed in their order, and which there are."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_first_screen_is_html_without_scripts(examples):
    for path in sorted(examples.glob("recorded-*.holdup")):
        explanation = holdup.explain(path)
        html = explanation._repr_html_()
        parser = Balanced()
        parser.feed(html)
        assert not parser.open and "script" not in parser.tags
        assert path.name in html and "GPU 0" in html


def test_names_of_a_trace_cannot_become_markup(examples):
    explanation = holdup.explain(examples / "recorded-d2h-stall.holdup")
    bad = "<script>alert(1)</script>'\""
    finding = explanation.findings[0]
    waiter = dataclasses.replace(finding.waiter, thread=bad, call=bad)
    changed = dataclasses.replace(
        explanation,
        verdict=dataclasses.replace(explanation.verdict, text=bad),
        trace=dataclasses.replace(explanation.trace, path=f"/x/{bad.replace('/', '')}"),
        findings=(dataclasses.replace(finding, waiter=waiter, because=bad, cause=bad),),
    )
    assert "<script" not in changed._repr_html_()


def causes():
    printed = holdup._program.run(["causes", "--format", "json"]).stdout
    return {cause["id"] for cause in json.loads(printed) if cause["of"] != "overlap"}


def test_every_cause_is_in_the_schema():
    assert causes() == set(typing.get_args(typing.get_type_hints(results.Finding)["cause"]))


def test_every_cause_has_a_color():
    assert causes() == set(_html.FAMILY)


def test_the_module_is_the_program(examples, tmp_path):
    trace = str(examples / "recorded-d2h-stall.holdup")
    command = [sys.executable, "-m", "holdup", "explain", "--fail-over", "1ms", trace]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "driver-lock" in done.stdout
    done = subprocess.run([sys.executable, "-m", "holdup", "explain"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr


def test_a_package_without_its_program_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("HOLDUP_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(holdup._program, "_directories", lambda: [Path(tmp_path)])
    with pytest.raises(holdup.HoldupError, match="is missing"):
        holdup.program()
