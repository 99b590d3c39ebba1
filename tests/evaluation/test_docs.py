"""Every measure stands on the page of measures."""

from __future__ import annotations

from covmis_build.evaluation.catalogue import measures
from tests.evaluation.reference import PAGE, with_table


def test_the_table_of_measures_is_made_of_the_measures() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page, "run `python -m tests.evaluation.reference`"
    for name in measures:
        assert page.count(f"| `{name}` |") == 1
