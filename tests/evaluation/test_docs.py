"""The guide's and the reference's examples run, and every measure is described."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from covmis_build.evaluation.catalogue import measures
from tests.evaluation.reference import PAGE, with_table

DOCS = Path(__file__).parents[2] / "docs"
MODULES = ("catalogue", "compare", "leakage", "measure", "meta", "score",
           "significance", "split")  # fmt: skip


@pytest.mark.parametrize("page", ["guides/evaluation.md", "reference/measures.md"])
def test_examples_of_pages(page) -> None:
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 2
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name) -> None:
    result = doctest.testmod(import_module(f"covmis_build.evaluation.{name}"))
    assert result.failed == 0


@pytest.mark.parametrize("name", ["stats.confusion", "stats.intervals", "stats.agreement"])
def test_examples_of_leaves(name) -> None:
    assert doctest.testmod(import_module(f"covmis_build.{name}")).failed == 0


def test_the_table_of_measures_is_made_of_the_measures() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page, "run `python -m tests.evaluation.reference`"
    for name in measures:
        assert page.count(f"| `{name}` |") == 1
