"""Test tables of Kueue, KAI and kube-scheduler, compared with mlsched's copies and the judge.

    python measurements/upstream.py [FOLDER] [--system kueue|kai|kube] [--verdicts] [--json]

FOLDER has kueue.json.gz, kai.json.gz and kube.json.gz (default: data/upstream in MLSCHED_DATA). Prints agreement per
system and each case that differs. With --verdicts the judge is asked about every expected decision of Kueue and KAI:
kinds of verdicts, and accusations (ineligible, does not start, needless). --json prints both tables of the pages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from upstream_tables import ACCUSATIONS, SYSTEMS, cases, differences, verdicts

NAMES = {"kueue": "Kueue", "kai": "KAI", "kube": "kube-scheduler"}
KINDS = ("on the front", "dominated", "unknown")


def document(folder: Path) -> dict[str, Any]:
    """Return the agreement with the expected decisions, and the verdicts on them, as two tables."""
    agreement, judged = [], []
    for system, name in NAMES.items():
        total = len(cases(folder, system))
        agreement.append([name, total, total - len(list(differences(folder, system)))])
        kinds, _ = verdicts(folder, system)
        judged.append([name, kinds.total(), *(kinds[kind] for kind in (*KINDS, *ACCUSATIONS))])
    return {
        "tables": [
            {"name": "agreement", "header": ["system", "cases", "decided as expected"], "rows": agreement},
            {"name": "verdicts", "header": ["system", "decisions", *KINDS, *ACCUSATIONS], "rows": judged},
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data" / "upstream"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--system", choices=tuple(SYSTEMS))
    parser.add_argument("--verdicts", action="store_true")
    parser.add_argument("--json", action="store_true", help="print the two tables as one JSON document")
    a = parser.parse_args()
    if a.json:
        print(json.dumps(document(a.folder)))
        return
    for system in [a.system] if a.system else SYSTEMS:
        started = time.process_time()
        found = list(differences(a.folder, system))
        total = len(cases(a.folder, system))
        seconds = time.process_time() - started
        print(f"{system}: {total - len(found)} of {total} as expected ({seconds:.1f} CPU s)")
        for case, decided, expected in found:
            print(f"  {case['id']} {' '.join(case['tags'])}: decided {decided}, expected {expected}")
        if a.verdicts:
            kinds, accused = verdicts(a.folder, system)
            print(f"  verdicts: {dict(kinds)}")
            for line in accused:
                print(f"  {line}")


if __name__ == "__main__":
    main()
