"""The public face: there, documented, light to import, and true in its examples."""

import doctest
import importlib
import pickle
import pkgutil
import subprocess
import sys

import pandas as pd
import pytest

import covmis_build
from covmis_build import errors

MODULES = [found.name for found in pkgutil.walk_packages(covmis_build.__path__, "covmis_build.")]
OPTIONAL = {"spark", "spark_join", "encoders", "training"}
"""Modules that import an optional package at their top."""


def test_every_public_name_is_there_and_documented():
    for name in covmis_build.__all__:
        found = getattr(covmis_build, name)
        assert name in dir(covmis_build)
        assert getattr(found, "__doc__", None) or all(
            one.name and one.symbol and str(one.cite) for one in found.values()
        ), name


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        covmis_build.nothing  # noqa: B018 - looking is the test


def test_importing_costs_nothing():
    probe = "import sys, covmis_build, covmis_build.options, covmis_build.study; print([m for m in ('pandas', 'numpy', 'pyarrow') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in MODULES}))
def test_examples_in_docstrings_are_true(room):
    for name in MODULES:
        if name.split(".")[1] == room and name.rsplit(".", maxsplit=1)[-1] not in OPTIONAL:
            found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
            assert found.failed == 0, name


def test_errors_travel_between_processes_with_what_they_are_about(tmp_path):
    for error in (
        covmis_build.InputError(
            "is not TOML", file=tmp_path / "study.toml", row=3, remedy="Text stands in quotes"
        ),
        errors.MissingExtra.of("spark", "the engine 'spark'"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.code) == (type(error), str(error), error.code)
        assert (copy.problem, copy.file, copy.row, copy.remedy) == (
            error.problem,
            error.file,
            error.row,
            error.remedy,
        )
    assert (
        str(error)
        == """the engine 'spark' needs the extra 'spark'. Install it: pip install ".[spark]" in the folder of covmis"""
    )


POSTS = {
    "id": list("abcdefghij"),
    "text": [f"some text {at} hello" for at in range(10)],
    "label": ["x", "y"] * 5,
}
TRAIN_AND_TEST = ["train", "test"] * 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: covmis_build.score(None, {"s": ["x"]}), "gold = None is no labels"),
        (lambda: covmis_build.score(["x"], 3), "systems = 3 is no labels"),
        (lambda: covmis_build.score(pd.DataFrame({"label": [None]}), ["x"]), "no item of gold has a label"),
        (lambda: covmis_build.sample(None, seed=1), "this is no table: None"),
        (lambda: covmis_build.sample("a.csv", seed=1), "this is no table: 'a.csv'"),
        (lambda: covmis_build.agreement(None), "this is no table: None"),
        (lambda: covmis_build.splits(POSTS, scheme="grouped", group="nope"), "no column 'nope'"),
        (lambda: covmis_build.splits(POSTS, text="txt", similarity=0.8), "no column 'txt' of texts. Did you mean 'text'"),
        (lambda: covmis_build.near_duplicate_groups(pd.DataFrame(POSTS)), "no texts, one by one"),
        (lambda: covmis_build.near_duplicate_groups("hello"), "no texts, one by one"),
        (lambda: covmis_build.near_duplicate_groups(["a", 1]), "texts must be strings"),
        (lambda: covmis_build.leakage(None, None), "the texts are missing"),
        (lambda: covmis_build.leakage({"a": "x"}, {"b": "train"}), "parts lack the item a"),
        (lambda: covmis_build.estimate(pd.Series([1, 0]), pd.Series([1, 1], index=[1, 2])), "probabilities lack the item 0"),
        (lambda: covmis_build.estimate(pd.Series([1]), pd.Series([1, 1])), "probabilities have another index"),
        (lambda: covmis_build.estimate([1, 0], [1, 1], domain=["yes", "no"]), "neither true nor false"),
        (lambda: covmis_build.estimate([1, 0], [1, 1], clusters=["a", None]), "clusters lack a name"),
        (lambda: covmis_build.read_corpus("nowhere.csv"), "nowhere.csv: is not there"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_what_is_no_table_or_text_is_one_line(wrong, message):
    with pytest.raises(covmis_build.CovmisError, match=message) as error:
        wrong()
    assert "\n" not in str(error.value)


def test_columns_by_name_and_rows_are_as_good_as_a_frame():
    frame = pd.DataFrame(POSTS).assign(claim_id="1", kind="title", item_id=POSTS["id"])
    drawn = covmis_build.sample(frame, seed=1)
    assert covmis_build.sample(frame.to_dict("list"), seed=1).equals(drawn)
    assert covmis_build.sample(frame.to_dict("records"), seed=1).equals(drawn)
    assert covmis_build.splits(POSTS, folds=1).tolist() == covmis_build.splits(frame, folds=1).tolist()
    by_id = dict(zip(POSTS["id"], POSTS["text"], strict=True))
    parts = dict(zip(reversed(POSTS["id"]), reversed(TRAIN_AND_TEST), strict=True))
    assert covmis_build.leakage(by_id, parts).summary.equals(
        covmis_build.leakage(POSTS["text"], TRAIN_AND_TEST).summary
    )
    assert (
        covmis_build.near_duplicate_groups(by_id).tolist()
        == covmis_build.near_duplicate_groups(POSTS["text"]).tolist()
    )


@pytest.mark.parametrize(
    "of", [pd.Series, lambda values, index: dict(zip(index, values, strict=True))], ids=["series", "dict"]
)
def test_values_with_ids_are_joined_by_them(of):
    """Two columns of one frame, one of them sorted: paired by position they would give another number, silently."""
    values, chances = of([1, 0, 1, 1], index=list("abcd")), of([1.0, 0.2, 0.5, 0.5], index=list("dcba"))
    assert (
        covmis_build.estimate(values, chances).value
        == covmis_build.estimate([1, 0, 1, 1], [0.5, 0.5, 0.2, 1]).value
    )
    over = covmis_build.estimate(values, chances, clusters=of(list("zyyx"), index=list("dcba")))
    assert (
        over.bounds == covmis_build.estimate([1, 0, 1, 1], [0.5, 0.5, 0.2, 1], clusters=list("xyyz")).bounds
    )
    texts, parts = (
        of(["two words", "two words", "others"], index=[0, 1, 2]),
        of(["train", "train", "test"], index=[2, 1, 0]),
    )
    assert covmis_build.leakage(texts, parts).summary["identical"].tolist() == [1]
