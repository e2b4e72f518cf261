"""Command line: `mlsched ...`, one file per command; `main` turns every outcome into an exit status.

Help needs only the signature and the docstring of every command. A command's module therefore imports at its head only
what its signature needs, and everything else within functions: `mlsched --help` loads neither numpy nor any layer above
core.

Exit status: 0 success; 1 the work ran but a check failed; 2 invalid input or call (one line on standard error: place,
fault, remedy); 130 interrupted, with results so far kept.
"""

import sys

try:
    from mlsched.cli.main import main
except KeyboardInterrupt:  # loading takes about a second
    print("mlsched: interrupted", file=sys.stderr)  # noqa: T201 - standard error is for people
    exec("")  # see `main.main`
    sys.exit(130)

__all__ = ["main"]
