"""Digests of thousands of traces, and what they say about a run.

    import holdup.fleet
    holdup.fleet.digest("s3://bucket/traces/*.json.gz", "digests")     # on Ray if the program is connected to it
    summary = holdup.fleet.compare("digests")
    summary.late_ranks[0].rank, summary.late_ranks[0].causes[0].place

`compare` needs the packages of `holdup[fleet]`. Times are integers in nanoseconds (`_ns`), shares numbers from 0 to 1.
"""

from holdup.fleet._against import Change, Changes, changes
from holdup.fleet._digest import Digested, digest
from holdup.fleet._query import Clock, Cost, Heat, LateRank, Node, Part, Summary
from holdup.fleet._reduce import compare

__all__ = [
    "Change",
    "Changes",
    "Clock",
    "Cost",
    "Digested",
    "Heat",
    "LateRank",
    "Node",
    "Part",
    "Summary",
    "changes",
    "compare",
    "digest",
]
