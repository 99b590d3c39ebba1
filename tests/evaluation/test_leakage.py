"""What parts share."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.evaluation.leakage import leakage
from covmis_build.evaluation.split import splits
from covmis_build.study.evaluate import split_file

TEXTS = [
    "The vaccine contains a microchip that tracks you",
    "Drinking hot water does not cure the virus",
    "Nothing like anything else written in this place",
    "The vaccine contains a microchip that tracks you",  # the first one again
    "The vaccine contains a microchip that tracks me",  # three edits from it
    "ok",
    "no",
]
PARTS = ["train", "train", "dev", "test", "test", "test", "train"]


def found(**options):
    return leakage(TEXTS, PARTS, **options)


def test_counts_of_copies() -> None:
    table = found().summary.set_index(["part", "against"])
    row = table.loc["test", "train"]
    assert (row["items"], row["others"]) == (3, 3)
    assert row["identical"] == 1
    assert row["below"] == 3  # "ok" is 2 edits from "no": short texts always are near
    assert row["normalised"] == 2
    assert row["short"] == 1
    assert table.loc["dev", "train"]["below"] == 0
    assert set(table.index) == {("dev", "train"), ("test", "train"), ("test", "train and dev")}


def test_below_and_at_most_differ_at_the_threshold() -> None:
    row = found(edits=3).summary.set_index(["part", "against"]).loc["test", "train"]
    assert (row["below"], row["at_most"]) == (2, 3)


def test_the_nearest_item_is_named() -> None:
    table = found().nearest
    row = table[(table["row"] == 4) & (table["against"] == "train")].iloc[0]
    assert (row["distance"], row["nearest"]) == (3, 0)
    assert row["normalised"] == pytest.approx(3 / 48)
    copy = table[(table["row"] == 3) & (table["against"] == "train")].iloc[0]
    assert (copy["distance"], copy["cosine"]) == (0, pytest.approx(1))


def test_train_and_dev_together_are_never_farther() -> None:
    table = found().nearest
    test = table[table["part"] == "test"].pivot_table(index="row", columns="against", values="distance")
    assert (test["train and dev"] <= test["train"]).all()


def test_claims_times_and_labels() -> None:
    result = found(
        keys={"claim": ["1", "2", "3", "1", "9", "9", "2"]},
        times=[
            "2020-01-01",
            "2020-05-01",
            "2020-03-01",
            "2020-02-01",
            "2020-06-01",
            "2020-07-01",
            "2020-01-01",
        ],
        labels=["a", "b", "a", "a", "a", "a", "b"],
    )
    keys = result.keys.set_index(["key", "part", "against"])
    assert keys.loc[("claim", "test", "train"), "values_shared"] == 1
    assert keys.loc[("claim", "test", "train"), "items_shared"] == 1
    assert keys.loc[("claim", "dev", "train"), "values_shared"] == 0
    assert result.missing_labels == {"dev": ["b"], "test": ["b"]}
    overlap = result.times.set_index("part")
    assert overlap.loc["train", "last"] == "2020-05-01T00:00:00Z"
    assert overlap.loc["test", "not_later_than_train"] == 1
    text = " ".join(result.findings)
    assert "1 of 3 test items (33.3%) have the same text as an item of train and dev." in text
    assert (
        "1 of 3 test items (33.3%) share their claim with an item of train and dev (1 of 2 values)." in text
    )
    assert "The part test lacks b." in text
    assert result.to_dict()["keys"][1]["values_shared"] == 1


def test_nothing_shared_has_no_findings() -> None:
    texts = [
        "a first text that is long enough to be on its own here",
        "zzz 999 something wholly different 777 qqq www",
    ]
    assert leakage(texts, ["train", "test"], labels=["a", "a"]).findings == []


def test_empty_texts_are_no_copies_of_each_other() -> None:
    texts, parts = ["alpha", None, "", float("nan"), "beta"], ["train", "train", "test", "test", "test"]
    leak = leakage(texts, parts)
    row = leak.summary.iloc[0]
    assert row[["items", "identical", "below", "short", "similar"]].tolist() == [3, 0, 1, 1, 0]
    assert leak.nearest["nearest"].tolist() == [-1, -1, 0]
    assert "Empty texts, which are copies of nothing: 3." in leak.findings
    assert leak.to_dict()["empty"] == 3
    assert repr(leak) == "<Leakage: Empty texts, which are copies of nothing: 3.>"
    parts = ["train", "dev", "test", "test", "test"]
    assert leakage([*texts[:4], "alpha"], parts).summary["identical"].tolist() == [0, 1, 1]


def test_texts_that_are_all_empty_are_refused(tmp_path) -> None:
    """As those of a release of ids alone."""
    refused = re.escape("all 4 texts are empty. Fetch them with `covmis hydrate`")
    with pytest.raises(InputError, match=refused):
        leakage(["", None, " ", ""], ["train", "test", "train", "test"])
    frame = pd.DataFrame({"item_id": list("abcd"), "label": list("xyxy"), "text": ""})
    with pytest.raises(InputError, match=refused):
        splits(frame, similarity=0.8, folds=2)
    frame.to_csv(tmp_path / "ids.csv", index=False)
    with pytest.raises(InputError, match=refused):
        split_file(str(tmp_path / "ids.csv"), tmp_path / "parts.csv", similarity=0.8)
    divided = split_file(str(tmp_path / "ids.csv"), tmp_path / "parts.csv", folds=2)
    assert divided.findings == ["There are no texts: near-copies in two parts cannot be seen."]


@pytest.mark.parametrize(
    ("texts", "parts", "options", "words"),
    [
        (["a"], ["train", "test"], {}, "1 texts for 2 parts"),
        (["a", "b"], ["train", "train"], {}, "test is empty"),
        (["a", "b", "c"], ["train", "test", "held out"], {}, "unknown part 'held out'"),
        (["a", "b"], ["train", "test"], {"keys": {"claim": ["1"]}}, "1 claim for 2 items"),
    ],
)
def test_errors(texts, parts, options, words) -> None:
    with pytest.raises(InputError, match=words):
        leakage(texts, parts, **options)
