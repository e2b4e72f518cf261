"""Check the subject of a commit message: `python tools/commit_message.py FILE`.

pre-commit calls it at the stage commit-msg. A subject is `type(scope): imperative summary`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: Most characters of a subject.
LONGEST = 72
SUBJECT = re.compile(r"[a-z]+(?:\([a-z0-9_, -]+\))?!?: (?P<verb>\S+) \S.*")
#: Subjects that git writes.
WRITTEN_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
#: Imperatives that end like another form of a verb.
IMPERATIVES = frozenset({"bias", "bring", "embed", "exceed", "feed", "focus", "proceed", "seed", "shed", "speed"})


def faults(subject: str) -> list[str]:
    """Return what is wrong with a subject; nothing for one that git writes."""
    if subject.startswith(WRITTEN_BY_GIT):
        return []
    found = []
    if len(subject) > LONGEST:
        found.append(f"subject: {len(subject)} characters, expected at most {LONGEST}; move details to the body")
    if ";" in subject:
        found.append("subject: a semicolon, expected one change; split the commit")
    parts = SUBJECT.fullmatch(subject)
    if parts is None:
        return [*found, "subject: expected type(scope): summary, such as fix(cli): report a missing file"]
    verb = parts["verb"].lower()
    other_form = verb.endswith(("ed", "ing")) or (verb.endswith("s") and not verb.endswith("ss"))
    if other_form and verb not in IMPERATIVES:
        found.append(f"subject: '{parts['verb']}', expected an imperative, such as add, fix or remove")
    return found


def subject_of(message: str) -> str:
    """Return the first line of a message that is not a comment of git's."""
    lines = (line.strip() for line in message.splitlines() if not line.startswith("#"))
    return next((line for line in lines if line), "")


def main(path: str) -> int:
    """Print the faults of the message in a file; return 1 if there are any."""
    wrong = faults(subject_of(Path(path).read_text(encoding="utf-8")))
    for fault in wrong:
        print(fault, file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
