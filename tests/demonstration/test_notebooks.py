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


@pytest.mark.filterwarnings("ignore")  # the kernel's client, not ours
def test_a_study_in_jupyter_needs_no_widgets(built):
    """DuckDB refuses to be told of progress bars there, where ipywidgets is missing."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(cell)
        for cell in (
            "import sys; sys.modules['ipywidgets'] = None\nimport covmis_build as covmis\nstudy = covmis.open_study()",
            "study.run()", "study.status()", "study", "study.explain('garlic')",
            "study.archive.sql('SELECT count(*) FROM posts').fetchall()",
        )
    ]  # fmt: skip
    folder = str(built / "study")
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    assert all(cell.outputs for cell in notebook.cells[1:])
