"""Refuse a change that takes something out of a collection: `python histories.py BASE FOLDER`.

BASE is a commit of git. Every entry that it has must still be there, and its history must begin with the lines that it
had. Exit status 1 where that is not so.
"""

import json
import subprocess
import sys
from pathlib import Path


def git(*arguments):
    """What git prints."""
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def faults(base, folder):
    """A sentence for each entry that has lost something."""
    names = git("ls-tree", "-r", "--name-only", base, "--", folder).splitlines()
    for name in names:
        if name.endswith(".json") and Path(name).name.count(".") == 2:
            kept = json.loads(git("show", f"{base}:./{name}"))["history"]
            now = json.loads(Path(name).read_text())["history"] if Path(name).is_file() else []
            if now[: len(kept)] != kept:
                yield f"{name}: its history has lost lines"


if __name__ == "__main__":
    found = list(faults(*sys.argv[1:3]))
    print("\n".join(found) or "nothing is lost")
    sys.exit(bool(found))
