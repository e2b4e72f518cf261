"""What claims share whose options can be listed."""

from collections.abc import Iterable

from mlsched.certificates.prices.core import NEVER, SCALE, Price, Sides, Use


class Listed:
    """A claim by the options of each block, (cost, {row: use}), and what is there of each row."""

    def __init__(self, target: int, capacity: dict[str, int], options: list[list[tuple[int, Use]]]) -> None:
        self.target, self.capacity, self.options, self.blocks = target, capacity, options, len(options)

    def priced(self, block: int, price: Price, sides: Sides) -> Iterable[tuple[int, Use]]:
        for cost, use in self.options[block]:
            if all(sign * use.get(row, 0) <= most for row, sign, most in sides):
                yield SCALE * cost + sum(n * price.get(row, 0) for row, n in use.items()), use

    def least(self, block: int, price: Price, sides: Sides) -> int:
        return min((priced for priced, _ in self.priced(block, price, sides)), default=NEVER)

    def cheap(self, block: int, price: Price, sides: Sides, most: int) -> list[tuple[int, Use]]:
        return [one for one in self.priced(block, price, sides) if one[0] <= most]
