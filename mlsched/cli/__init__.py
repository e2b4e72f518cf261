"""The command line: `mlsched ...`. One file a command; `main` turns every outcome into an exit status.

Help needs the signature and the docstring of every command, and nothing of what the commands do. A command's module
therefore imports at its head only what its signature needs, and within a function what does the function's work:
`mlsched --help` loads neither numpy nor any layer above core.

Exit status: 0 done; 1 the work ran but something it checks failed; 2 the input or the call is wrong (one line on
standard error: what, where, the remedy); 130 interrupted, with what was done kept.
"""

import sys

try:
    from mlsched.cli.main import main
except KeyboardInterrupt:  # loading takes a good part of a second
    print("mlsched: interrupted", file=sys.stderr)  # noqa: T201 - standard error is for people
    exec("")  # see `main.main`
    sys.exit(130)

__all__ = ["main"]
