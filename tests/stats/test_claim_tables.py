"""Tables of items by cell: one a claim and run, or one of each distinct item."""

import numpy as np

from covmis_build.stats.over_claims import claim_tables

CELLS = np.array([[0, 3], [1, 2], [0, 3], [3, 3]])
"""Four items' cells of a table of two labels and two answers, in two runs."""


def test_each_claim_and_run_counts_its_items():
    tables, many = claim_tables(CELLS, (2, 2), np.array([0, 0, 1, 1]))
    assert many is None
    assert tables.tolist() == [
        [[[1, 1], [0, 0]], [[0, 0], [1, 1]]],
        [[[1, 0], [0, 1]], [[0, 0], [0, 2]]],
    ]


def test_without_claims_equal_items_are_one_table_and_its_number():
    tables, many = claim_tables(CELLS, (2, 2), None)
    assert many.tolist() == [2, 1, 1]
    assert tables.tolist() == [
        [[[1, 0], [0, 0]], [[0, 0], [0, 1]]],
        [[[0, 1], [0, 0]], [[0, 0], [1, 0]]],
        [[[0, 0], [0, 1]], [[0, 0], [0, 1]]],
    ]
    assert (
        np.tensordot(many, tables, axes=1).tolist()
        == np.sum(claim_tables(CELLS, (2, 2), np.arange(4))[0], 0).tolist()
    )
