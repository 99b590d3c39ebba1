"""Grids of trainings: right, remembered, ablated."""

import json

import pandas as pd
import pytest

from covmis_build.evaluation import score, splits
from covmis_build.models import PRESETS, Linear, ablations, grid, train
from covmis_build.models import table as module

POSTS = pd.DataFrame(
    [
        {
            "id": f"{day}{word}", "text": f"{word} of day{day} here", "target": "masks", "label": label,
            "time": f"2020-01-{day:02}T00:00:00Z", "claim_id": str(day % 3),
        }
        for day in range(1, 21)
        for word, label in (("indeed", "favor"), ("nonsense", "against"))
    ]
)  # fmt: skip
MODELS = {"majority": PRESETS["majority"], "bow": PRESETS["bow"]}
LABELS = ["favor", "against"]


def test_a_cell_is_training_and_judging():
    found = grid(POSTS, MODELS, labels=LABELS, schemes=["chronological"]).set_index("model")
    part = splits(POSTS, scheme="chronological")
    learn, judge = POSTS[part == "train"], POSTS[part == "test"]
    predicted = train(learn, "bow", labels=LABELS).predict(judge)
    row = score(judge["label"].tolist(), {"": predicted}, labels=LABELS, measures=["macro_f1"], replicates=0)
    assert found.loc["bow", "macro_f1"] == pytest.approx(row["value"].iloc[0])
    assert found.loc["bow", "items"] == len(judge)
    assert pd.isna(found.loc["bow", "macro_f1_sd"])
    assert found.loc["majority", "accuracy"] == pytest.approx(0.5)


def test_random_folds_and_whole_claims():
    found = grid(POSTS, MODELS, labels=LABELS, schemes=["random", "leave_one_out"], folds=4)
    rows = found.set_index(["model", "scheme"])
    assert rows.loc[("bow", "random"), "runs"] == 4
    assert rows.loc[("bow", "random"), "items"] == len(POSTS)
    assert rows.loc[("bow", "leave_one_out"), ["runs", "items"]].tolist() == [1, len(POSTS)]
    assert rows.loc[("bow", "random"), "accuracy"] == 1
    assert rows.loc[("bow", "random"), "accuracy_sd"] == 0


def test_finished_cells_are_not_trained_again(tmp_path, monkeypatch):
    first = grid(POSTS, MODELS, labels=LABELS, cells=tmp_path)
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == 2 * (5 + 1)  # these posts are divided alike by both chronological schemes
    calls = []
    real = module.train
    monkeypatch.setattr(module, "train", lambda *words, **named: calls.append(1) or real(*words, **named))
    again = grid(POSTS, MODELS, labels=LABELS, cells=tmp_path, wanted=["accuracy", "macro_f1"])
    pd.testing.assert_frame_equal(first, again)
    assert not calls
    kept[3].unlink()
    pd.testing.assert_frame_equal(first, grid(POSTS, MODELS, labels=LABELS, cells=tmp_path))
    assert len(calls) == 1
    changed = POSTS.assign(text=POSTS["text"] + "!")
    grid(changed, {"bow": PRESETS["bow"]}, labels=LABELS, schemes=["chronological"], cells=tmp_path)
    assert len(calls) == 2
    assert json.loads(kept[0].read_text())["labels"] == LABELS


def test_progress_is_told():
    seen = []
    grid(POSTS, MODELS, labels=LABELS, schemes=["chronological"], progress=lambda *words: seen.append(words))
    assert seen == [("training", 0, 2), ("training", 1, 2)]


@pytest.mark.parametrize("name", PRESETS)
def test_ablations_change_one_thing_each(name):
    found = ablations(PRESETS[name])
    assert found["as it is"] == PRESETS[name]
    assert len(set(found.values())) == len(found)
    for changed in found.values():
        fields = [one for one in Linear.__slots__ if getattr(changed, one) != getattr(PRESETS[name], one)]
        assert len(fields) <= 1
