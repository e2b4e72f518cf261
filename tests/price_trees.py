"""Changes of trees of prices, for tests and `measurements/forged_prices.py`: off by one, exchanged, left out, odd."""

from __future__ import annotations

import copy
import random
from typing import Any


def changed(tree: list[Any], dice: random.Random) -> list[Any]:
    """Another tree than this one, in one to three places."""
    made = copy.deepcopy(tree)
    for _ in range(dice.choice([1, 1, 2, 3])):
        _change(made, dice)
    return made


def cut(rows: list[str], blocks: int, dice: random.Random) -> list[Any]:
    """A cut of some of these rows and blocks."""
    weights = {row: dice.randrange(4) for row in rows if dice.random() < 0.6}
    shifts = {str(block): dice.randrange(-3, 4) for block in range(blocks) if dice.random() < 0.4}
    return [weights, shifts, dice.randrange(1, 5)]


def _number(given: Any) -> int:
    return given if type(given) is int else 1


def _change(tree: list[Any], dice: random.Random) -> None:
    if not tree:
        tree.append([{}])
        return
    k = dice.randrange(len(tree))
    node = tree[k]
    if not isinstance(node, list) or not node or not isinstance(node[0], dict):
        tree[k] = [{}]
        return
    price = node[0]
    match dice.randrange(13):
        case 0 if price:
            row = dice.choice(list(price))
            price[row] = _number(price[row]) + dice.choice([-1, 1, -1000, 1000])
        case 1 if price:
            row = dice.choice(list(price))
            n = _number(price[row])
            price[row] = dice.choice([0, -n, 2 * n, n // 2, 2**24, 10**30, -1, None, "1"])
        case 2 if price:
            del price[dice.choice(list(price))]
        case 3 if price:
            other = dice.choice(tree)
            if isinstance(other, list) and other and isinstance(other[0], dict) and other[0]:
                price |= {dice.choice(list(other[0])): dice.randrange(10**9)}
        case 4 if len(node) > 2:
            k = dice.choice([1, 3])
            node[k] = _number(node[k]) + dice.choice([-1, 1, 7])
        case 5 if len(node) > 1:
            del node[1:]
        case 10 if price:
            row = dice.choice(list(price))  # another tick, group or row: "GROUP A B" of task graphs, and others
            words = [str(max(0, int(w) + dice.choice([-1, 1, 5]))) if w.isdecimal() else w for w in row.split(" ")]
            price[" ".join(words)] = price.pop(row)
        case 11:  # a fixing more, with a cut or without
            rows = [*price, "0", "1", "2"]
            tree.insert(k, [{}, dice.choice([[], [cut(rows[: dice.randrange(1, 9)], 6, dice)]])])
        case 12 if len(node) == 2 and isinstance(node[1], list) and node[1]:
            one = dice.choice(node[1])
            if dice.random() < 0.3:
                node[1].remove(one)
            elif isinstance(one, list) and len(one) == 3 and isinstance(one[0], dict) and isinstance(one[1], dict):
                part = dice.choice(one[:2])
                one[2] = dice.choice([one[2], 1, 2, 3, 0, _number(one[2]) + 1])
                if part:
                    part[dice.choice(list(part))] = dice.choice([0, 1, 1, 2, -1, 7, 10**70, "1"])
        case 6:
            node[1:] = [dice.randrange(6), dice.choice([*price, "0", "row 1", "cores"]), dice.randrange(-2, 9)]
        case 7:
            del tree[k]
        case 8:
            tree.insert(dice.randrange(len(tree) + 1), copy.deepcopy(dice.choice(tree)))
        case _:
            j = dice.randrange(len(tree))
            tree[k], tree[j] = tree[j], tree[k]
