"""Rows of two files are paired only where they belong together; otherwise the files are refused."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import covmis_build as covmis
from covmis_build.errors import InputError
from covmis_build.evaluation.gold_and_systems import gold_and_systems

TEXTS = [f"post number {at}" for at in range(12)]
GOLD = pd.DataFrame({"text": TEXTS, "label": ["a", "b", "c"] * 4})
SAID = pd.DataFrame({"text": TEXTS, "prediction": ["a", "b", "b", "a", "b", "c"] * 2})
FNC = pd.DataFrame(
    {"Headline": [f"h{at // 2 % 3}" for at in range(12)], "Body ID": [at % 2 for at in range(12)], "Stance": ["agree", "disagree", "unrelated"] * 4}
)  # fmt: skip


def accuracy(gold, said, **how):
    table = covmis.score(gold, {"m": said}, measures=["accuracy"], **how).to_frame()
    return float(table["value"].iloc[0])


def files(tmp_path, gold, said):
    paths = tmp_path / "gold.csv", tmp_path / "said.csv"
    for frame, path in zip((gold, said), paths, strict=True):
        frame.to_csv(path, index=False)
    return paths


@settings(max_examples=25)
@given(st.permutations(range(12)), st.permutations(range(12)))
def test_the_order_of_rows_never_matters_where_columns_identify_them(first, second):
    assert accuracy(GOLD.iloc[first], SAID.iloc[second]) == accuracy(GOLD, SAID) == 10 / 12


@settings(max_examples=25)
@given(st.permutations(range(12)))
def test_rows_that_repeat_are_paired_in_gold_s_order_or_refused(tmp_path_factory, order):
    gold, said = files(tmp_path_factory.mktemp("fnc"), FNC, FNC.iloc[order].assign(Stance="agree"))
    same = [FNC.iloc[at, :2].tolist() for at in order] == FNC.iloc[:, :2].to_numpy().tolist()
    if same:
        assert accuracy(gold, said) == 4 / 12
    else:
        with pytest.raises(
            InputError, match=r"said.csv, row \d+: has another (headline|body_id) here than gold.csv"
        ):
            accuracy(gold, said)


def test_without_ids_and_without_a_common_column_position_is_asked_for(tmp_path):
    gold, said = files(tmp_path, GOLD[["label"]], SAID[["prediction"]])
    with pytest.raises(InputError, match="rows can only be paired by position"):
        accuracy(gold, said)
    assert accuracy(gold, said, by_position=True) == 10 / 12


def test_position_is_refused_where_a_common_column_contradicts_it(tmp_path):
    gold, said = files(tmp_path, GOLD, SAID.iloc[::-1])
    with pytest.raises(
        InputError, match=r"row 2: has another text here than gold.csv: its rows are not in gold's order"
    ):
        accuracy(gold, said, by_position=True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (SAID.iloc[1:], "no prediction for 1 of 12 items"),
        (pd.concat([SAID, SAID.iloc[:1].assign(text="another")]), "has a row that gold lacks"),
        (pd.concat([SAID, SAID.iloc[:1]]), "has 13 predictions for 12 items of gold.csv"),
        (SAID.rename(columns={"text": "post"}), "rows can only be paired by position"),
    ],
    ids=["truncated", "extended", "repeated", "renamed"],
)
def test_other_rows_are_refused(tmp_path, said, problem):
    gold, path = files(tmp_path, GOLD, said)
    with pytest.raises(InputError, match=problem):
        accuracy(gold, path)


def test_it_is_known_by_what_rows_were_joined(tmp_path):
    ids = {"item_id": range(12)}
    for gold, said, how in (
        (GOLD.assign(**ids), SAID.assign(**ids), "item_id"),
        (GOLD, SAID, "text"),
        (
            FNC,
            FNC.rename(columns={"Stance": "prediction"}),
            "position, with equal headline and body_id in every row",
        ),
    ):
        assert gold_and_systems(*files(tmp_path, gold, said)).joined_by == (how,)


def test_another_gold_in_a_systems_file_is_told_with_the_count(tmp_path):
    """Two versions of a benchmark: rows are the same, gold differs, and the score depends on which is taken."""
    gold = pd.DataFrame({"text": list("abcdef"), "label": list("xxxyyy"), "pred_id": [0, 0, 0, 1, 1, 1]})
    said = gold.assign(label=list("xyxyyx"), pred=list("xyxyyy"), pred_id=[0, 1, 0, 1, 1, 1])
    gold.to_csv(tmp_path / "gold.csv", index=False)
    said.to_csv(tmp_path / "said.csv", index=False)
    told = "The file of s (said.csv) has another gold: its column label differs from gold.csv in 2 of 6 items (first: row 3, y for x)"
    for by_position in (False, True):
        systems = {"s": tmp_path / "said.csv", "t": gold.rename(columns={"label": "pred"})}
        scores = covmis.score(tmp_path / "gold.csv", systems, measures=["accuracy"], by_position=by_position)
        assert scores.value("s", "accuracy") == pytest.approx(5 / 6)
        assert [note.partition(". It is")[0] for note in scores.remarks] == [told]
        assert told in scores.how
        found = covmis.compare(tmp_path / "gold.csv", systems, measure="accuracy", by_position=by_position)
        assert told in found.how
        assert any(told in line for line in found.summary if isinstance(line, str))
    own = covmis.score(
        tmp_path / "said.csv", {"s": tmp_path / "said.csv"}, label="label", measures=["accuracy"]
    )
    assert (own.value("s", "accuracy"), own.remarks) == (pytest.approx(5 / 6), ())


def test_columns_of_predictions_do_not_order_rows(tmp_path):
    """Systems' files carry the number of the predicted class, in which they differ; their texts agree."""
    gold = pd.DataFrame(
        {"text": list("aabb"), "label": list("xyxy"), "pred_id": [0, 1, 0, 1], "Pred Label ID": [0, 1, 0, 1]}
    )
    said = pd.DataFrame(
        {"text": list("aabb"), "pred": list("xxxy"), "pred_id": [0, 0, 0, 1], "Pred Label ID": [0, 0, 0, 1]}
    )
    assert covmis.score(gold, {"s": said}, measures=["accuracy"]).value("s", "accuracy") == 0.75
