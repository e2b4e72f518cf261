"""Unions of boxes."""

from mlsched.solvers.front.boxes import inside, loosest, shown


def test_values_are_inside_when_one_box_holds_them():
    assert inside((3, 4), [(3, 4)])
    assert inside((3, 4), [(2, None), (None, 4)])
    assert not inside((3, 4), [(2, None), (None, 3)])


def test_the_loosest_box_holds_all_of_them():
    assert loosest([(1, 5), (2, 3)]) == (2, 5)
    assert loosest([(1, None), (2, 3)]) == (2, None)


def test_a_message_shows_the_first_box_and_counts_the_others():
    assert shown([(1, None)]) == "[1, None]"
    assert shown([(1, 2), (3, 4), (5, 6)]) == "[1, 2] and 2 boxes more"
