"""The notebooks run, and show what they say they show."""

from __future__ import annotations

import pytest

from tests.notebooks import NOTEBOOKS, run, shown

pytestmark = pytest.mark.needs("docs")


@pytest.mark.filterwarnings("ignore")  # the kernel's client, not ours
@pytest.mark.parametrize("name", ["labels-to-estimate", "judging-systems"])
def test_a_notebook_shows_what_it_says(built, name):
    import nbformat

    path = NOTEBOOKS / f"{name}.ipynb"
    told = shown(nbformat.read(path, as_version=4))
    assert told
    assert shown(run(path, built / "study")) == told, "renew it: python -m tests.notebooks STUDY"
