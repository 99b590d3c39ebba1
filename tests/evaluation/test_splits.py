"""Divisions of items: complete, keyed by ids, stratified, in time."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import datasets
from covmis_build.errors import CheckFailed, InputError
from covmis_build.evaluation.split import splits
from covmis_build.evaluation.times import moments, times
from covmis_build.study import evaluate
from covmis_build.study.evaluate import split_file
from covmis_build.text.near_duplicates import near_duplicate_pairs


def posts(items=100, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "post_id": [f"x:{at}" for at in range(items)],
            "created_at": [
                f"2020-{1 + at % 12:02}-{1 + at % 28:02}T00:00:00Z" for at in rng.permutation(items)
            ],
            "label": rng.choice(["a", "b", "c"], items, p=[0.6, 0.3, 0.1]),
            "claim_id": rng.integers(0, 7, items).astype(str),
        }
    )


@given(st.integers(10, 80), st.integers(0, 10**6))
@settings(max_examples=20)
def test_folds_test_every_item_once(items, seed) -> None:
    frame = posts(items, seed)
    folds = splits(frame, seed=seed)
    assert ((folds == "test").sum(axis=1) == 1).all()
    sizes = (folds == "test").sum()
    assert sizes.max() - sizes.min() <= 1
    for label in frame["label"].unique():
        of = (folds[frame["label"] == label] == "test").sum()
        assert of.max() - of.min() <= 1


@given(st.permutations(range(60)))
@settings(max_examples=10)
def test_the_order_of_rows_is_no_matter(order) -> None:
    frame = posts(60)
    for scheme in ("random", "grouped", "chronological", "stratified_chronological", "leave_one_out"):
        straight = splits(frame, scheme=scheme)
        turned = splits(frame.iloc[list(order)], scheme=scheme)
        if scheme == "leave_one_out":
            turned = turned[straight.columns]
        assert sorted(turned.index) == list(straight.index)
        assert (turned.sort_index() == straight).all(axis=None)


def test_more_items_move_none_between_seeded_folds_of_one_division() -> None:
    frame = posts()
    one = splits(frame, folds=1, seed=3)
    assert one.value_counts().to_dict() == pytest.approx({"train": 70, "test": 20, "dev": 10}, abs=4)
    assert (one != splits(frame, folds=1, seed=4)).any()


def test_in_time_train_comes_first() -> None:
    frame = posts()
    parts = splits(frame, scheme="chronological")
    assert parts.value_counts().to_dict() == {"train": 70, "test": 20, "dev": 10}
    when = frame["created_at"]
    assert when[parts == "train"].max() <= when[parts == "dev"].min()
    assert when[parts == "dev"].max() <= when[parts == "test"].min()


def test_stratified_in_time_is_so_within_each_label() -> None:
    frame = posts()
    parts = splits(frame, scheme="stratified_chronological")
    for label in "abc":
        mine = frame["label"] == label
        size = int(mine.sum())
        assert (parts[mine] == "train").sum() == 7 * size // 10
        assert (parts[mine] == "test").sum() == size - 8 * size // 10
        assert (
            frame["created_at"][mine & (parts == "train")].max()
            <= frame["created_at"][mine & (parts == "test")].min()
        )


def test_cuts_by_position_time_and_label() -> None:
    frame = posts()
    assert (splits(frame, scheme="chronological", cuts=(50, 60)) == "train").sum() == 50
    parts = splits(frame, scheme="chronological", cuts=("2020-06-18", "2020-09-21T00:00:00Z"))
    assert (
        frame["created_at"][parts == "train"].max()
        < "2020-06-18"
        <= frame["created_at"][parts == "dev"].min()
    )
    assert frame["created_at"][parts == "test"].min() == "2020-09-21T00:00:00Z"
    by_label = splits(frame, scheme="stratified_chronological", cuts={"a": (3, 4), "b": (1, 1), "c": (0, 0)})
    assert (by_label[frame["label"] == "a"] == "train").sum() == 3
    assert (by_label[frame["label"] == "b"] == "dev").sum() == 0
    assert (by_label[frame["label"] == "c"] == "test").all()


def test_exact_fractions_not_floats() -> None:
    """0.7 + 0.1 is 0.7999… in floats: 10 items would be cut at 7 instead of 8."""
    frame = pd.DataFrame({"id": list("abcdefghij"), "time": range(10)})
    assert (splits(frame, scheme="chronological") == "dev").sum() == 1


def test_leaving_one_claim_out() -> None:
    frame = posts()
    parts = splits(frame, scheme="leave_one_out")
    assert set(parts.columns) == set(frame["claim_id"])
    assert ((parts["3"] == "test") == (frame["claim_id"] == "3")).all()


def test_times_are_read_from_post_ids() -> None:
    frame = pd.DataFrame({"tweet_id": ["1250814876490665983", "1312054948875210751"]})
    assert moments(frame) == ["2020-04-16T15:54:40Z", "2020-10-02T15:40:51Z"]
    assert times(pd.DataFrame({"post_id": ["x:1250814876490665983"]})) == [1587052480229]
    assert times(pd.DataFrame({"time": [1291221273, 1291221274]})) == [1291221273000, 1291221274000]


@pytest.mark.parametrize(
    "form", ["%d.%m.%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y", "%d-%m-%y", "%d. %m. %Y", "%H:%M %d/%m/%Y"]
)
def test_a_date_that_may_be_day_or_month_first_is_not_guessed(form) -> None:
    """pandas would read 09.01. as 1 September, and 13.01. as 13 January."""
    when = pd.date_range("2020-01-13", periods=210, freq="-1D")
    frame = posts(len(when)).assign(created_at=when.strftime(form))
    with pytest.raises(InputError, match=r"may be day or month first\. Write dates as 2020-01-09"):
        splits(frame, scheme="chronological")
    with pytest.raises(InputError, match="may be day or month first"):
        splits(frame, group="day")


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S.123-05:00", "%a %b %d %H:%M:%S +0000 %Y",
        "%a, %d %b %Y %H:%M:%S -0500", "%d %b %y",
    ],
)  # fmt: skip
def test_dates_with_one_reading_are_read(form) -> None:
    when = pd.date_range("2020-01-01 10:11:12", periods=210, freq="1D")
    for column in (when.strftime(form), when, when.tz_localize("UTC")):
        parts = splits(posts(len(when)).assign(created_at=column), scheme="chronological")
        assert parts.tolist() == ["train"] * 147 + ["dev"] * 21 + ["test"] * 42


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (posts(), {"scheme": "chronologic"}, "Did you mean 'chronological'"),
        (posts(), {"fractions": (0.5, 0.1, 0.2)}, "sum 1"),
        (posts(), {"scheme": "chronological", "cuts": (60, 50)}, "in order"),
        (posts(), {"scheme": "chronological", "cuts": (60,)}, "Give two"),
        (posts(), {"scheme": "stratified_chronological", "cuts": {"a": (1, 2)}}, "no cuts for"),
        (posts(), {"folds": 500}, "500 folds"),
        (posts().drop(columns="label"), {}, "no column .*of labels"),
        (
            posts().drop(columns="created_at"),
            {"scheme": "chronological"},
            "no time can be read from the id 'x:0'",
        ),
        (posts().assign(created_at="soon"), {"scheme": "chronological"}, "'soon' is no time"),
        (posts().assign(post_id="x:1"), {}, "more than once"),
        (posts().drop(columns="claim_id"), {"scheme": "leave_one_out"}, "no column of claims"),
        (posts().assign(claim_id="1"), {"scheme": "leave_one_out"}, "one value of claim_id"),
        (posts().drop(columns="claim_id"), {"scheme": "grouped"}, "no column of claims"),
        (posts(), {"scheme": "grouped", "similarity": 0.8}, "no column .*of texts"),
        (posts(), {"group": "claim_id", "folds": 8}, "8 folds of 7 groups"),
        (posts(), {"scheme": "stratified_chronological", "group": "claim_id"}, "would divide groups"),
        (posts(), {"scheme": "chronological", "time": "when"}, "no column 'when'"),
        (posts().assign(claim_id="1"), {"scheme": "grouped"}, "largest group leaves no item for dev"),
        (posts().assign(claim_id="1"), {"group": "claim_id", "folds": 1}, "leaves no item for dev"),
    ],
)
def test_errors_say_what(frame, options, words) -> None:
    with pytest.raises(InputError, match=words):
        splits(frame, **options)


def torn(frame, parts, column) -> int:
    return sum(len(set(of)) > 1 for _, of in frame.assign(part=parts).groupby(column)["part"])


WORDS = ("masks", "wash", "hands", "garlic", "cures", "vaccine", "chips", "lemon", "heat", "stay")


@given(st.integers(5, 60), st.integers(0, 10**6), st.sampled_from(["random", "grouped", "chronological"]))
@settings(max_examples=40)
def test_no_group_and_no_pair_of_near_copies_is_torn(items, seed, scheme) -> None:
    """Whatever the claims, and however chains of near-copies join them."""
    frame = posts(items, seed)
    rng = np.random.default_rng(seed)
    frame["text"] = [" ".join(rng.choice(WORDS, rng.integers(0, 4))) for _ in range(items)]
    try:
        parts = splits(frame, scheme=scheme, folds=1, group="claim_id", similarity=0.6, seed=seed)
    except InputError as error:
        assert "leaves no item for" in str(error)  # noqa: PT017 - few items, in one or two groups
        return
    assert torn(frame, parts, "claim_id") == 0
    first, second, _ = near_duplicate_pairs(frame["text"].tolist(), threshold=0.6)
    assert (parts.to_numpy()[first] == parts.to_numpy()[second]).all()


def test_whole_groups_still_have_the_wanted_sizes_and_labels() -> None:
    rng = np.random.default_rng(5)
    frame = posts(2000, 5).assign(claim_id=rng.integers(0, 90, 2000).astype(str))
    parts = splits(frame, scheme="grouped")
    shares = parts.value_counts(normalize=True)
    assert shares.to_dict() == pytest.approx({"train": 0.7, "test": 0.2, "dev": 0.1}, abs=0.01)
    by_label = pd.crosstab(parts, frame["label"], normalize="columns")
    assert (by_label.sub(shares, axis=0).abs() < 0.04).all(axis=None)
    folds = splits(frame, group="claim_id")
    assert ((folds == "test").sum(axis=1) == 1).all()
    assert all(torn(frame, folds[name], "claim_id") == 0 for name in folds)
    assert (splits(frame, scheme="grouped", seed=1) != parts).any()


def test_rumoureval_keeps_its_threads(data_home) -> None:
    """302 of 325 threads are torn where nothing holds them together."""
    frame = datasets.read("rumoureval-2017", data_home)
    assert torn(frame, splits(frame, folds=1), "target_id") == 302
    assert torn(frame, splits(frame, folds=1, group="target_id"), "target_id") == 0
    assert torn(frame, splits(frame, scheme="grouped", group="group"), "target_id") == 0


def test_the_command_keeps_groups_and_says_what_is_shared(tmp_path) -> None:
    frame = posts(200).assign(
        group=lambda rows: rows["claim_id"], text=[f"text {at % 40} of it" for at in range(200)]
    )
    frame.to_csv(tmp_path / "items.csv", index=False)
    file, out = str(tmp_path / "items.csv"), tmp_path / "parts.csv"
    divided = split_file(file, out, folds=1)
    parts = pd.read_csv(out)["part"]
    assert torn(frame, parts, "group") == 0
    assert any("same text" in finding for finding in divided.findings)
    divided = split_file(file, out, folds=1, group=["none"])
    assert torn(frame, pd.read_csv(out)["part"], "group") > 0
    divided = split_file(file, out, scheme="grouped", similarity=0.8, group=["none"])
    assert not any("cosine" in finding or "same text" in finding for finding in divided.findings)


def test_a_division_that_breaks_its_word_is_not_written(tmp_path, monkeypatch) -> None:
    posts(50).assign(group="x", text="the same words").to_csv(tmp_path / "items.csv", index=False)
    wrong = pd.Series(["train", "test"] * 24 + ["dev", "dev"], name="part")
    monkeypatch.setattr("covmis_build.study.evaluate.splits", lambda *_, **__: wrong)
    for how in ({"group": ["claim_id"]}, {"similarity": 0.8}):
        with pytest.raises(CheckFailed, match="nothing was written"):
            split_file(str(tmp_path / "items.csv"), tmp_path / "parts.csv", **how)
    assert not (tmp_path / "parts.csv").exists()


@pytest.mark.parametrize("folds", [1, 5])
def test_near_copies_are_looked_for_once(tmp_path, monkeypatch, folds) -> None:
    asked = []

    def looked(texts, threshold):
        asked.append(threshold)
        return near_duplicate_pairs(texts, threshold)

    monkeypatch.setattr(evaluate, "near_duplicate_pairs", looked)
    for module, name in (("keys", "near_duplicate_groups"), ("leakage", "near_duplicate_pairs")):
        of = sys.modules[f"covmis_build.evaluation.{module}"]  # `leakage` is a function, too
        monkeypatch.setattr(of, name, lambda *_: pytest.fail("computed again"))
    frame = posts(60).assign(
        text=[f"word{at // 2} and{at // 2} more{at // 2} of{at % 2} them" for at in range(60)]
    )
    frame.to_csv(tmp_path / "posts.csv", index=False)
    told = split_file(str(tmp_path / "posts.csv"), tmp_path / "parts.csv", folds=folds, similarity=0.5)
    assert asked == [0.5]
    assert told.groups is not None
    assert told.groups.to_dict("records")[0] | {"largest": ""} == {
        "key": "similar texts", "groups": 30, "items": 60, "share": "100.0%", "largest": "",
    }  # fmt: skip
