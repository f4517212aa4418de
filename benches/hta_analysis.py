"""Runs the analyses of HolisticTraceAnalysis that come nearest to `holdup explain` on one trace.

    python hta_analysis.py TRACE       loads the trace; launch statistics; idle time breakdown
    python hta_analysis.py --import    only starts Python and imports the package

`compare.py` measures this process from outside, as it measures holdup.
"""

import contextlib
import os
import sys

from hta.trace_analysis import TraceAnalysis


def analyse(path: str) -> None:
    """Loads the trace as rank 0, then asks for launch delays and idle time, without plots."""
    folder, name = os.path.split(os.path.abspath(path))
    analyzer = TraceAnalysis(trace_files={0: name}, trace_dir=folder)
    launches = analyzer.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
    idle, _ = analyzer.get_idle_time_breakdown(ranks=[0], visualize=False)
    print(f"{len(launches[0])} launches, {len(idle)} rows of idle time", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: hta_analysis.py TRACE | --import")
    if sys.argv[1] != "--import":
        with contextlib.redirect_stdout(sys.stderr):
            analyse(sys.argv[1])
