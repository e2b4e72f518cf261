"""Every reader on randomly changed files: each must end in an answer or in a one-line refusal.

    python measurements/readers.py [--minutes M] [--seed N] [--keep FOLDER] [--json]

The files, the readers and the changes are those of tests/core/test_mutated_files.py. Formats take turns; a file is
changed by the numbers that follow from seed and turn. A finding is another exception than InvalidInput, a message that
is longer than 300 characters or not of one line, or a file that takes more than 2 s of CPU; its content is kept in
FOLDER, from where it belongs into FOUND in that test. The most memory of the process is printed: 500 MB are allowed.
The exit status is 1 where there was a finding.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "core")]

from reader_examples import PARSERS, READERS, seeds  # noqa: E402
from test_mutated_files import mutated  # noqa: E402

from mlsched.core.errors import InvalidInput  # noqa: E402

#: CPU seconds and characters that a refusal may take.
SECONDS, CHARACTERS = 2.0, 300


def ended(name: str, path: Path) -> str:
    """How a reader ends: "taken", "refused" or what is wrong."""
    started = time.process_time()
    try:
        (READERS | PARSERS)[name](path)
        how = "taken"
    except InvalidInput as refusal:
        text = str(refusal)
        how = "refused" if text.isprintable() and len(text) <= CHARACTERS else f"says {text[:80]!r}"
    except Exception as error:  # what this program looks for
        how = f"{type(error).__name__}: {error}"[:200]
    spent = time.process_time() - started
    return f"takes {spent:.1f} s" if spent > SECONDS else how


def fuzz(minutes: float, seed: int, keep: Path) -> dict[str, Any]:
    """Counts by format, the findings, and the longest a file took."""
    counts: dict[str, Counter[str]] = {}
    findings: list[dict[str, str]] = []
    longest, turn, until = 0.0, 0, time.process_time() + 60 * minutes
    with tempfile.TemporaryDirectory() as place:
        files = seeds(Path(place))
        while time.process_time() < until:
            for number, (name, content) in enumerate(files):
                changed = mutated(content, random.Random(f"{seed} {turn} {number}"))
                path = Path(place) / "file"
                path.write_bytes(changed)
                started = time.process_time()
                how = ended(name, path)
                longest = max(longest, time.process_time() - started)
                count = counts.setdefault(name, Counter())
                count[how if how in ("taken", "refused") else "finding"] += 1
                if how not in ("taken", "refused"):
                    kept = keep / f"{name}-{seed}-{turn}-{number}"
                    keep.mkdir(parents=True, exist_ok=True)
                    kept.write_bytes(changed)
                    findings.append({"reader": name, "file": kept.name, "what": how})
                    print(f"{name}: {how}: {kept}", file=sys.stderr, flush=True)
            turn += 1
    rows = [[name, *(count[how] for how in ("taken", "refused", "finding"))] for name, count in sorted(counts.items())]
    return {
        "tables": [{"name": "readers", "header": ["reader", "taken", "refused", "findings"], "rows": rows}],
        "files": sum(map(Counter.total, counts.values())),
        "formats": len(files),
        "findings": findings,
        "longest": longest,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="CPU minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("findings"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = fuzz(given.minutes, given.seed, given.keep)
    if given.json:
        print(json.dumps(found))
    else:
        for name, taken, refused, wrong in found["tables"][0]["rows"]:
            print(f"{name}: {taken} taken, {refused} refused, {wrong} findings")
        print(
            f"{found['files']} files of {found['formats']} formats, {len(found['findings'])} findings; "
            f"the longest took {found['longest']:.2f} s, the process {found['megabytes']:.0f} MB"
        )
    return 1 if found["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
