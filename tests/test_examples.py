"""Public names have an example (tests/test_face.py runs them), and those of documentation print what they say."""

from __future__ import annotations

import doctest
import inspect

import pytest

import covmis_build
from tests.conftest import ROOT

PUBLIC = [name for name in covmis_build.__all__ if name not in {"datasets", "measures"}]
WITHOUT = {
    "Round", "Study", "ask", "doctor", "meta", "new_study", "open_study", "predict", "prompt", "read_corpus",
    "rebuild", "rebuild_published", "verify",
}  # fmt: skip
"""Names whose examples would need a study, a server or a corpus: the tutorial and the notebooks have them."""


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    value = getattr(covmis_build, name)
    text = inspect.getdoc(value) or ""
    assert text.strip()
    if not (isinstance(value, type) and issubclass(value, Exception)):
        assert (">>>" in text) is (name not in WITHOUT)


@pytest.mark.parametrize("page", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if ">>>" in path.read_text("utf-8")))  # fmt: skip
def test_examples_of_a_page(page):
    assert doctest.testfile(str(ROOT / page), module_relative=False).failed == 0
