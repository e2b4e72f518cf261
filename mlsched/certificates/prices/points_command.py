"""The end of the `checker.py` of a front's points: what it reads, and what it says."""

import sys
from collections.abc import Callable
from typing import Any

from mlsched.certificates.prices.core import Wrong, check
from mlsched.certificates.prices.documents import documents


def main(claims: dict[str, Callable[..., list[Any]]], kind: str, folder: str) -> None:
    """Check the tree of each claim of a certificate's folder; print what they prove, or what is wrong."""
    try:
        instance, manifest, proof = documents(folder, kind)
        if len(manifest["claims"]) != len(proof["trees"]):
            raise Wrong("there must be a tree for each claim")
    except Wrong as wrong:
        sys.exit(f"not proved: {wrong}")
    for said, tree in zip(manifest["claims"], proof["trees"], strict=True):
        objective, bound, within = said["objective"], said["bound"], said["within"]
        plans = "".join(f" with {name} as good as {value}" for name, value in within.items())
        meant = f"no plan of this instance{plans} has a better {objective} than {bound}"
        try:
            if any(type(number) is not int for number in (bound, *within.values())):
                raise Wrong("the bound or a limit is no integer")
            (claim,) = claims[objective](instance, bound, lambda steps: None, tuple(within.items()))
            check(claim, tree)
        except Wrong as wrong:
            sys.exit(f"not proved: {meant}: {wrong}")
        print(f"proved: {meant}")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -I checker.py FOLDER")
    main(globals()["CLAIMS"], globals()["KIND"], sys.argv[1])
