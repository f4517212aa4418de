#!/usr/bin/env python3
"""The steps of `action.yml`: `test.py` runs them as the action does. Standard library only.

    gate.py judge       compares with the baseline, writes comment.md, junit.xml and results.sarif
    gate.py comment     writes comment.md as a comment of the pull request, or replaces the one that is there
    gate.py keep        makes the recordings the baseline, on the main branch
    gate.py verdict     ends as the gate did: 0 passed or nothing to compare with, 1 exceeded, 2 wrong input
"""

import glob
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

# GitHub's longest comment is 65,536 characters.
LONGEST = 60_000
# Pages of comments that are searched for ours, 100 each.
PAGES = 20
STATES = {0: "passed", 1: "exceeded"}


class Problem(Exception):
    """Wrong input, in one line."""


def folder():
    name = os.environ["HOLDUP_GATE_NAME"]
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise Problem(f"name: `{name}`: use letters, digits, `-` and `_`")
    return pathlib.Path(".holdup-gate") / name


def files(patterns):
    """The files of some patterns, in order."""
    found = [pathlib.Path(path) for pattern in shlex.split(patterns) for path in sorted(glob.glob(pattern, recursive=True))]
    return list(dict.fromkeys(path for path in found if path.is_file()))


def recordings():
    patterns = os.environ["HOLDUP_GATE_RECORDINGS"]
    found = files(patterns)
    if not found:
        raise Problem(f"recordings: `{patterns}`: no such file: record the program before, `holdup record -o step.holdup -- …`")
    return found


def judge():
    """Compares, and writes the report; ends with 0 except with wrong input, so that the later steps run."""
    report = folder() / "report"
    shutil.rmtree(report, ignore_errors=True)
    report.mkdir(parents=True)
    output(report=report)
    try:
        after, before = recordings(), baseline()
    except Problem as problem:
        return fail(report, str(problem))
    if not before:
        text = "# No baseline yet\n\nThe main branch has saved no recording: nothing was compared. The next run of its workflow saves one.\n"
        return finish(report, "no-baseline", text)
    program = installed()
    results = {}
    for form, name in [("markdown", "comment.md"), ("junit", "junit.xml"), ("sarif", "results.sarif")]:
        command = [program, "diff", "--gate", "--format", form, *shlex.split(os.environ.get("HOLDUP_GATE_OPTIONS", ""))]
        command += [word for path in before[1:] for word in ("--before", str(path))]
        command += [word for path in after[1:] for word in ("--after", str(path))]
        done = subprocess.run([*command, "--", str(before[0]), str(after[0])], capture_output=True, text=True)
        if done.returncode not in STATES:
            return fail(report, done.stderr.strip().removeprefix("holdup: ") or f"holdup ended with {done.returncode}")
        results[form] = done
        (report / name).write_text(done.stdout)
    said = results["sarif"].stderr.strip().splitlines()
    state = STATES[results["sarif"].returncode]
    if state == "passed" and said:
        state = "inconclusive"
    for line in said:
        print(f"::{'error' if ': inconclusive: ' not in line else 'notice'} title=holdup::{escaped(line)}")
    output(junit=report / "junit.xml", sarif=report / "results.sarif")
    return finish(report, state, results["markdown"].stdout)


def baseline():
    """The recordings to compare with: those named, which must be there, or those of the main branch, if it saved some."""
    named = os.environ.get("HOLDUP_GATE_BASELINE", "")
    if not named:
        return files(str(folder() / "baseline" / "*.holdup"))
    found = files(named)
    if not found:
        raise Problem(f"baseline: `{named}`: no such file: leave it empty for the recordings that the main branch saved")
    return found


def installed():
    """The program; installed where it is not there."""
    program = os.environ.get("HOLDUP_GATE_PROGRAM") or "holdup"
    if shutil.which(program):
        return program
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "holdup"], check=False)
    if not shutil.which("holdup"):
        raise Problem(f"holdup: `{program}`: no such program, and pip cannot install it: install it before")
    return "holdup"


def finish(report, state, text):
    """Writes what the later steps need."""
    (report / "state").write_text(state + "\n")
    marked = f"{mark()}\n{text}"
    if len(marked) > LONGEST:
        marked = marked[:LONGEST].rsplit("\n", 1)[0] + "\n\n… cut: GitHub takes no longer comment. The rest is in the job's report.\n"
    (report / "comment.md").write_text(marked)
    output(state=state)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a") as file:
            file.write(text + "\n")
    print(f"holdup gate: {state}")
    return 0


def fail(report, line):
    """Wrong input: the later steps say so."""
    print(f"::error title=holdup::{escaped(line)}")
    print(f"holdup gate: {line}", file=sys.stderr)
    finish(report, "failed", f"# Gate not judged\n\n{line}\n")
    return 2


def mark():
    return f"<!-- holdup-gate {os.environ['HOLDUP_GATE_NAME']} -->"


def escaped(text):
    """A workflow command's text: on one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def output(**values):
    if path := os.environ.get("GITHUB_OUTPUT"):
        with open(path, "a") as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())


def comment():
    """One comment for each gate of a pull request. Where the token may not write, as of a fork's pull request, a warning."""
    text = (folder() / "report" / "comment.md").read_text()
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    number = event["pull_request"]["number"]
    comments = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        ours = next(found(f"{comments}/{number}/comments"), None)
        if ours:
            request("PATCH", f"{comments}/comments/{ours}", {"body": text})
        else:
            request("POST", f"{comments}/{number}/comments", {"body": text})
    except (urllib.error.URLError, OSError) as error:
        print(f"::warning title=holdup::the comment was not written: {escaped(str(error))}: does the token have `pull-requests: write`?")
    return 0


def found(path):
    """The ids of comments with our mark."""
    for page in range(1, PAGES + 1):
        some = request("GET", f"{path}?per_page=100&page={page}")
        yield from (each["id"] for each in some if (each.get("body") or "").startswith(mark()))
        if len(some) < 100:
            return


def request(method, path, data=None):
    asked = urllib.request.Request(os.environ.get("GITHUB_API_URL", "https://api.github.com") + path, method=method)
    asked.add_header("Authorization", f"Bearer {os.environ['HOLDUP_GATE_TOKEN']}")
    asked.add_header("Accept", "application/vnd.github+json")
    asked.data = json.dumps(data).encode() if data else None
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def keep():
    """Makes the recordings the baseline, on the main branch or where that is asked for."""
    save = os.environ.get("HOLDUP_GATE_SAVE", "auto")
    if save not in ("auto", "true", "false"):
        raise Problem(f"save: `{save}`: expected auto, true or false")
    if save == "false" or save == "auto" and not on_main():
        return 0
    kept = folder() / "baseline"
    found = recordings()
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for at, path in enumerate(found):
        shutil.copyfile(path, kept / f"{at:03}.holdup")
    output(kept="true")
    return 0


def on_main():
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    main = event.get("repository", {}).get("default_branch")
    return "pull_request" not in event and os.environ.get("GITHUB_REF") == f"refs/heads/{main}"


def verdict():
    state = (folder() / "report" / "state").read_text().strip()
    print(f"holdup gate: {state}")
    return {"exceeded": 1, "failed": 2}.get(state, 0)


def main():
    steps = {"judge": judge, "comment": comment, "keep": keep, "verdict": verdict}
    if len(sys.argv) != 2 or sys.argv[1] not in steps:
        sys.exit(__doc__)
    try:
        sys.exit(steps[sys.argv[1]]())
    except Problem as problem:
        print(f"::error title=holdup::{escaped(str(problem))}")
        print(f"holdup gate: {problem}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
