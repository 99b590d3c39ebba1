"""Grids of trainings: right, remembered, ablated."""

import json

import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.evaluation import score as scoring
from covmis_build.evaluation.split import splits
from covmis_build.models import training_cell as module
from covmis_build.models.ablation import ablations
from covmis_build.models.encoders import Encoder
from covmis_build.models.linear import PRESETS, Linear, train_linear
from covmis_build.models.options import options_of
from covmis_build.models.sequence import Step
from covmis_build.models.table import table
from covmis_build.models.training_cell import Setting

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


def score(*given, **options):
    return scoring(*given, **options).to_frame()


def test_a_cell_is_training_and_judging():
    found = table(POSTS, MODELS, labels=LABELS, schemes=["chronological"]).cells.set_index("model")
    part = splits(POSTS, scheme="chronological")
    learn, judge = POSTS[part == "train"], POSTS[part == "test"]
    predicted = train_linear(learn, "bow", labels=LABELS).predict(judge)
    row = score(judge["label"].tolist(), {"": predicted}, labels=LABELS, measures=["macro_f1"])
    assert found.loc["bow", "macro_f1"] == pytest.approx(row["value"].iloc[0])
    assert found.loc["bow", "items"] == len(judge)
    assert pd.isna(found.loc["bow", "macro_f1_sd"])
    assert found.loc["majority", "accuracy"] == pytest.approx(0.5)


def test_random_folds_and_whole_claims():
    found = table(POSTS, MODELS, labels=LABELS, schemes=["random", "leave_one_out"], folds=4)
    rows = found.cells.set_index(["model", "scheme"])
    assert rows.loc[("bow", "random"), "runs"] == 4
    assert rows.loc[("bow", "random"), "items"] == len(POSTS)
    assert rows.loc[("bow", "leave_one_out"), ["runs", "items"]].tolist() == [1, len(POSTS)]
    assert rows.loc[("bow", "random"), "accuracy"] == 1
    assert rows.loc[("bow", "random"), "accuracy_sd"] == 0


def test_finished_cells_are_not_trained_again(tmp_path, monkeypatch):
    first = table(POSTS, MODELS, labels=LABELS, cells=tmp_path)
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == 2 * (5 + 1)  # these posts are divided alike by both chronological schemes
    calls = []
    real = module.train_linear
    monkeypatch.setattr(
        module, "train_linear", lambda *words, **named: calls.append(1) or real(*words, **named)
    )
    again = table(POSTS, MODELS, labels=LABELS, cells=tmp_path, wanted=["accuracy", "macro_f1"])
    pd.testing.assert_frame_equal(first.cells, again.cells)
    assert not calls
    kept[3].unlink()
    pd.testing.assert_frame_equal(first.cells, table(POSTS, MODELS, labels=LABELS, cells=tmp_path).cells)
    assert len(calls) == 1
    changed = POSTS.assign(text=POSTS["text"] + "!")
    table(changed, {"bow": PRESETS["bow"]}, labels=LABELS, schemes=["chronological"], cells=tmp_path)
    assert len(calls) == 2
    card = json.loads(kept[0].read_text())
    assert card["labels"] == LABELS
    assert card["learn"]["rows"] + card["dev"]["rows"] + card["judge"]["rows"] == len(POSTS)
    assert set(card["versions"]) == {"covmis", "scikit-learn"}
    assert card["options"]["C"] == 1.0
    cards = [json.loads(path.read_text()) for path in kept]
    folds = [one["scores"] for one in cards if (one["model"], one["scheme"]) == ("bow", "random")]
    row = first.cells.set_index(["model", "scheme"]).loc[("bow", "random")]
    for name in ("accuracy", "macro_f1"):
        assert sum(one[name] for one in folds) / 5 == pytest.approx(row[name])


def test_progress_is_told():
    seen = []
    table(POSTS, MODELS, labels=LABELS, schemes=["chronological"], progress=lambda *words: seen.append(words))
    assert seen == [("training", 0, 2), ("training", 1, 2)]


@pytest.mark.parametrize("name", PRESETS)
def test_ablations_change_one_thing_each(name):
    found = {setting: one.options for setting, one in ablations(PRESETS[name]).items()}
    assert found["as it is"] == PRESETS[name]
    assert len(set(found.values())) == len(found)
    for changed in found.values():
        fields = [one for one in Linear.__slots__ if getattr(changed, one) != getattr(PRESETS[name], one)]
        assert len(fields) <= 1


def test_ablations_of_a_transformer_change_one_thing_each():
    whole = Encoder(path="x", claim_first=True)
    found = ablations(whole)
    assert list(found) == [
        "as it is",
        "post first",
        "without class weights",
        "without warm-up",
        "sentence-bert",
    ]
    for one in list(found.values())[1:]:
        changed = [name for name in Encoder.__slots__ if getattr(one.options, name) != getattr(whole, name)]
        assert len(changed) == 1


def test_each_dataset_before_is_left_out_in_turn():
    """Table 14: all, without COVIDLies, without RumourEval, MNLI alone."""
    nli = Step("nli", POSTS)
    mixture = Step("mixture", POSTS.assign(part=["rumours", "lies"] * 20))
    found = ablations(Setting(Encoder(path="x"), (nli, mixture)))
    before = {name: [(step.name, len(step.frame)) for step in one.before] for name, one in found.items()}
    assert before["as it is"] == [("nli", 40), ("mixture", 40)]
    assert before["without nli"] == [("mixture", 40)]
    assert before["without lies"] == before["without rumours"] == [("nli", 40), ("mixture", 20)]
    assert set(found["without lies"].before[1].frame["part"]) == {"rumours"}
    assert before["without mixture"] == [("nli", 40)]
    assert before["without all before"] == []
    assert before["claim first"] == before["as it is"]


def test_tests_between_divisions_are_welchs():
    """Folds that are hard at random against claims that are easy: the numbers are scipy's."""
    from scipy.stats import ttest_ind

    noisy = POSTS.assign(text=[text if at % 3 else "nothing" for at, text in enumerate(POSTS["text"])])
    noisy["split"] = ["train"] * 30 + ["test"] * 10
    found = table(noisy, MODELS, labels=LABELS, schemes=["random", "given"], folds=4)
    assert found.tests["t"].isna().all()  # a linear model has one run on a fixed division
    runs = {
        ("bow", "random"): {"accuracy": [0.5, 0.6, 0.7]},
        ("bow", "given"): {"accuracy": [0.9, 0.8]},
        ("other", "given"): {"accuracy": [0.1, 0.2]},
    }
    from covmis_build.models.table import _tests

    (row,) = _tests(runs, "")
    expected = ttest_ind([0.5, 0.6, 0.7], [0.9, 0.8], equal_var=False)
    assert (row["t"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert (row["model"], row["first"], row["second"]) == ("bow", "random", "given")
    assert row["difference"] == pytest.approx(-0.25)
    (row,) = _tests(runs, "bow")
    assert (row["first"], row["second"], row["scheme"]) == ("bow", "other", "given")


def test_measures_with_an_order_poles_and_weights_are_those_of_score():
    """F-avg, wF2 and an ordinal measure; the poles are not the first and the last label."""
    labels = ["favor", "against", "neither"]
    rows = pd.concat([POSTS, POSTS[::3].assign(text="indeed nonsense perhaps", label="neither")])
    rows = rows.assign(split="train").reset_index(drop=True)
    rows.loc[::2, "split"] = "test"
    needs = {
        "order": ["favor", "neither", "against"], "poles": ["favor", "against"],
        "class_weights": {"favor": 0.4, "against": 0.5, "neither": 0.1},
    }  # fmt: skip
    wanted = ["f_avg", "wf2", "cem_ord", "accuracy"]
    model = {"mu": options_of("mu", {"max_features": 2})}
    (row,) = table(rows, model, labels=labels, schemes=["given"], wanted=wanted, **needs).cells.to_dict(
        "records"
    )
    judge = rows[rows["split"] == "test"]
    said = train_linear(rows[rows["split"] == "train"], model["mu"], labels=labels).predict(judge)
    expected = score(judge["label"].tolist(), {"": said}, labels=labels, measures=wanted, **needs)
    assert {name: row[name] for name in wanted} == pytest.approx(
        dict(zip(expected["measure"], expected["value"], strict=True))
    )
    assert len({row[name] for name in wanted}) == 4


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"wanted": ["f_avg"]}, "f_avg needs poles. Name the two: poles"),
        ({"wanted": ["f_avg"], "poles": ["favor", "pro"]}, "poles"),
        ({"wanted": ["cem_ord"]}, "cem_ord needs an order. Name the labels in their order"),
        ({"wanted": ["cem_ord"], "order": ["favor"]}, "is not an order of the labels"),
        ({"wanted": ["wf2"]}, "wf2 needs class weights"),
        ({"wanted": ["wf2"], "class_weights": {"favor": 0.5, "against": 0.4}}, "with the sum 1"),
        ({"wanted": ["fnc"]}, "fnc needs the label unrelated"),
        ({"wanted": ["f_avgs"]}, "Did you mean 'f_avg'"),
    ],
)
def test_what_a_measure_lacks_is_named_before_anything_is_trained(named, message, monkeypatch):
    monkeypatch.setattr(module, "train_linear", None)
    with pytest.raises(InputError, match=message):
        table(POSTS, MODELS, labels=LABELS, **named)


def test_by_label_and_by_group():
    """Tables 9 and 12, and 13: the same predictions, looked at apart."""
    frame = POSTS.assign(kind=["title", "keywords"] * 20, split=["train"] * 30 + ["test"] * 10)
    found = table(frame, MODELS, labels=LABELS, schemes=["given"], by="kind")
    labels = found.labels.set_index(["model", "label"])
    assert labels.loc[("majority", "favor"), ["precision", "recall"]].tolist() == [0.5, 1]
    assert labels.loc[("majority", "against"), ["precision", "f1"]].tolist() == [0, 0]
    groups = found.groups.set_index(["model", "group"])
    assert groups.loc[("majority", "title"), "accuracy"] == 1  # all favor
    assert groups.loc[("majority", "keywords"), ["accuracy", "items"]].tolist() == [0, 5]
    assert found.cells["items"].tolist() == [10, 10]


def test_a_linear_model_that_saw_nothing_of_the_target():
    other = POSTS.assign(text=POSTS["text"].str.replace("here", "there"))
    found = table(
        POSTS, {"bow": Setting(PRESETS["bow"], (Step("other", other),))}, labels=LABELS, schemes=["zero_shot"]
    )
    assert found.cells["accuracy"].tolist() == [1]
    assert found.cells["items"].tolist() == [40]


@pytest.mark.parametrize(
    ("changes", "models", "named", "message"),
    [
        (
            {},
            MODELS,
            {"schemes": ["zero_shot"]},
            "leaves no rows to train on. Name other data with --before",
        ),
        ({}, MODELS, {"schemes": ["given"]}, "has no column split"),
        (
            {"split": "training"},
            MODELS,
            {"schemes": ["given"]},
            "row 1: the split 'training'. Did you mean 'train'",
        ),
        ({"split": "train"}, MODELS, {"schemes": ["given"]}, "leaves no rows to test on"),
        ({}, MODELS, {"schemes": ["zeroshot"]}, "Did you mean 'zero_shot'"),
        ({}, MODELS, {"by": "kinds", "schemes": ["random"]}, "has no column kinds"),
        ({"label": "pro"}, MODELS, {}, "'pro' is not in the label set"),
        ({}, {"x": Encoder(path="x", patience=1)}, {"schemes": ["leave_one_out"]}, "has no dev part"),
        (
            {},
            {"x": Setting(Linear(), (Step("nli", POSTS.assign(label="yes")),))},
            {},
            "nli has none of the labels",
        ),
        (
            {},
            {"x": Setting(Linear(), (Step("o", POSTS.replace("favor", "pro")),))},
            {},
            "o has the label 'pro' beside",
        ),
    ],
)
def test_what_cannot_be_compared_is_named_before_anything_is_trained(changes, models, named, message):
    with pytest.raises(InputError, match=message):
        table(POSTS.assign(**changes), models, labels=LABELS, **named)


def test_a_damaged_cell_is_named(tmp_path):
    table(POSTS, MODELS, labels=LABELS, schemes=["chronological"], cells=tmp_path)
    one = next(tmp_path.glob("*.json"))
    for damage in ("", "[]", '{"predictions": ["favor"]}', '{"predictions": 7}'):
        one.write_text(damage)
        with pytest.raises(InputError, match="is damaged"):
            table(POSTS, MODELS, labels=LABELS, schemes=["chronological"], cells=tmp_path)
