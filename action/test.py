#!/usr/bin/env python3
"""Runs the steps of `action.yml` as GitHub does, in a scratch folder and with a stand-in for GitHub's API on this machine.

    test.py HOLDUP [--update]       --update rewrites `expected/`: read the difference
"""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXPECTED = ROOT / "action" / "expected"
FAST, SLOW = (ROOT / "examples" / f"recorded-d2h-{name}.holdup" for name in ("own-streams", "stall"))
PULL = {"pull_request": {"number": 7}, "repository": {"default_branch": "trunk"}}
PUSH = {"repository": {"default_branch": "trunk"}}


def steps():
    """The commands of the action's own steps by name, and their environment, as far as inputs give it."""
    text = (ROOT / "action.yml").read_text().split("\n  steps:\n")[1]
    found = {}
    for step in re.split(r"\n    - name: ", "\n" + text)[1:]:
        name, rest = step.split("\n", 1)
        command = re.search(r"^      run: (.*)$", rest, re.M)
        if command:
            found[name] = (command[1], dict(re.findall(r"^        (HOLDUP_\w+): \$\{\{ inputs\.([\w-]+) \}\}$", rest, re.M)))
    return found


class Api(http.server.BaseHTTPRequestHandler):
    """Comments of an issue."""

    def do_GET(self):
        page = int(re.search(r"page=(\d+)$", self.path)[1])
        self.answer(self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        self.server.comments.append({"id": 1000 + len(self.server.comments), **self.body()})
        self.answer({})

    def do_PATCH(self):
        [comment] = [each for each in self.server.comments if self.path.endswith(f"/comments/{each['id']}")]
        comment.update(self.body())
        self.answer({})

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, value):
        self.server.asked.append((self.command, self.path))
        refused = self.headers["Authorization"] != "Bearer secret"
        self.send_response(403 if refused else 200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_):
        pass


class Action(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="holdup-action-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.work = self.scratch / "work"
        self.work.mkdir()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.server.comments, self.server.asked = [{"id": 1, "body": "a person's"}], []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_steps(self, *names, event=PULL, ref="refs/pull/7/merge", token="secret", **inputs):
        """Status and output of the last step; the outputs of all."""
        given = {"name": "gate", "holdup": HOLDUP, "token": token, "recordings": "step*.holdup", "baseline": "", "options": "", "save": "auto"}
        given |= inputs
        event_file, outputs = self.scratch / "event.json", self.scratch / "outputs"
        event_file.write_text(json.dumps(event))
        outputs.write_text("")
        for name in names:
            command, environment = steps()[name]
            environment = {variable: given[name] for variable, name in environment.items()} | {
                "PATH": os.environ["PATH"],
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_API_URL": f"http://127.0.0.1:{self.server.server_port}",
                "GITHUB_EVENT_PATH": str(event_file),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_REF": ref,
                "GITHUB_REPOSITORY": "someone/program",
                "GITHUB_STEP_SUMMARY": str(self.scratch / "summary.md"),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            done = subprocess.run(["bash", "-e", "-c", command], cwd=self.work, env=environment, capture_output=True, text=True)
            if done.returncode:
                break
        values = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        return done.returncode, done.stdout + done.stderr, values

    def put(self, recording, name="step.holdup"):
        shutil.copyfile(recording, self.work / name)

    def report(self, name):
        return (self.work / ".holdup-gate" / "gate" / "report" / name).read_text()

    def same(self, text, name):
        text = re.sub(r'"semanticVersion": "[^"]*"', '"semanticVersion": "X"', text)
        if UPDATE:
            EXPECTED.mkdir(exist_ok=True)
            (EXPECTED / name).write_text(text)
        self.assertEqual(text, (EXPECTED / name).read_text(), f"not as {name}: test.py --update rewrites it")

    def save_main(self, recording=FAST):
        """What a run on the main branch leaves; the cache restores it."""
        self.put(recording)
        status, said, values = self.run_steps("Judge", "Recordings for the baseline", event=PUSH, ref="refs/heads/trunk")
        self.assertEqual((status, values["kept"]), (0, "true"), said)

    def test_without_a_baseline_nothing_is_judged(self):
        self.put(SLOW)
        status, said, values = self.run_steps("Judge", "Comment", "Recordings for the baseline", "Verdict")
        self.assertEqual((status, values["state"], values.get("kept")), (0, "no-baseline", None), said)
        self.same(self.server.comments[-1]["body"], "no-baseline.md")

    def test_the_same_passes(self):
        self.save_main()
        status, said, values = self.run_steps("Judge", "Comment", "Verdict")
        self.assertEqual((status, values["state"]), (0, "passed"), said)
        self.same(self.report("comment.md"), "passed.md")
        self.same(self.report("junit.xml"), "passed.xml")
        self.same(self.report("results.sarif"), "passed.sarif")

    def test_a_regression_is_red_at_its_line(self):
        self.save_main()
        self.put(SLOW)
        # It was recorded elsewhere; the end of its path is here.
        (self.work / "d2h_stall.py").write_text("")
        status, said, values = self.run_steps("Judge", "Comment", "Verdict")
        self.assertEqual((status, values["state"]), (1, "exceeded"), said)
        self.same(self.report("comment.md"), "exceeded.md")
        self.same(self.report("junit.xml"), "exceeded.xml")
        self.same(self.report("results.sarif"), "exceeded.sarif")
        self.assertEqual(self.server.comments[-1]["body"], self.report("comment.md"))
        self.assertIn("# Gate exceeded", (self.scratch / "summary.md").read_text())

    def test_one_comment_is_updated(self):
        self.server.comments += [{"id": number, "body": "talk"} for number in range(2, 150)]
        self.save_main()
        self.run_steps("Judge", "Comment")
        self.put(SLOW)
        self.run_steps("Judge", "Comment")
        self.assertEqual([method for method, _ in self.server.asked], ["GET", "GET", "POST", "GET", "GET", "PATCH"])
        self.assertEqual(len(self.server.comments), 150)
        self.assertIn("# Gate exceeded", self.server.comments[-1]["body"])

    def test_a_token_that_may_not_write_is_a_warning(self):
        self.save_main()
        status, said, _ = self.run_steps("Judge", "Comment", "Verdict", token="a fork's")
        self.assertEqual(status, 0, said)
        status, said, _ = self.run_steps("Comment", token="a fork's")
        self.assertIn("::warning title=holdup::the comment was not written: HTTP Error 403", said)

    def test_several_recordings_are_the_sides(self):
        for at in range(3):
            self.put(FAST, f"step-{at}.holdup")
        self.run_steps("Recordings for the baseline", save="true")
        status, said, values = self.run_steps("Judge", "Verdict")
        self.assertEqual((status, values["state"]), (0, "passed"), said)
        self.assertEqual(self.report("comment.md").count("- before: "), 3)

    def test_wrong_input_is_one_line(self):
        cases = [
            ({"recordings": "nothing*.holdup"}, "recordings: `nothing*.holdup`: no such file: record the program before"),
            ({"baseline": "nowhere.holdup"}, "baseline: `nowhere.holdup`: no such file: leave it empty"),
            ({"recordings": "text.holdup"}, "text.holdup: "),
            ({"options": "--fail-over 5"}, "not a limit"),
            ({"name": "../up"}, "name: `../up`: use letters"),
        ]
        self.save_main()
        (self.work / "text.holdup").write_text("no trace")
        for inputs, line in cases:
            with self.subTest(line):
                status, said, values = self.run_steps("Judge", **inputs)
                self.assertEqual((status, values.get("state", "failed")), (2, "failed"), said)
                self.assertIn(line, said)


if __name__ == "__main__":
    UPDATE = "--update" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--update"]
    if len(words) != 1:
        sys.exit(__doc__)
    HOLDUP = str(pathlib.Path(words[0]).resolve())
    unittest.main(argv=sys.argv[:1])
