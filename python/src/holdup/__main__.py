"""`python -m holdup` is the program `holdup`."""

import os
import sys

from holdup._program import HoldupError, program


def main() -> None:
    """Becomes the program: its signals, streams and exit status are this process's."""
    try:
        path = program()
    except HoldupError as error:
        sys.exit(f"holdup: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
