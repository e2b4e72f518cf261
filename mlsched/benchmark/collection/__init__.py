"""Collection of instances with their best known plans, to check and improve.

A folder with a file `collection.json`, and for every instance, named by the first 16 digits of its hash:

    PROBLEM/HASH.json               the instance
    PROBLEM/HASH.OBJECTIVE.json     the entry for the objective
    PROBLEM/HASH.OBJECTIVE.proof/   the certificate of a certified optimum (read by `mlsched check`)

An entry has the best known plan and its value, the tightest reported bound, the evidence if the two meet (`evidence`:
see `Result`), and its history: author, value, bound, date and versions of each change. `TABLE.md` is generated from the
entries; so are, on request, a card and a Croissant description (`card`).

A reader of a collection need not trust it. The judge recomputes the value of every plan. A bound is proven if its
certificate passes the check, if it follows from the statement without a search (`Problem.trivial_bound`), or when
`verify` recomputes it; any other bound is *unconfirmed*. An unconfirmed bound is removed as soon as a better plan
refutes it, so that a false claim never blocks a plan. `submit` is therefore sufficient to accept plans from outsiders.
"""

from mlsched.benchmark.collection.card import Details, rewrite_card, write_card
from mlsched.benchmark.collection.changes import EntryChange, add, certify, submit
from mlsched.benchmark.collection.entry import DIGITS, Entry, create, entries, proof_of, read_description
from mlsched.benchmark.collection.table import markdown_table, write_table
from mlsched.benchmark.collection.verification import CollectionCheck, verify

__all__ = [
    "DIGITS",
    "CollectionCheck",
    "Details",
    "Entry",
    "EntryChange",
    "add",
    "certify",
    "create",
    "entries",
    "markdown_table",
    "proof_of",
    "read_description",
    "rewrite_card",
    "submit",
    "verify",
    "write_card",
    "write_table",
]
