"""A collection of instances with their best known plans, that anyone can check and improve.

A folder with a file `collection.json`, and for every instance, named by the first 16 digits of its hash:

    PROBLEM/HASH.json               the instance
    PROBLEM/HASH.OBJECTIVE.json     what is known for the objective: an entry
    PROBLEM/HASH.OBJECTIVE.proof/   where the optimum is certified: its certificate (`mlsched check` reads it)

An entry has the best known plan and its value, the tightest bound that somebody reported, what the two rest on where
they meet (`evidence`: see `Result`), and its history: who brought which value and bound, when, with which versions.
`TABLE.md` is generated from the entries; so are, where they are wanted, a card and a Croissant description (`card`).

Whoever reads a collection believes none of it. The judge recomputes the value of every plan. A bound is proven where
its certificate passes the check, or where it follows from the statement without a search (`Problem.trivial_bound`), or
while `verify` recomputes it; any other bound is *unconfirmed*. An unconfirmed bound stands until a plan is better than
it says is possible, and then it goes: no claim keeps a better plan out. So an outsider's plan is accepted by `submit`
alone."""

from mlsched.benchmark.collection.card import Details, rewrite_card, write_card
from mlsched.benchmark.collection.changes import Noted, add, certify, submit
from mlsched.benchmark.collection.entry import DIGITS, Entry, create, described, entries, proof_of
from mlsched.benchmark.collection.table import text_table, write_table
from mlsched.benchmark.collection.verification import Verified, verify

__all__ = [
    "DIGITS",
    "Details",
    "Entry",
    "Noted",
    "Verified",
    "add",
    "certify",
    "create",
    "described",
    "entries",
    "proof_of",
    "rewrite_card",
    "submit",
    "text_table",
    "verify",
    "write_card",
    "write_table",
]
