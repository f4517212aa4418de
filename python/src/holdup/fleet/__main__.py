"""`python -m holdup.fleet`, as which `holdup fleet` runs."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from holdup._program import HoldupError
from holdup.fleet import _page, _reduce, _text
from holdup.fleet._against import changes

HELP = """Compares the digests of a run's ranks: which are late at the collectives, why, and what that costs.

It is SQL over the files that holdup digest wrote, run by DuckDB."""

EXAMPLES = """examples:
  holdup fleet digests
  holdup fleet digests/run=today --against digests/run=yesterday
  holdup fleet s3://bucket/digests --run 2026-11-24 --format json
  holdup fleet digests --format html -o fleet.html
      a page that opens offline, with a heat map of ranks and time

Exit status: 0 done; 2 wrong usage, or no digests."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="holdup fleet", description=HELP, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("digests", metavar="DIR", help="folder of digests, or an address that fsspec knows (s3://…)")
    parser.add_argument("--run", metavar="NAME", help="the run, where DIR has several")
    parser.add_argument("--against", metavar="DIR", help="digests of an earlier run to compare with")
    parser.add_argument("--against-run", metavar="NAME", help="the earlier run, where its folder has several")
    parser.add_argument("--format", choices=("text", "json", "html"), default="text", help="form of the output (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of standard output")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument("--top", metavar="COUNT", type=int, help="rows of each part of the text")
    return parser


def run(arguments: Sequence[str]) -> None:
    """Runs the command.

    Raises:
        HoldupError: it cannot be done, in one line.
    """
    options = _parser().parse_args(arguments)
    output = Path(options.output) if options.output else None
    if output is not None and output.exists() and not options.force:
        raise HoldupError(f"{output}: exists: name another file, or add --force")
    if options.format == "html" and output is None and sys.stdout.isatty():
        raise HoldupError("a page is no text for a terminal: name a file with -o")
    summary = _reduce.compare(options.digests, run=options.run, heat=options.format == "html")
    against = options.against or (options.digests if options.against_run else None)
    compared = changes(summary, _reduce.compare(against, run=options.against_run)) if against else None
    if options.format == "json":
        text = _text.as_json(summary, compared)
    elif options.format == "html":
        text = _page.page(summary, compared)
    else:
        text = _text.text(summary, compared, options.top)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _write(output, text)


def _write(path: Path, text: str) -> None:
    """Writes a file at once, or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".holdup-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise HoldupError(f"{path}: {error.strerror}") from None


def main() -> None:
    """The command's status is the process's."""
    try:
        run(sys.argv[1:])
    except HoldupError as error:
        sys.stderr.write(f"holdup: {_text.visible(str(error))}\n")
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
