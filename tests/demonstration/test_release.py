"""The demonstration's release, as those who take it read it: every checker, loader and survey program on the whole corpus."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest

from tests.corpus import checkers
from tests.corpus.studies import covmis
from tests.corpus.tamperings import TAMPERINGS, failed, with_new_checksums
from tests.corpus.test_estimates_alone import by_numpy, by_r, same_as_ours, same_by_svy

STATED = {
    "licence": '"CC-BY-4.0"', "contact": '"corpus@example.org"', "version": '"1.0.0"', "doi": '"10.5281/zenodo.1234567"',
    "splits": '{ scheme = "grouped", fractions = [0.7, 0.1, 0.2] }',
    "authors": '[{ name = "Curie, Marie", orcid = "0000-0002-1825-0097", affiliation = "An institute" }, { name = "Ada" }]',
    "url": '"https://example.org/corpus"', "funding": '"A fund"',
}  # fmt: skip
ONCE_PASSED = (
    "a label in one format", "a label in all formats", "kappa in the facts", "a count on the card",
    "rows cut from the Hugging Face copy", "per_claim", "p_sample and weight", "group_size", "a reason",
)  # fmt: skip
"""Nine of the ten changes that nothing noticed once; of the tenth, seconds, see tests/corpus/test_tampering.py."""


@pytest.fixture(scope="module")
def study(built, tmp_path_factory):
    """The demonstration with everything stated that [release] can state, released with its bundle."""
    study = shutil.copytree(built / "study", tmp_path_factory.mktemp("stated") / "study")
    settings = study / "study.toml"
    text = settings.read_text("utf-8")
    for key, value in STATED.items():
        text, changed = re.subn(
            rf"(?m)^{key} = [^#\n]*?( +#|$)", lambda line, k=key, v=value: f"{k} = {v}{line[1]}", text
        )
        assert changed == 1, key
    settings.write_text(text, "utf-8")
    assert covmis("release", "--bundle", "--study", study)["rows"] > 450
    return study


@pytest.fixture(scope="module")
def release(study):
    return study / "data" / "release"


@pytest.mark.needs("croissant")
def test_croissant_and_hugging_face(release, tmp_path) -> None:
    tables = json.loads((release / "datapackage.json").read_text("utf-8"))["resources"]
    assert {"corpus", "annotations", "soft_labels", "splits", "replicate_weights"} <= {
        table["name"] for table in tables
    }
    rows = [len(pd.read_csv(release / f"{table['name']}.csv", encoding="utf-8-sig")) for table in tables]
    assert checkers.croissant_records(release)[-len(rows) :] == rows
    lines = checkers.hugging_face(release, tmp_path, annotated=True)
    assert any(
        line.split()[:1] == [str(rows[0])] and "ClassLabel favor against neither" in line for line in lines
    )
    divided = pd.read_csv(release / "splits.csv", encoding="utf-8-sig")["part"].value_counts()
    assert set(divided.index) == {"train", "dev", "test"}
    assert "parts " + " ".join(f"{name}={divided[name]}" for name in sorted(divided.index)) in lines


@pytest.mark.needs("metadata")
def test_frictionless_cff_datacite_and_the_crate(release, tmp_path) -> None:
    assert min(checkers.frictionless(release)) > 0
    checkers.cffconvert(release, tmp_path)
    checkers.datacite(release)
    assert checkers.crate_issues(release, tmp_path) == ""


@pytest.mark.needs("r")
def test_r_with_survey(study, tmp_path) -> None:
    by_r(study, tmp_path / "r.csv")
    same_as_ours(study, tmp_path / "r.csv")


def test_numpy_alone(study, tmp_path) -> None:
    by_numpy(study, tmp_path / "numpy.csv")
    same_as_ours(study, tmp_path / "numpy.csv")


@pytest.mark.needs("peers")
def test_svy(release, tmp_path) -> None:
    same_by_svy(release, tmp_path)


def test_what_somebody_changes_is_noticed(release, tmp_path) -> None:
    """All of the table are tried on a smaller release, of 106 rows; those that passed once here, too."""
    assert failed(release) == []
    for name in ONCE_PASSED:
        copy = shutil.copytree(release, tmp_path / "release")
        TAMPERINGS[name](copy)
        with_new_checksums(copy, release)
        assert failed(copy), name
        shutil.rmtree(copy)


def test_parts_share_no_claim_and_no_near_copy(release) -> None:
    divided, corpus = (
        pd.read_csv(release / f"{name}.csv", encoding="utf-8-sig", dtype=str).set_index("item_id")
        for name in ("splits", "corpus")
    )
    pairs = divided.join(corpus["claim_id"])[["claim_id", "part"]].drop_duplicates()
    assert pairs["claim_id"].is_unique
    assert json.loads((release / "facts.json").read_text("utf-8"))["parts"]["near_copies"] == 0
