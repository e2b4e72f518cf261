"""The end of every `checker.py`: what it reads, and what it says."""

import sys
from collections.abc import Callable
from typing import Any

from mlsched.certificates.prices.core import Wrong, check
from mlsched.certificates.prices.documents import documents


def main(claims: dict[str, Callable[..., list[Any]]], kind: str, fields: set[str], folder: str) -> None:
    """Check the trees of each claim of a certificate's folder; print what they prove, or what is wrong."""
    try:
        instance, manifest, proof = documents(folder, kind, fields)
        if len(manifest["proofs"]) != len(proof["trees"]):
            raise Wrong("there must be trees for each claim")
    except Wrong as wrong:
        sys.exit(f"not proved: {wrong}")
    for said, trees in zip(manifest["proofs"], proof["trees"], strict=True):
        objective, bound, within = said["objective"], said["bound"], said["within"]
        plans = "".join(f" with {name} as good as {value}" for name, value in within.items())
        meant = f"no plan of this instance{plans} has a better {objective} than {bound}"
        try:
            if any(type(number) is not int for number in (bound, *within.values())):
                raise Wrong("the bound or a limit is no integer")  # what costs 97 or more does not cost 97.9 or more
            asked = claims[objective](instance, bound, lambda steps: None, *([tuple(within.items())] if within else []))
            if len(asked) != len(trees):
                raise Wrong(f"there must be {len(asked)} trees")
            for claim, tree in zip(asked, trees, strict=True):
                check(claim, tree)
        except Wrong as wrong:
            sys.exit(f"not proved: {meant}: {wrong}")
        print(f"proved: {meant}")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -I checker.py FOLDER")
    main(globals()["CLAIMS"], globals()["KIND"], globals()["FIELDS"], sys.argv[1])
