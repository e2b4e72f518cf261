"""The end of every `checker.py`: what it reads, and what it says."""

import sys
from collections.abc import Callable
from typing import Any

from mlsched.certificates.prices.core import Wrong, check
from mlsched.certificates.prices.documents import documents


def main(claims: dict[str, Callable[..., list[Any]]], kind: str, folder: str) -> None:
    """Check the trees of a certificate's folder against its instance; print what they prove, or what is wrong."""
    try:
        instance, manifest, proof = documents(folder, kind)
        objective, bound = manifest["objective"], manifest["bound"]
        if type(bound) is not int:  # what costs 97 or more does not cost 97.9 or more
            raise Wrong("the bound is no integer")
        asked = claims[objective](instance, bound, lambda steps: None)
        if len(asked) != len(proof["trees"]):
            raise Wrong(f"there must be {len(asked)} trees")
        for claim, tree in zip(asked, proof["trees"], strict=True):
            check(claim, tree)
    except Wrong as wrong:
        sys.exit(f"not proved: {wrong}")
    print(f"proved: no plan of this instance has a better {objective} than {bound}")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -I checker.py FOLDER")
    main(globals()["CLAIMS"], globals()["KIND"], sys.argv[1])
