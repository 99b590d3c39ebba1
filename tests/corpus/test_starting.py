"""Commands load nothing that they do not use. Modules are looked at, never the time: that stands in RESULTS.md."""

import shutil
import subprocess
import sys

import pytest

from tests.cli.test_help import loaded
from tests.corpus.studies import covmis

NEVER = {"numba", "llvmlite", "sklearn", "statsmodels", "pydantic", "matplotlib"}
SMALL = {"scipy", "pandas", "duckdb"}


@pytest.fixture(scope="module")
def study(annotated, tmp_path_factory):
    """A study with labels and nothing to do."""
    folder = shutil.copytree(annotated, tmp_path_factory.mktemp("starting") / "study")
    covmis("run", "--study", folder)
    return folder


@pytest.mark.parametrize(
    ("command", "further"),
    [
        ("status --study .", SMALL),
        ("run", SMALL),
        ("queries try vaccine --samples 2", SMALL),
        ("estimate", set()),
        ("round board", set()),
    ],
    ids=["status", "run", "try", "estimate", "board"],
)
def test_what_is_not_used_is_not_loaded(study, monkeypatch, command, further):
    monkeypatch.chdir(study)
    modules = loaded(*command.split())
    assert "pyarrow.parquet" in modules  # it has done its work
    assert modules & (NEVER | further) == set()


@pytest.mark.parametrize("module", ["study.status", "study.estimate", "study.beside", "evaluation.leakage"])
def test_importing_loads_no_compiler(module):
    probe = f"import sys, covmis_build.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert NEVER & set(done.stdout.split()) == set()
