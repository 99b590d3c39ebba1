"""Chance belongs to its key."""

from hypothesis import given
from hypothesis import strategies as st

from covmis_build.keyed import order, uniform


@given(st.integers(), st.lists(st.text(), min_size=1))
def test_in_range_and_permanent(seed, key):
    assert 0 <= uniform(seed, *key) < 1
    assert uniform(seed, *key) == uniform(seed, *key)


@given(st.lists(st.text(), unique=True), st.randoms())
def test_order_ignores_the_order_of_arrival(ids, chance):
    shuffled = ids.copy()
    chance.shuffle(shuffled)
    assert order(1, "x", ids) == order(1, "x", shuffled)
