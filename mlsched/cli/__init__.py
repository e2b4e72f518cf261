"""The command line: `mlsched ...`. One file a command; `main` turns every outcome into an exit status.

Exit status: 0 done; 1 the work ran but something it checks failed; 2 the input or the call is wrong (one line on
standard error: what, where, the remedy); 130 interrupted, with what was done kept.
"""

from mlsched.cli.main import main

__all__ = ["main"]
