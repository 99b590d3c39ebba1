"""Released files of others, end to end, against values computed independently."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.evaluation import score as scoring
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.joining import join
from covmis_build.evaluation.label_files import read_labels
from covmis_build.evaluation.leakage import leakage
from covmis_build.evaluation.scores import confusion_matrices
from covmis_build.evaluation.split import splits
from covmis_build.evaluation.times import moments

FNC = json.loads((Path(__file__).parents[1] / "vectors" / "fnc_three_class.json").read_text())
NAMES = {
    "aORD": "alpha_ordinal", "aINT": "alpha_interval", "MAEm": "mae_macro", "MAEu": "mae_micro", "CEM": "cem_ord",
    "kappa": "kappa_linear", "Acc": "accuracy", "F1": "macro_f1", "FF1": "f1_of_means",
}  # fmt: skip
RELATED = ["agree", "discuss", "disagree"]
OFFICIAL = {
    "talos_ensemble_averaged_2models_cor4": 9556.5,
    "athene_official_FNC_submission": 9550.75,
    "chips_submission_1": 9335.25,
    "talos_tree": 9676.5,
    "talos_cnn": 7093.75,
    "aiphes_riedel_uclmr_submission": 9569.75,
    "nyu_2stage": 0.7863,
    "nyu_1stage": 0.7835,
    "varshanth_submission": 0.8212,
}


def score(*given, **options):
    return scoring(*given, **options).to_frame()


@pytest.fixture(scope="module")
def fnc(data_home):
    return pd.read_csv(data_home / "fnc1" / "fnc1_test_predictions.csv.gz")


def test_fourteen_systems_of_the_fake_news_challenge(fnc) -> None:
    assert len(FNC) == 14
    related = fnc[fnc["gold"] != "unrelated"]
    for name, wanted in FNC.items():
        for rule, values in (
            ("drop", wanted["measures_drop_pred_unrelated"]),
            ("discuss", wanted["measures_pred_unrelated_as_discuss"]),
        ):
            kept = related[related[name] != "unrelated"] if rule == "drop" else related
            said = kept[name].replace("unrelated", "discuss")
            matrix = confusion_matrices(join(kept["gold"], {name: said}, RELATED))[name]
            if rule == "drop":
                np.testing.assert_array_equal(
                    matrix.T, wanted["C_rows_pred_agree_discuss_disagree_cols_gold"]
                )
            table = score(
                list(kept["gold"]), {name: list(said)}, labels=RELATED, order=RELATED,
                measures=list(NAMES.values()),
            )  # fmt: skip
            found = dict(zip(table["measure"], table["value"], strict=True))
            for short, value in values.items():
                assert found[NAMES[short]] == pytest.approx(value, abs=5.1e-5), (name, rule, short)


def test_official_scores(fnc) -> None:
    labels = ["unrelated", "agree", "disagree", "discuss"]
    systems = {name: fnc[name] for name in OFFICIAL}
    table = score(fnc["gold"], systems, labels=labels, measures=["fnc"]).set_index("system")
    for name, official in OFFICIAL.items():
        share = official if official < 1 else official / 11651.25
        assert table.loc[name, "value"] == pytest.approx(share, abs=5.1e-5 if official < 1 else 1e-12)


def test_rumoureval_answers(data_home) -> None:
    from sklearn.metrics import f1_score

    folder = data_home / "rumoureval"
    gold = read_labels(folder / "2019_test_gold_twitter_only_Fengshawn.json")
    gold_labels = gold.labels(gold.id_column)
    systems = {}
    for name in ("W0lgast", "branchLSTM"):
        answers = read_labels(folder / f"2019_{name}_answer.json")
        systems[name] = answers.labels(answers.id_column)
        assert len(systems[name]) == 1827
    labels = ["support", "deny", "query", "comment"]
    weights = {"support": 0.4, "deny": 0.4, "query": 0.15, "comment": 0.05}
    table = score(gold_labels, systems, labels=labels, class_weights=weights, extra="ignore")
    by = table.set_index(["system", "measure"])["value"]
    for name, predictions in systems.items():
        right = (predictions.reindex(gold_labels.index) == gold_labels).mean()
        assert by[name, "accuracy"] == pytest.approx(right)
        peer = f1_score(gold_labels, predictions.reindex(gold_labels.index), labels=labels, average="macro")
        assert by[name, "macro_f1"] == pytest.approx(peer)


def test_covmis_in_time(data_home) -> None:
    corpus = pd.read_csv(data_home / "covmis" / "covmis_stance.csv", dtype=str)
    parts = splits(corpus, scheme="chronological")
    counts = pd.crosstab(parts, corpus["label"])[["favor", "against", "neither"]]
    assert counts.loc["train"].tolist() == [920, 711, 210]
    assert counts.loc["dev"].tolist() == [109, 118, 36]
    assert counts.loc["test"].tolist() == [247, 218, 62]
    when = pd.Series(moments(corpus))
    assert (when.min()[:10], when.max()[:10]) == ("2012-08-05", "2021-04-08")
    assert when[parts == "train"].max()[:10] == "2020-05-19"
    assert when[parts == "test"].min()[:10] == "2020-07-20"
    texts = [f"{one} " for one in range(len(corpus))]
    shared = leakage(texts, list(parts), keys={"claim": corpus["mid"]}, similarity=0.99, edits=0).keys
    assert shared.set_index(["part", "against"]).loc[("test", "train"), "values_shared"] == 78


def test_covidlies_always_the_majority(data_home) -> None:
    for version, counts in (("0.1", (670, 343, 5748)), ("0.2", (738, 366, 7833))):
        read = read_labels(data_home / "covidlies" / f"covid_lies_v{version}.csv")
        gold = list(read.labels())
        matrix = confusion_matrices(join(gold, {"majority": ["na"] * len(gold)}, ["pos", "neg", "na"]))[
            "majority"
        ]
        assert matrix[:, 2].tolist() == list(counts)
        assert measures["accuracy"](matrix) == pytest.approx(counts[2] / sum(counts))


def test_mu_the_released_cut_points(data_home) -> None:
    folder = data_home / "mu_temporality"
    fifteen = pd.read_csv(folder / "tw15.csv", dtype=str)
    parts = splits(fifteen, scheme="chronological", cuts=(519, 594))
    counts = pd.crosstab(parts, fifteen["label"])
    assert counts["1"].to_dict() == {"train": 285, "dev": 35, "test": 52}
    sixteen = pd.read_csv(folder / "tw16.csv", dtype=str)
    parts = splits(sixteen, scheme="stratified_chronological", cuts=(144, 165))
    assert pd.crosstab(parts, sixteen["label"]).loc["test"].to_dict() == {"0": 40, "1": 42}
