"""The metadata of a release, each file read by the checker of those who take it."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from covmis_build.corpus.citation import bibtex
from covmis_build.corpus.deposit import make_deposit
from covmis_build.errors import InputError
from covmis_build.options import Author
from covmis_build.settings import parse
from covmis_build.study.verify import verify
from tests.corpus import checkers
from tests.corpus.checkers import run
from tests.corpus.conftest import HOSTILE, made_facts


@pytest.mark.needs("croissant")
def test_croissants_own_checker_accepts_the_metadata(stated) -> None:
    folder, corpus = stated
    tables = json.loads((folder / "datapackage.json").read_text())["resources"]
    assert [table["name"] for table in tables] == [
        "corpus", "annotations", "soft_labels", "splits", "replicate_weights", "covmis_stance", "misinformation",
    ]  # fmt: skip
    rows = [len(pd.read_csv(folder / f"{table['name']}.csv")) for table in tables]
    assert checkers.croissant_records(folder)[-7:] == rows
    assert rows[0] == len(corpus)


@pytest.mark.needs("croissant")
def test_a_release_that_states_nothing_is_croissant_too(released) -> None:
    folder, _ = released
    checkers.croissant_told(folder)
    described = json.loads((folder / "croissant.json").read_text())
    assert not {"creator", "version"} & set(described), "nobody stated them"


@pytest.mark.needs("croissant")
@pytest.mark.parametrize("said", ["released", "stated"])
def test_hugging_faces_loader_loads_the_folder(request, said, tmp_path) -> None:
    folder, corpus = request.getfixturevalue(said)
    annotated = said == "stated"
    lines = checkers.hugging_face(folder, tmp_path, annotated=annotated)
    assert not any("malformed" in line or "Ignoring" in line for line in lines)
    labels = ["favor", "against", "neither"]
    assert [str(len(corpus)), str(corpus.shape[1]), "ClassLabel", *labels] in [line.split() for line in lines]
    assert sorted(corpus["label"]) in [line.split() for line in lines]
    divided = (
        pd.read_csv(folder / "splits.csv")["part"].value_counts() if annotated else {"corpus": len(corpus)}
    )
    assert "parts " + " ".join(f"{name}={divided[name]}" for name in sorted(dict(divided))) in lines
    if annotated:
        assert str(len(pd.read_csv(folder / "annotations.csv"))) in lines


@pytest.mark.needs("metadata")
def test_frictionless_finds_nothing_wrong(stated) -> None:
    folder, _ = stated
    rows = checkers.frictionless(folder)
    assert len(rows) == 7
    assert min(rows) > 0


@pytest.mark.needs("metadata")
def test_cffconvert_accepts_the_citation(stated, tmp_path) -> None:
    folder, _ = stated
    checkers.cffconvert(folder, tmp_path)


@pytest.mark.needs("metadata")
@pytest.mark.parametrize("said", ["released", "stated"])
def test_a_validator_accepts_the_crate_as_a_workflow_run(request, said, tmp_path) -> None:
    folder, _ = request.getfixturevalue(said)
    assert checkers.crate_issues(folder, tmp_path) == ""
    crate = json.loads((folder / "ro-crate-metadata.json").read_text())
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert entities["#seal-001"]["value"] == "9" * 64
    assert ("#stage-clean" in entities) == (said == "stated")
    assert {"#p_claim", "#p_sample", "#weight"} <= set(entities)
    del entities["#run"]["instrument"]
    broken = shutil.copytree(folder, tmp_path / "broken")
    (broken / "ro-crate-metadata.json").write_text(json.dumps(crate))
    assert "mainEntity as its instrument" in checkers.crate_issues(broken, tmp_path)


@pytest.mark.needs("metadata")
@pytest.mark.parametrize("said", ["released", "stated"])
def test_datacites_schema_holds(request, said) -> None:
    folder, _ = request.getfixturevalue(said)
    checkers.datacite(folder)


def test_what_is_stated_stands_everywhere_and_what_is_not_is_named(stated, released) -> None:
    folder, _ = stated
    told = {name: (folder / name).read_text("utf-8") for name in (
        "card.md", "citation.bib", "CITATION.cff", "croissant.json", "datacite.json", "datapackage.json",
    )}  # fmt: skip
    for name, text in told.items():
        assert "Curie" in text, name
        assert "Lovelace" in text, name
        assert "10.5281/zenodo.1234567" in text, name
    assert "Data statement: Annotators" in told["card.md"]
    assert "Do what you like." in (folder / "LICENCE.txt").read_text()
    bare, _ = released
    card = (bare / "card.md").read_text()
    for wish in ("Authors.", "A contact.", "A version.", "The funding.", "Annotators (recruitment"):
        assert f"- {wish}" in card
    assert not (bare / "CITATION.cff").exists()
    assert ":tba" in (bare / "datacite.json").read_text()


def test_the_readers_keep_ids_as_text(stated, tmp_path) -> None:
    folder, corpus = stated
    code = f"import runpy; read = runpy.run_path({str(folder / 'read_with_pandas.py')!r}); read['corpus'].to_json({str(tmp_path / 'x')!r})"
    run(sys.executable, "-c", code)
    read = pd.read_json(tmp_path / "x", dtype=False)
    assert read["native_id"].tolist() == corpus["native_id"].tolist()
    told = (folder / "read_with_r.R").read_text()
    assert "native_id = 'character'" in told
    assert "weight = 'numeric'" in told


def test_people_are_codes_of_their_own_and_comments_stay_at_home(stated) -> None:
    folder, corpus = stated
    rows = pd.read_csv(folder / "annotations.csv", dtype=str, keep_default_na=False)
    assert set(rows["annotator"]) == {"p1", "p2", "together"}
    assert set(rows["time"]) == {"", "below 5 s"}
    assert set(rows["item_id"]) <= set(corpus["item_id"])
    gold = corpus.set_index("item_id")["label"]
    assert (rows["gold"] == rows["item_id"].map(gold)).all()
    for name in ("annotations.csv", "annotations.parquet", "soft_labels.csv", "facts.json", "croissant.json"):
        data = (folder / name).read_bytes()
        assert b"ann@example.org" not in data, name
        assert HOSTILE[0].encode() not in data, name
    mine = rows[rows["phase"] == "independent"]
    soft = pd.read_csv(folder / "soft_labels.csv").set_index("item_id")
    for item, own in mine.groupby("item_id"):
        assert soft.loc[item, "people"] == len(own)
        for label in ("favor", "against", "neither"):
            assert soft.loc[item, f"share_{label}"] == (own["label"] == label).mean()


@pytest.mark.parametrize(
    ("name", "family", "given"),
    [
        ("Curie, Marie", "Curie", "Marie"),
        ("Ada King Lovelace", "Lovelace", "Ada King"),
        ("Plato", "Plato", ""),
    ],
)
def test_names_are_parted_as_bibtex_parts_them(name, family, given) -> None:
    assert (Author(name).family, Author(name).given) == (family, given)


def test_bibtex_cannot_be_left() -> None:
    entry = bibtex(made_facts("}, title = {other"))
    assert entry.count("title = ") == 2
    assert entry.count("\n") == 4


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        ({"authors": [{"orcid": "0000-0002-1825-0097"}]}, "name is required"),
        ({"authors": [{"name": "A", "orcid": "0000-0002-1825-0098"}]}, "not an ORCID"),
        ({"authors": [{"name": "A", "orchid": "x"}]}, "unknown key 'orchid'"),
        ({"authors": ["A"]}, "must be a list of tables"),
        ({"authors": "A"}, "must be a list"),
        ({"doi": "https://doi.org/10.5281/zenodo.1"}, "must be a DOI"),
        ({"url": "example.org"}, "must be a URL that starts with http"),
    ],
)
def test_wrong_metadata_is_refused_in_one_line(release, problem) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        parse({"title": "T", "release": release})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("said", ["released", "stated"])
def test_a_deposit_is_flat_and_lists_what_is_missing(request, said, tmp_path) -> None:
    release, _ = request.getfixturevalue(said)
    make_deposit(release, tmp_path)
    make_deposit(release, tmp_path)
    upload = tmp_path / "upload"
    assert all(path.is_file() for path in upload.iterdir())
    for path in release.iterdir():
        assert path.is_dir() or (upload / path.name).read_bytes() == path.read_bytes()
    with zipfile.ZipFile(upload / "huggingface.zip") as archive:
        archive.extractall(upload)
    (upload / "huggingface.zip").unlink()
    assert verify(upload) == verify(release), "the facts of this fixture are made up; all else holds"
    assert all(check.passed for check in verify(upload).checks[:3])
    told = (tmp_path / "CHECKLIST.md").read_text()
    lacking = {
        name for name in ("authors", "contact", "version", "funding") if f"\\] {name}\n" in f"{told}\n"
    }
    assert lacking == ({"authors", "contact", "version", "funding"} if said == "released" else set())
    assert "round 002 is not sealed" in told
    assert ("no DOI yet" in told) == (said == "released")


def test_the_software_describes_itself_as_elsewhere() -> None:
    """codemeta.json at the root says what pyproject.toml and CITATION.cff say."""
    root = Path(__file__).parents[2]
    told, project = (
        json.loads((root / "codemeta.json").read_text()),
        tomllib.loads((root / "pyproject.toml").read_text()),
    )
    project = project["project"]
    assert {name: told[name] for name in ("name", "version", "description", "keywords")} == {
        name: project[name] for name in ("name", "version", "description", "keywords")
    }
    assert told["license"].endswith(project["license"])
    assert f"date-released: {told['dateModified']}" in (root / "CITATION.cff").read_text()
