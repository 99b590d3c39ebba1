"""Confusion matrices: gold in rows, declared size, unanswered items."""

from __future__ import annotations

import numpy as np
import pytest

from covmis_build.errors import InputError
from covmis_build.stats.confusion import Counts, confusion_matrix


def test_gold_stands_in_rows() -> None:
    gold, said = np.array([0, 0, 1, 2]), np.array([1, 0, 1, 0])
    np.testing.assert_array_equal(confusion_matrix(gold, said, 3), [[1, 1, 0], [0, 1, 0], [1, 0, 0]])
    weighted = confusion_matrix(gold, said, 3, np.array([0.5, 1, 1, 2]))
    assert weighted[0, 1] == 0.5
    assert weighted[2, 0] == 2


def test_the_declared_size_decides() -> None:
    assert confusion_matrix(np.array([0]), np.array([0]), 4).shape == (4, 4)


def test_unanswered_items_have_a_column() -> None:
    matrix = confusion_matrix(np.array([0, 1, 1]), np.array([0, -1, 1]), 2, unanswered=True)
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 1]])
    counts = Counts(matrix)
    assert counts.gold.tolist() == [1, 2]
    assert counts.predicted.tolist() == [1, 1]
    assert float(counts.total) == 3
    with pytest.raises(InputError, match="missing"):
        confusion_matrix(np.array([0, 1]), np.array([0, -1]), 2)


def test_unanswered_items_go_to_the_farthest_class() -> None:
    counts = Counts([[0, 0, 0, 5], [0, 0, 0, 3], [0, 0, 0, 2]])
    np.testing.assert_array_equal(counts.farthest_filled, [[0, 0, 5], [0, 0, 3], [2, 0, 0]])
    np.testing.assert_array_equal(counts.cells, 0)
