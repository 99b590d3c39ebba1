"""The scripts of a release, run without covmis, give the estimates that `covmis estimate` prints."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.corpus.design import Drawn, Unlabelled, posts_of
from covmis_build.errors import InputError
from covmis_build.estimation.replicates import replicate_error, replicate_weights
from covmis_build.study.estimate_corpus import NO_CHANCES, NO_DAYS, NO_DESIGN, NO_SETTINGS, estimate_corpus
from covmis_build.study.study import open_study
from tests.corpus.studies import annotated_study, covmis
from tests.services import peers

ALONE = """
import runpy, sys
sys.modules["covmis_build"] = None
sys.argv = ["estimates.py", sys.argv[1]]
runpy.run_path("estimates.py", run_name="__main__")
"""
KEY = ["estimand", "scope", "name", "label"]


@pytest.fixture(scope="module", params=["poisson", "two_phase"])
def study(request, annotated, tmp_path_factory):
    """A study with audited labels: its posts drawn by their own probabilities, or a fixed number a claim."""
    folder = tmp_path_factory.mktemp(request.param) / "study"
    if request.param == "poisson":
        return shutil.copytree(annotated, folder)
    more = {'design = "poisson"': 'design = "two_phase"', "audit = 0.05": "audit = 0.4"}
    annotated_study(folder, settings=more)
    covmis("release", "--study", folder)
    assert len(pd.read_csv(folder / "data" / "release" / "pairs_drawn.csv"))
    return folder


def same_as_ours(study, file) -> None:
    """Every share and standard error, to nine digits; and the standard error over claims."""
    told = covmis("estimate", "--by", "claim,kind", "--study", study)["estimates"]
    ours = pd.DataFrame(told).fillna({"name": ""}).set_index(KEY).sort_index()
    alone = pd.read_csv(file, dtype={"name": str}, keep_default_na=False, na_values=["NA", "NaN"])
    alone = alone.fillna({"name": ""}).set_index(KEY).sort_index()
    assert list(alone.index) == list(ours.index)
    assert len(alone) > 30
    for column in ("share", "standard_error"):
        np.testing.assert_allclose(alone[column], ours[column], rtol=1e-9, atol=1e-12)
    corpus = pd.read_parquet(study / "data" / "release" / "corpus.parquet")
    weights, scale = replicate_weights(corpus)
    repeated = weights.filter(regex=r"^weight_\d").to_numpy()
    if not (corpus["how"] == "audited").any():
        for label in ("favor", "against"):
            again = (corpus["label"] == label).to_numpy(float) @ repeated / repeated.sum(0)
            told = alone.loc[("unique_posts", "pool", "", label), "over_claims"]
            assert told == pytest.approx(replicate_error(again, scale), rel=1e-9)
    assert alone.loc[("posts", "pool", "", "favor"), "over_claims"] > 0


def ran(study, *command: object) -> None:
    """A script of the release, which leaves nothing beside it."""
    release = study / "data" / "release"
    files = sorted(release.rglob("*"))
    done = subprocess.run([*map(str, command)], cwd=release, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(release.rglob("*")) == files


@pytest.fixture(scope="module")
def by_numpy(study, tmp_path_factory):
    """What the script for Python says, where covmis cannot be imported."""
    out = tmp_path_factory.mktemp("numpy") / "out.csv"
    ran(study, sys.executable, "-c", ALONE, out)
    return out


def test_python_without_covmis_gives_the_same(study, by_numpy) -> None:
    same_as_ours(study, by_numpy)


@pytest.mark.parametrize("name", ["", "corpus.csv"])
def test_the_folder_of_a_release_is_enough(study, name, tmp_path) -> None:
    """In a folder without the study: every figure, warning and sentence of the study, comparisons, too."""
    alone = shutil.copytree(study / "data" / "release", tmp_path / "release")
    for how in ({"by": "claim,kind,platform,month"}, {"between": ("kind:title", "kind:keywords")}):
        theirs, ours = estimate_corpus(alone / name, **how), open_study(study).estimate(**how)
        for one, other in ((theirs.shares, ours.shares), (theirs.differences, ours.differences)):
            pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-9, atol=1e-12)
        assert (theirs.methods, theirs.warnings) == (ours.methods, ours.warnings)
    days = estimate_corpus(alone / name, before="2020-03-04")
    assert NO_DAYS in days.warnings
    (alone / "design.json").write_text("[{")
    with pytest.raises(InputError, match=r"design\.json"):
        estimate_corpus(alone / name)


@pytest.mark.parametrize("change", [{"posts": 10**12}, {"posts": 0}, {"p_sample": 0.0}, {"group_size": 0}])
def test_a_design_that_cannot_be_is_refused(change) -> None:
    alike = {
        "group_size": 1,
        "group_items": 1,
        "p_claim": 1.0,
        "p_sample": 0.5,
        "posts": 2,
        "design": "",
    } | change
    entry = Unlabelled(claim_id="1", kind="title", platform="x", time="2020-03", **alike)
    with pytest.raises(InputError, match="that cannot be"):
        posts_of(Drawn(unlabelled=[entry]), tables.empty("corpus"), Path("design.json"))


def test_a_corpus_without_its_release_says_what_is_not_known(study, tmp_path) -> None:
    file = shutil.copy(study / "data" / "release" / "corpus.csv", tmp_path / "corpus.csv")
    found = estimate_corpus(file)
    assert {NO_DESIGN, NO_SETTINGS} <= set(found.warnings)
    assert NO_CHANCES not in found.warnings
    ours = open_study(study).estimate()
    np.testing.assert_allclose(found.shares["share"], ours.shares["share"], rtol=1e-9)
    earlier = pd.read_csv(file, dtype=str).drop(columns=["design", "automatic_label", "p_audit"])
    earlier.to_csv(file, index=False)
    assert NO_CHANCES in estimate_corpus(file).warnings
    assert "how they were chosen is not known here" in found.methods[0]
    with pytest.raises(InputError, match=r"has no corpus\.parquet, corpus\.csv or corpus\.jsonl"):
        estimate_corpus(tmp_path / "..")


@pytest.mark.needs("r")
def test_r_with_survey_gives_the_same(study, tmp_path) -> None:
    ran(study, "Rscript", "--vanilla", "estimates.R", tmp_path / "out.csv")
    same_as_ours(study, tmp_path / "out.csv")


@pytest.mark.needs("peers")
def test_svy_gives_the_same(study, by_numpy, tmp_path) -> None:
    """Shares and errors over claims, of the pool and of each kind, beside those of the script for numpy."""
    ran(study, peers.PYTHON, "estimates_svy.py", tmp_path / "svy.csv")
    numpy, svy = (
        pd.read_csv(file, keep_default_na=False, na_values=["NA"]).set_index(KEY).sort_index()
        for file in (by_numpy, tmp_path / "svy.csv")
    )
    assert len(svy) >= 2 * 2 * 4
    np.testing.assert_allclose(svy["share"], numpy.loc[svy.index, "share"], rtol=1e-9, atol=1e-12)
    whole = svy.loc[svy.index.get_level_values("scope") == "pool", "over_claims"].astype(float)
    assert (whole > 0).all()
    np.testing.assert_allclose(whole, numpy.loc[whole.index, "over_claims"], rtol=1e-9)


@pytest.mark.needs("r")
def test_r_keeps_every_digit_of_an_id(annotated, tmp_path) -> None:
    """What R reads of native_id is what stands in the file; read as numbers, long ids lose digits."""
    script = "source('read_with_r.R'); writeLines(corpus$native_id, commandArgs(TRUE)[1]); stopifnot(is.character(corpus$post_id), names(corpus)[1] == 'post_id')"
    ran(annotated, "Rscript", "--vanilla", "-e", script, tmp_path / "ids.txt")
    corpus = pd.read_parquet(annotated / "data" / "release" / "corpus.parquet")
    assert (tmp_path / "ids.txt").read_text().split("\n")[:-1] == corpus["native_id"].tolist()
