"""How long `holdup.handler` takes beyond the export: `handler.py TRACE.json`, a trace that `cargo xtask generate` made.
Prints events, seconds of each of five runs, and seconds per million events."""

import os
import sys
import tempfile

import holdup


class Profile:
    """Exports a trace by a link: what is measured is what comes after it."""

    def export_chrome_trace(self, path):
        os.symlink(os.path.abspath(sys.argv[1]), path)


with open(sys.argv[1], "rb") as trace:
    events = sum(line.count(b'"ph":') for line in trace)
ready = holdup.handler(tempfile.mkdtemp(), quiet=True)
times = []
for _ in range(5):
    ready(Profile())
    times.append(ready.seconds)
print(f"{events:,} events: {', '.join(f'{seconds:.2f}' for seconds in times)} s; {min(times) / events * 1e6:.2f} s per million")
