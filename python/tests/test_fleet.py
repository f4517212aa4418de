"""Digests of made-up ranks, and what is found in them. It reports what is wrong with a run, and loses nothing else."""

import glob
import html
import json
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import holdup
import holdup.fleet
import pytest
import ranks
from holdup.fleet import _page, _query, _text

pytest.importorskip("duckdb", reason="DuckDB is not installed: fleets are not compared")


def digested(tmp_path: Path, **options) -> Path:
    """Digests of made-up ranks."""
    run = options.pop("run", "today")
    paths = ranks.write(tmp_path / "traces" / run, **options)
    holdup.fleet.digest(paths, tmp_path / "digests")
    return tmp_path / "digests"


def fleet(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "holdup.fleet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_late_rank_and_its_cause_are_named(tmp_path):
    summary = holdup.fleet.compare(digested(tmp_path, late=2))
    assert (summary.run, summary.ranks, summary.hosts, summary.world_size) == ("today", 4, 2, 4)
    assert summary.collectives == 12 and not summary.remarks
    late = summary.late_ranks[0]
    assert (late.rank, late.host, late.late) == (2, "node1", 12) and abs(late.late_ns - 3_000_000) < 30_000
    assert (late.causes[0].cause, late.causes[0].place) == ("host-code", "ddp.py:31 augment")
    assert late.causes[0].share > 0.9 and sum(part.ns for part in late.causes) == pytest.approx(late.cost_ns, abs=5)
    # The three others waited 3 ms in each of twelve steps, within the noise of made-up loading.
    assert summary.wait_ns == pytest.approx(3 * 12 * 3_000_000, rel=0.02)
    assert summary.costs[0].place == "ddp.py:31 augment" and summary.costs[0].most_rank == 2


def test_a_rank_that_is_late_at_a_bucket_that_computation_hides(tmp_path):
    summary = holdup.fleet.compare(digested(tmp_path, late=2, buckets=True))
    late = summary.late_ranks[0]
    assert (summary.collectives, late.rank, late.late) == (24, 2, 12) and abs(late.late_ns - 3_000_000) < 30_000
    assert (late.causes[0].cause, late.causes[0].place) == ("host-code", "ddp.py:31 augment") and late.causes[0].share > 0.9
    assert len(summary.late_ranks) == 1


def test_communicators_of_some_ranks_are_told_apart(tmp_path):
    place = digested(tmp_path, late=1, pairs=True)
    database = _query.connect()
    found = database.execute(
        f"SELECT comm, count(DISTINCT rank), max(count), any_value(bytes) FROM '{place}/*/collectives-*.parquet' WHERE kind = 'collective' "
        "GROUP BY comm ORDER BY comm"
    ).fetchall()
    bytes = 2 << 20
    assert found == [("0 [0, 1, 2, 3]", 4, 11, bytes), ("1 [0, 1]", 2, 11, bytes), ("2 [2, 3]", 2, 11, bytes)]
    summary = holdup.fleet.compare(place)
    assert summary.collectives == 36 and not summary.remarks
    late = {late.rank: late for late in summary.late_ranks}
    # Rank 0 waits for rank 1 in their pair, and so both are late where all four meet.
    assert set(late) <= {0, 1} and (late[1].causes[0].cause, late[1].causes[0].place) == ("host-code", "ddp.py:31 augment")
    assert 0 not in late or late[0].causes[0].call == "another collective"
    assert sum(each.late for each in summary.late_ranks) == 24


def test_a_rank_that_is_not_late_is_not_blamed(tmp_path):
    summary = holdup.fleet.compare(digested(tmp_path, late=-1, late_us=0))
    assert summary.collectives == 12 and summary.late_ranks == () and summary.wait_ns == 0


def test_a_gpu_that_works_longer_is_told_from_a_host_that_does(tmp_path):
    """The late rank's kernel takes 3 ms more, and its host does nothing more."""
    paths = ranks.write(tmp_path / "traces", late=-1)
    body = json.loads(paths[1].read_text())
    for event in body["traceEvents"]:
        if event["name"] == ranks.NCCL:
            event["ts"], event["dur"] = event["ts"] + 3000, event["dur"] - 3000
    slow = [event for event in body["traceEvents"] if event["name"] == "gemm"][2::3]
    for event in slow:
        event["dur"] += 3000
    paths[1].write_text(json.dumps(body))
    holdup.fleet.digest(paths, tmp_path / "digests")
    late = holdup.fleet.compare(tmp_path / "digests").late_ranks[0]
    assert late.rank == 1 and (late.causes[0].cause, late.causes[0].place) == ("collective-wait", None)
    assert "its GPU worked meanwhile" in fleet(tmp_path / "digests").stdout


def test_clocks_are_fitted_and_one_that_jumps_or_drifts_is_said(tmp_path):
    def ahead(rank, step):
        return {0: 0.0, 1: 250.0, 2: 40.0 + (5000.0 if step >= 7 else 0.0), 3: step * 12.0}[rank]

    summary = holdup.fleet.compare(digested(tmp_path, late=1, ahead=ahead))
    clocks = {clock.rank: clock for clock in summary.clocks}
    assert abs(clocks[1].ahead_ns - 250_000) < 1_000 and clocks[1].jump_ns == clocks[1].drift_ns == 0
    assert abs(clocks[2].jump_ns - 5_000_000) < 1_000 and clocks[2].drift_ns == 0
    assert clocks[3].jump_ns == 0 and 90_000 < clocks[3].drift_ns < 140_000
    assert any("clock of rank 2 jumps by +5.00 ms" in remark for remark in summary.remarks)
    assert any("drift" in remark and "rank 3" in remark for remark in summary.remarks)
    # What was late is not changed by clocks.
    assert summary.late_ranks[0].rank == 1 and summary.late_ranks[0].late == 12


def test_traces_that_begin_at_different_steps_are_aligned(tmp_path):
    summary = holdup.fleet.compare(digested(tmp_path, late=1, skips=lambda rank: 2 if rank == 3 else 0))
    assert summary.collectives == 12 and summary.late_ranks[0].rank == 1 and not summary.remarks


def test_a_half_written_trace_is_a_row_with_its_error_and_the_others_count(tmp_path):
    paths = ranks.write(tmp_path / "traces")
    whole = paths[3].read_text()
    paths[3].write_text(whole[: len(whole) * 2 // 3])
    paths[2].write_text("{")
    done = holdup.fleet.digest(paths, tmp_path / "digests")
    assert (done.traces, done.unreadable) == (4, 1)
    summary = holdup.fleet.compare(tmp_path / "digests")
    assert summary.digests == 3 and summary.late_ranks[0].rank == 1
    said = "\n".join(summary.remarks)
    assert "1 trace could not be read" in said and "rank2.json" in said and "ended early (rank 3)" in said
    assert "1 rank of 4 missing (rank 2)" in said
    # The rest of the half-written one is compared as far as it goes, and the others to their end.
    assert 3 <= summary.collectives <= 12 and summary.late_ranks[0].late == 12


def test_missing_ranks_are_said(tmp_path):
    summary = holdup.fleet.compare(digested(tmp_path, ranks=6, only={0, 1, 5}))
    assert "3 ranks of 6 missing (rank 2 to 4): one of them may be late" in summary.remarks
    assert "3 ranks of 6" in _text.text(summary)


def test_an_unknown_rank_is_said_and_not_guessed(tmp_path):
    paths = ranks.write(tmp_path / "traces", stated=False)
    renamed = [path.rename(path.with_name(f"host{at}.json")) for at, path in enumerate(paths)]
    holdup.fleet.digest(renamed, tmp_path / "digests")
    summary = holdup.fleet.compare(tmp_path / "digests")
    assert any("4 traces with an unknown rank" in remark for remark in summary.remarks)
    assert summary.late_ranks[0].rank is None and summary.late_ranks[0].trace.endswith("host1.json")
    # A name states it, and says so; a trace that states another one is believed.
    named = ranks.write(tmp_path / "named", stated=False)
    holdup.fleet.digest(named, tmp_path / "by-name")
    assert holdup.fleet.compare(tmp_path / "by-name").late_ranks[0].rank == 1
    stated = ranks.write(tmp_path / "stated")
    holdup.fleet.digest([path.rename(path.with_name(f"rank{9 - at}.json")) for at, path in enumerate(stated)], tmp_path / "other")
    summary = holdup.fleet.compare(tmp_path / "other")
    assert summary.late_ranks[0].rank == 1 and any("the name has rank" in remark for remark in summary.remarks)


def test_two_runs_in_one_are_said(tmp_path):
    first = ranks.write(tmp_path / "a", ranks=4, late=1)
    second = ranks.write(tmp_path / "b", ranks=2, late=0, irregular=3)
    holdup.fleet.digest([*first, *second], tmp_path / "mixed", run="mixed")
    said = "\n".join(holdup.fleet.compare(tmp_path / "mixed").remarks)
    assert "runs with 2 and 4 ranks are mixed" in said and "same rank" in said and "rank 0 to 1" in said
    # Ranks of another run whose numbers fit: their collectives do not.
    others = ranks.write(tmp_path / "c", ranks=4, only={3}, irregular=5)
    holdup.fleet.digest([*first[:3], *others], tmp_path / "foreign", run="foreign")
    summary = holdup.fleet.compare(tmp_path / "foreign")
    assert any("rank 3) fit those of no other" in remark for remark in summary.remarks)
    assert summary.late_ranks[0].rank == 1 and summary.late_ranks[0].late == 12


def test_runs_apart_are_chosen_by_name(tmp_path):
    for run, late in (("monday", 1), ("tuesday", 2)):
        digested(tmp_path, run=run, late=late)
    refused = fleet(tmp_path / "digests")
    assert refused.returncode == 2 and "2 runs (monday, tuesday): choose one with --run" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and not refused.stdout
    assert holdup.fleet.compare(tmp_path / "digests", run="tuesday").late_ranks[0].rank == 2
    wrong = fleet(tmp_path / "digests", "--run", "sunday")
    assert wrong.returncode == 2 and "no run `sunday`" in wrong.stderr


def test_what_changed_since_another_run(tmp_path):
    digested(tmp_path, run="monday", late=1, place="ddp.py(31): augment")
    digested(tmp_path, run="tuesday", late=2, late_us=4000, place="io.py(8): read")
    printed = json.loads(fleet(tmp_path / "digests/run=tuesday", "--against", tmp_path / "digests/run=monday", "--format", "json").stdout)
    against = printed["against"]
    assert (against["run"], against["new_late"], against["gone_late"]) == ("monday", [2], [1])
    places = {change["place"]: change for change in against["causes"]}
    assert places["io.py:8 read"]["before"] == 0 < places["io.py:8 read"]["after"]
    assert places["ddp.py:31 augment"]["after"] == 0 and against["median_step_ns"] > against["before_median_step_ns"]
    text = fleet(tmp_path / "digests/run=tuesday", "--against", tmp_path / "digests/run=monday").stdout
    assert "Against run monday" in text and "late now, not before: rank 2" in text
    # A place whose line moved is the same place, and nothing else changed.
    digested(tmp_path, run="wednesday", late=1, place="ddp.py(39): augment")
    same = json.loads(fleet(tmp_path / "digests", "--run", "wednesday", "--against-run", "monday", "--format", "json").stdout)
    assert same["against"]["causes"] == [] and same["against"]["new_late"] == []


def files_of(folder: Path) -> dict[str, bytes]:
    found = glob.glob(f"{folder}/**/*.parquet", recursive=True)
    return {os.path.relpath(path, folder): Path(path).read_bytes() for path in found}


def test_the_same_rows_whoever_digests_them_and_again(tmp_path):
    paths = ranks.write(tmp_path / "traces")
    done = holdup.fleet.digest(paths, tmp_path / "one")
    subprocess.run([holdup.program(), "digest", *paths, "-o", tmp_path / "program"], check=True, capture_output=True)
    holdup.fleet.digest(f"{tmp_path}/traces/*.json", tmp_path / "two", workers=2)
    first = files_of(tmp_path / "one")
    assert set(first) == set(done.files) and first == files_of(tmp_path / "program") == files_of(tmp_path / "two")
    holdup.fleet.digest(paths, tmp_path / "one")
    assert files_of(tmp_path / "one") == first
    # Digested again with others: each trace counts once.
    holdup.fleet.digest(paths[:2], tmp_path / "one")
    summary = holdup.fleet.compare(tmp_path / "one")
    assert summary.digests == 4 and summary.late_ranks[0].late == 12 and "2 traces digested twice: one digest of each counts" in summary.remarks


def test_a_worker_that_is_killed_is_tried_again(tmp_path, monkeypatch):
    paths = ranks.write(tmp_path / "traces")
    holdup.fleet.digest(paths, tmp_path / "whole")
    program = tmp_path / "holdup"
    program.write_text(f"#!/bin/sh\nif mkdir {tmp_path}/killed 2>/dev/null; then kill -9 $$; fi\nexec {holdup.program()} \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOLDUP_PROGRAM", str(program))
    holdup.fleet.digest(paths, tmp_path / "killed-once")
    assert (tmp_path / "killed").exists() and files_of(tmp_path / "killed-once") == files_of(tmp_path / "whole")


def test_a_trace_that_ends_the_program_is_a_row_with_its_error(tmp_path, monkeypatch):
    paths = ranks.write(tmp_path / "traces")
    program = tmp_path / "holdup"
    # Ends whenever it is to read the trace of rank 3, as if that had taken all memory.
    program.write_text(
        f"#!/bin/sh\ncat > {tmp_path}/list.$$\nif grep -q 'rank3.json$' {tmp_path}/list.$$; then kill -9 $$; fi\n"
        f'exec {holdup.program()} "$@" < {tmp_path}/list.$$\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("HOLDUP_PROGRAM", str(program))
    done = holdup.fleet.digest(paths, tmp_path / "digests")
    assert (done.traces, done.unreadable) == (4, 1)
    summary = holdup.fleet.compare(tmp_path / "digests")
    assert summary.late_ranks[0].rank == 1 and any("1 trace could not be read: ended with status -9" in remark for remark in summary.remarks)


def test_ray_digests_the_same_rows(tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed: digests are not made on it")
    paths = ranks.write(tmp_path / "traces")
    holdup.fleet.digest(paths, tmp_path / "one")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        holdup.fleet.digest(paths, tmp_path / "ray", workers=2)
    finally:
        ray.shutdown()
    assert files_of(tmp_path / "ray") == files_of(tmp_path / "one")


def test_addresses_that_fsspec_knows(tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed: addresses are not read")
    paths = ranks.write(tmp_path / "traces")
    addresses = [f"local://{path}" for path in paths] + [f"local://{tmp_path}/traces/rank9.json"]
    done = holdup.fleet.digest(addresses, f"local://{tmp_path}/digests", run="x")
    assert (done.traces, done.unreadable) == (5, 1)
    summary = holdup.fleet.compare(f"local://{tmp_path}/digests")
    assert summary.late_ranks[0].trace == addresses[1] and any("rank9.json: no such file" in remark for remark in summary.remarks)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: no such folder: check the name"),
        (["."], ".: no digests: make some with holdup digest"),
        (["nothing://x/y"], "check the address"),
    ],
)
def test_bad_input_is_one_line(tmp_path, arguments, said):
    done = subprocess.run([sys.executable, "-m", "holdup.fleet", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1 and not done.stdout


def test_files_that_are_no_digests_are_said(tmp_path):
    place = digested(tmp_path)
    (place / "run=today/digests-0000000000000000.parquet").write_bytes(b"PAR1 cut short")
    summary = holdup.fleet.compare(place)
    assert summary.late_ranks[0].rank == 1 and "digests-0000000000000000.parquet is no Parquet file: digest its traces again" in summary.remarks
    with pytest.raises(holdup.HoldupError, match="no traces to digest"):
        holdup.fleet.digest(f"{tmp_path}/nothing/*.json", place)
    with pytest.raises(holdup.HoldupError, match="none of 1 traces could be read"):
        holdup.fleet.digest([tmp_path / "gone.json"], tmp_path / "bad")


class Tags(HTMLParser):
    """The tags and attributes of a page, and whether tags are closed in their order."""

    def __init__(self):
        super().__init__()
        self.open, self.found = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_opens_offline_and_hostile_names_are_harmless(tmp_path):
    bad = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"\x1b[31m"
    place = digested(tmp_path, place=f"x.py(3): {bad}", host=lambda rank: bad)
    page = tmp_path / "fleet.html"
    assert fleet(place, "--format", "html", "-o", page).returncode == 0
    text = page.read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.open and "\x1b" not in text
    assert [tag for tag, _ in tags.found].count("script") == 2 and "img" not in [tag for tag, _ in tags.found]
    policy = next(attributes["content"] for _, attributes in tags.found if attributes.get("http-equiv"))
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not any("src" in attributes or "href" in attributes or any(name.startswith("on") for name in attributes) for _, attributes in tags.found)
    # The picture can be focused and has a name, the text below names what is under the cursor, tables have captions.
    heat = next(attributes for _, attributes in tags.found if attributes.get("id") == "map")
    assert heat["tabindex"] == "0" and "Heat map: 4 ranks" in heat["aria-label"]
    assert any(attributes.get("aria-live") == "polite" for _, attributes in tags.found) and "<caption>" in text
    printed = fleet(place).stdout
    assert "\x1b" not in printed and "\\x1b[31m" in printed
    again = fleet(place, "--format", "html", "-o", page)
    assert again.returncode == 2 and "add --force" in again.stderr and page.read_text() == text


KEYS = """
setTimeout(() => {
  const map = document.getElementById("map"), said = [];
  for (const key of ["n", "ArrowDown", "ArrowRight", "End", "ArrowUp"]) {
    map.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    said.push(document.getElementById("said").textContent);
  }
  document.querySelector("button[data-row]").click();
  said.push(document.getElementById("said").textContent, String(document.activeElement === map));
  document.title = JSON.stringify(said);
}, 1000);
"""


def test_the_heat_map_is_used_by_keys_in_a_browser(tmp_path, monkeypatch):
    browser = os.environ.get("CHROMIUM", shutil.which("chromium") or "")
    if not browser:
        pytest.skip("Chromium is not installed: the page is not opened")
    bad = "<img src=x onerror=alert(2)>"
    summary = holdup.fleet.compare(digested(tmp_path, late=2, host=lambda rank: bad), heat=True)
    for name in ("page.css", "page.js"):
        shutil.copy(_page.FOLDER / name, tmp_path / name)
    with (tmp_path / "page.js").open("a") as script:
        script.write(KEYS)
    monkeypatch.setattr(_page, "FOLDER", tmp_path)
    (tmp_path / "page.html").write_text(_page.page(summary))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}/browser", "--dump-dom"]
    dom = subprocess.run([browser, *options, f"file://{tmp_path}/page.html"], capture_output=True, text=True, timeout=60).stdout
    said = json.loads(html.unescape(dom.split("<title>")[1].split("</title>")[0]))
    assert said[0].startswith(f"rank 2 on {bad}, ") and " ms late" in said[0] and "3.0" in said[0]
    assert [line.split(" on ")[0] for line in said[:5]] == ["rank 2", "rank 3", "rank 3", "rank 3", "rank 2"]
    assert "not late" in said[1] and said[2] != said[1] and said[5].startswith("rank 2 on ") and said[6] == "true"
    assert "<img" not in dom and "<canvas" in dom and 'data-ready="true"' in dom


def test_the_heat_map_has_each_rank_and_time(tmp_path):
    heat = holdup.fleet.compare(digested(tmp_path, late=2), heat=True).heat
    assert heat.ranks == ("rank 0", "rank 1", "rank 2", "rank 3") and heat.columns == 12
    assert all(2_900_000 < late < 3_100_000 for late in heat.rows[2])
    assert all(late < 50_000 for row in (0, 1, 3) for late in heat.rows[row])


def test_every_file_of_sql_says_what_it_makes():
    for path in _query.SQL.glob("*.sql"):
        text = path.read_text()
        assert text.startswith("-- ") and "CREATE OR REPLACE TEMP" in text, path


def test_the_program_hands_over(tmp_path):
    place = digested(tmp_path)
    environment = os.environ | {"HOLDUP_PYTHON": sys.executable}
    done = subprocess.run([holdup.program(), "fleet", place], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout == fleet(place).stdout
    environment["HOLDUP_PYTHON"] = str(tmp_path / "no-python")
    done = subprocess.run([holdup.program(), "fleet", place], capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and "holdup[fleet]" in done.stderr and len(done.stderr.splitlines()) == 1


def test_json_is_as_its_schema_says(tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: JSON is not checked")
    schema = json.loads((Path(__file__).parents[2] / "docs/schema/fleet.json").read_text())

    def strict(value):
        """No other fields than those that it names."""
        if isinstance(value, list):
            return [strict(each) for each in value]
        if not isinstance(value, dict):
            return value
        return ({"additionalProperties": False} if "properties" in value else {}) | {key: strict(each) for key, each in value.items()}

    digested(tmp_path, run="a", late=1)
    digested(tmp_path, run="b", late=2, stated=False)
    for more in ([], ["--against-run", "a"]):
        printed = json.loads(fleet(tmp_path / "digests", "--run", "b", "--format", "json", *more).stdout)
        jsonschema.validate(printed, strict(schema))
        assert printed["late_ranks"][0]["causes"] and printed["costs"] and printed["clocks"]


def blocks(language: str) -> list[str]:
    """The statements of SQL of docs/fleet.md: those that every engine runs, and those of one."""
    text = (Path(__file__).parents[2] / "docs/fleet.md").read_text()
    found = [block.split("\n", 1) for block in text.split("```")[1::2]]
    own = [body for head, body in found if head.split() == ["sql", language]]
    shared = [body for head, body in found if head.split() == ["sql"]]
    return [statement for body in (own + shared) for statement in body.split(";") if statement.strip()]


def test_the_documented_sql_runs_in_duckdb(tmp_path, monkeypatch):
    digested(tmp_path, late=2)
    monkeypatch.chdir(tmp_path)
    database = _query.connect()
    results = [database.execute(statement).fetchall() for statement in blocks("duckdb")]
    assert len(results) == 7
    costs, _, late, more, busy = results[2:]
    assert costs[0][:2] == ("host-code", "ddp.py:31 augment") and late[0][:3] == (2, "node1", 12)
    assert more[0][:3] == (2, "host-code", "ddp.py:31 augment") and {row[0] for row in busy} == {"node0", "node1"}


def test_the_documented_sql_runs_in_spark(tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: its SQL is not run")
    digested(tmp_path, late=2)
    monkeypatch.chdir(tmp_path)
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        results = [[tuple(row) for row in session.sql(statement).collect()] for statement in blocks("spark")]
    finally:
        session.stop()
    assert results[2][0][:2] == ("host-code", "ddp.py:31 augment") and results[4][0][:3] == (2, "node1", 12)
    assert results[5][0][:3] == (2, "host-code", "ddp.py:31 augment")
