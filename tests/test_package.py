"""What people install: sdist and wheel, the wheel in a clean environment outside the checkout, and what describes it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import covmis_build
from covmis_build.corpus.convert import read_corpus
from tests import installing, own_posts
from tests.conftest import ROOT

PACKAGE = ROOT / "covmis_build"
NAMED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def built_package(tmp_path_factory):
    """A folder with the sdist, and the wheel that is made of the sdist alone."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    unpacked = next((folder / "unpacked").iterdir())
    subprocess.run([*build, "-t", "wheel"], cwd=unpacked, check=True, capture_output=True)
    return folder


def test_wheel_has_every_file_of_the_package(built_package):
    names = set(zipfile.ZipFile(next(built_package.glob("*.whl"))).namelist())
    kept = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {str(path.relative_to(ROOT)) for path in kept}
    assert wanted - names == set()
    for name in ("study.schema.json", "py.typed", "template/.gitattributes", "template/.gitignore", "report/templates/style.css"):  # fmt: skip
        assert f"covmis_build/{name}" in names
    assert {name.split("/")[0] for name in names} == {"covmis_build", f"covmis-{NAMED['version']}.dist-info"}


def test_sdist_has_no_third_party_data_and_nothing_built(built_package):
    with tarfile.open(next(built_package.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    inside = {name.split("/", 1)[1] for name in names if "/" in name}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "docs/index.md", "tests/test_package.py"} <= inside
    assert [
        name for name in inside if name.startswith(("build/", ".venv", "data/build", "annotation/rounds"))
    ] == []


def test_wheel_goes_from_new_to_release_outside_the_checkout(built_package, tmp_path):
    python = installing.environment(tmp_path / "environment", ROOT / "requirements" / "core.lock")
    wheel = next(built_package.glob("*.whl"))
    subprocess.run([*installing.UV, "pip", "install", "-q", "--offline", "--no-deps", "--python", python, wheel], check=True)  # fmt: skip
    subprocess.run([*installing.UV, "pip", "check", "-q", "--python", python], check=True)
    (tmp_path / "own").mkdir()
    study = own_posts.replay(python.with_name("covmis"), tmp_path / "own")
    where = [python, "-c", "import covmis_build; print(covmis_build.__file__)"]
    found = subprocess.run(where, cwd=study, capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) in found
    corpus = read_corpus(study / "data" / "release" / "corpus.csv")
    assert set(corpus["claim"]) == set(own_posts.CLAIMS), "the template's claims have made room"
    assert 30 < len(corpus) < 70


def test_one_version_everywhere():
    version = NAMED["version"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert covmis_build.__version__ == version
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == version
    assert json.loads((ROOT / "codemeta.json").read_text("utf-8"))["version"] == version
    assert f'version: "{version}"' in (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")


def test_descriptions_agree():
    codemeta = json.loads((ROOT / "codemeta.json").read_text("utf-8"))
    zenodo = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    assert codemeta["description"] == zenodo["description"] == NAMED["description"]
    assert codemeta["keywords"] == zenodo["keywords"] == NAMED["keywords"]
    assert zenodo["license"] == codemeta["license"].rsplit("/", 1)[1] == NAMED["license"]


def test_recipe_has_the_dependencies():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")
    run = recipe.split("  run:\n")[1].split("\ntests:")[0]
    wanted = {name.lower() for name in NAMED["dependencies"]}
    told = {line.strip("- ").replace(" ", "") for line in run.splitlines() if "python " not in line}
    conda = {name.replace("duckdb>", "python-duckdb>") for name in wanted}
    assert conda == told


def test_every_file_that_a_checklist_names_is_there():
    text = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    names = {
        name for name in re.findall(r"`([\w.][\w./-]*(?:/|\.\w+))`", text) if not name.startswith("study.")
    }
    assert len(names) > 15
    assert [name for name in sorted(names) if not (ROOT / name).exists() and "*" not in name] == []


def test_actions_are_pinned_by_hash():
    """A tag can be moved to other code."""
    workflows = (ROOT / ".github/workflows").glob("*.yml")
    used = [line.strip() for path in workflows for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    assert [line for line in used if not re.search(r"@[0-9a-f]{40}  # v[\d.]+$", line)] == []
