"""Gold and predictions joined, scored, weighted."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, recall_score

import covmis_build as covmis
from covmis_build.errors import InputError, UnknownName
from covmis_build.evaluation import compare as comparing
from covmis_build.evaluation import score as scoring
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.joining import join
from covmis_build.evaluation.scores import class_table, confusion_matrices
from covmis_build.stats.intervals import interval

LABELS = ["favor", "against", "neither"]
ORDER = ["favor", "neither", "against"]


def score(*given, **options):
    return scoring(*given, **options).to_frame()


def compare(*given, **options):
    return comparing(*given, **options).to_frame()


def example(items=300, systems=3, seed=1):
    rng = np.random.default_rng(seed)
    gold = rng.choice(LABELS, items, p=[0.5, 0.3, 0.2])
    made = {
        f"s{at}": np.where(rng.random(items) < 0.4 + 0.1 * at, gold, rng.choice(LABELS, items))
        for at in range(systems)
    }
    return gold, made


def value(frame, system, measure, column="value"):
    return frame[(frame["system"] == system) & (frame["measure"] == measure)][column].item()


def test_values_are_those_of_the_measures() -> None:
    gold, systems = example()
    weights = {"favor": 0.4, "against": 0.4, "neither": 0.2}
    table = score(
        gold,
        systems,
        labels=LABELS,
        order=ORDER,
        poles=["favor", "against"],
        class_weights=weights,
    )
    assert table["low"].notna().all()
    matrices = confusion_matrices(join(gold, systems, LABELS))
    place = [LABELS.index(one) for one in ORDER]
    for name, matrix in matrices.items():
        ordered = matrix[np.ix_(place, place)]
        assert value(table, name, "accuracy") == np.mean(systems[name] == gold)
        assert value(table, name, "cem_ord") == pytest.approx(measures["cem_ord"](ordered))
        assert value(table, name, "alpha_ordinal") == pytest.approx(measures["alpha_ordinal"](ordered))
        assert value(table, name, "f_avg") == pytest.approx(measures["f_avg"](ordered))
        assert value(table, name, "wf2") == pytest.approx(measures["wf2"](matrix, [0.4, 0.4, 0.2]))


def test_the_declared_labels_decide() -> None:
    gold, said = ["a", "b", "a"], ["a", "b", "b"]
    two = score(gold, {"s": said}, labels=["a", "b"], measures=["macro_f1"])["value"].item()
    three = score(gold, {"s": said}, labels=["a", "b", "c"], measures=["macro_f1"])["value"].item()
    assert three == pytest.approx(two * 2 / 3)


def test_ids_are_joined_whatever_the_order() -> None:
    gold, systems = example()
    ids = [f"x:{at}" for at in range(len(gold))]
    plain = score(gold, systems, labels=LABELS, measures=["macro_f1", "kappa"])
    shuffled = np.random.default_rng(0).permutation(len(gold))
    by_id = {name: pd.Series(said, ids).iloc[shuffled] for name, said in systems.items()}
    joined = score(pd.Series(gold, ids), by_id, labels=LABELS, measures=["macro_f1", "kappa"])
    pd.testing.assert_frame_equal(plain, joined)
    answers = {name: said.to_dict() for name, said in by_id.items()}
    pd.testing.assert_frame_equal(
        plain,
        score(dict(zip(ids, gold, strict=True)), answers, labels=LABELS, measures=["macro_f1", "kappa"]),
    )


def test_ids_as_numbers_on_one_side_and_text_on_the_other() -> None:
    table = score({1: "a", 2: "b"}, {"s": {"2": "b", "1": "b"}}, labels=["a", "b"], measures=["accuracy"])
    assert table["value"].item() == 0.5


def test_runs_are_averaged_and_their_spread_is_shown() -> None:
    gold, systems = example()
    runs = list(systems.values())
    table = score(gold, {"many": runs, "one": runs[0]}, labels=LABELS, measures=["macro_f1"])
    each = [score(gold, {"s": run}, labels=LABELS, measures=["macro_f1"])["value"].item() for run in runs]
    assert value(table, "many", "macro_f1") == pytest.approx(np.mean(each))
    assert value(table, "many", "macro_f1", "sd") == pytest.approx(np.std(each, ddof=1))
    assert value(table, "many", "macro_f1", "runs") == 3
    assert np.isnan(value(table, "one", "macro_f1", "sd"))


def test_groups_are_scored_on_their_own() -> None:
    gold, systems = example()
    kinds = np.where(np.arange(len(gold)) % 3 == 0, "title", "keywords")
    table = score(gold, systems, labels=LABELS, measures=["accuracy"], by={"kind": kinds})
    inside = table[(table["group_by"] == "kind") & (table["group"] == "title") & (table["system"] == "s1")]
    assert inside["value"].item() == np.mean((systems["s1"] == gold)[kinds == "title"])
    assert inside["items"].item() == 100


def test_intervals_by_claims_are_wider_where_claims_differ() -> None:
    rng = np.random.default_rng(3)
    claims = np.repeat(np.arange(30), 20)
    gold = np.array(["a"] * 600)
    easy = np.repeat(rng.random(30) < 0.5, 20)
    said = np.where(easy, "a", "b")
    options = {"labels": ["a", "b"], "measures": ["accuracy"]}
    items = score(gold, {"s": said}, **options)
    clusters = score(gold, {"s": said}, clusters=claims, **options)
    width = [(one["high"] - one["low"]).item() for one in (items, clusters)]
    assert width[1] > 3 * width[0]
    repeated = score(gold, {"s": said}, clusters=claims, **options)
    pd.testing.assert_frame_equal(clusters, repeated)


def test_weights_of_one_change_nothing() -> None:
    gold, systems = example()
    table = score(gold, systems, labels=LABELS, order=ORDER, probabilities=np.ones(len(gold)))
    np.testing.assert_allclose(table["weighted"], table["value"], atol=1e-12)
    np.testing.assert_allclose(table["weighted_low"], table["weighted"], atol=1e-9)


def test_weights_are_those_of_the_pool() -> None:
    """An item with probability 1/k counts as k items."""
    gold, systems = example(120)
    times = np.random.default_rng(5).integers(1, 5, len(gold))
    table = score(gold, {"s": systems["s1"]}, labels=LABELS, probabilities=1 / times)
    pool = score(np.repeat(gold, times), {"s": np.repeat(systems["s1"], times)}, labels=LABELS)
    for name in table["measure"]:
        if not name.startswith("alpha"):  # alpha knows the number of items
            assert value(table, "s", name, "weighted") == pytest.approx(value(pool, "s", name)), name


def test_balanced_counts_every_claim_the_same() -> None:
    gold = ["a"] * 10 + ["a"] * 2
    said = ["a"] * 10 + ["b"] * 2
    table = score(
        gold, {"s": said}, labels=["a", "b"], measures=["accuracy"],
        probabilities=[0.5] * 12, clusters=["big"] * 10 + ["small"] * 2,
    )  # fmt: skip
    assert table["weighted"].item() == pytest.approx(10 / 12)
    assert table["balanced"].item() == pytest.approx(0.5)


def test_the_variance_of_a_weighted_share_is_the_closed_one() -> None:
    """Accuracy is a Hájek mean: v = (sum w)^-2 sum (1 - p)/p^2 (y - m)^2."""
    rng = np.random.default_rng(8)
    gold, systems = example(200)
    p = rng.uniform(0.1, 1, 200)
    right = (systems["s2"] == gold).astype(float)
    w = 1 / p
    m = (w * right).sum() / w.sum()
    v = ((1 - p) / p**2 * (right - m) ** 2).sum() / w.sum() ** 2
    worth = w.sum() ** 2 / ((1 - p) * w**2).sum()
    table = score(gold, {"s": systems["s2"]}, labels=LABELS, measures=["accuracy"], probabilities=p)
    assert 20 < worth < 200
    pull = np.sqrt(1 - p) * w
    low, high = interval(m, v, worth, pull.sum() ** 2 / (pull**2).sum() - 1)
    assert table["weighted"].item() == pytest.approx(m)
    assert table["weighted_low"].item() == pytest.approx(low, abs=1e-6)
    assert table["weighted_high"].item() == pytest.approx(high, abs=1e-6)


def test_the_variance_of_a_balanced_share_is_that_of_the_claims_means() -> None:
    """Every claim's Hájek mean with its own variance; the balanced share is their plain mean."""
    rng = np.random.default_rng(9)
    gold, systems = example(240)
    p, claims = rng.uniform(0.2, 1, 240), np.arange(240) % 6
    right, w = (systems["s2"] == gold).astype(float), 1 / p
    means, variances = [], []
    for claim in range(6):
        of = claims == claim
        m = np.average(right[of], weights=w[of])
        means.append(m)
        variances.append(((1 - p[of]) * (w[of] * (right[of] - m)) ** 2).sum() / w[of].sum() ** 2)
    options = {"labels": LABELS, "measures": ["accuracy"]}
    table = score(gold, {"s": systems["s2"]}, probabilities=p, clusters=claims, **options)
    assert table["balanced"].item() == pytest.approx(np.mean(means))
    middle, variance = float(np.mean(means)), float(np.sum(variances)) / 36
    mass = np.bincount(claims, w)[claims]
    worth = 1 / ((1 - p) * (w / mass / 6) ** 2).sum()
    pull = np.sqrt(1 - p) * w / mass
    low, high = interval(middle, variance, worth, pull.sum() ** 2 / (pull**2).sum() - 1)
    assert table["balanced_low"].item() == pytest.approx(low, abs=1e-6)
    assert table["balanced_high"].item() == pytest.approx(high, abs=1e-6)


def test_missing_predictions_are_refused_or_wrong() -> None:
    gold = {"1": "a", "2": "b", "3": "a", "4": "a"}
    with pytest.raises(InputError, match=r"s has no prediction for 2 of 4 items: 3, 4.*missing = wrong"):
        score(gold, {"s": {"1": "a", "2": "b"}}, labels=["a", "b"])
    table = score(
        gold,
        {"s": {"1": "a", "2": "b"}, "t": gold},
        labels=["a", "b"],
        missing="wrong",
        order=["a", "b"],
    )
    assert value(table, "s", "accuracy") == 0.5
    assert value(table, "s", "macro_recall") == pytest.approx((1 / 3 + 1) / 2)
    assert value(table, "t", "accuracy") == 1
    assert table["value"].notna().all()


def test_answers_that_are_no_labels_are_refused_named_or_counted() -> None:
    gold = pd.DataFrame({"id": range(8), "label": list("abcabcab")})
    said = pd.DataFrame({"id": range(8), "prediction": ["A", "B", "none", "A", "?", "none", "B", "B"]})
    names = {"A": "a", "B": "b", "none": "c"}
    with pytest.raises(
        InputError, match=r"label 'A'. If they mean the same: --map A=a --map B=b .*--invalid wrong"
    ):
        score(gold, {"s": said})
    with pytest.raises(
        InputError, match=r"label '\?'. Allowed: a, b, c; say what it means: --map '\?=LABEL'"
    ):
        score(gold, {"s": said}, map=names)
    with pytest.raises(UnknownName, match=r"map: no label is called 'non'. Did you mean 'none'"):
        score(gold, {"s": said}, map={"non": "c"})
    scores = scoring(gold, {"s": said, "t": gold}, map=names, invalid="wrong")
    truth, answers = gold["label"], said["prediction"].map(names | {"?": "?"})
    for name, average in (("macro_f1", "macro"), ("macro_recall", "macro")):
        own = f1_score if name == "macro_f1" else recall_score
        assert scores.value("s", name) == pytest.approx(
            own(truth, answers, labels=list("abc"), average=average)
        )
    row = scores.to_frame().set_index("system").loc["s"].iloc[0]
    assert (row["invalid"], row["missing"]) == (1 / 8, 0)
    assert "1 of 8 answers of s (12.5%) are none of the labels, and count as wrong: '?' 1." in scores.notes
    assert scores.overall()["invalid"].tolist() == ["12.5%", "0.0%"]
    assert (
        "1 of 8 answers of s"
        in comparing(gold, {"s": said, "t": gold}, map=names, invalid="wrong").remarks[0]
    )
    # the same as lists, by id, and over runs
    lists = {"s": [answers.tolist(), answers.tolist()]}
    assert scoring(truth.tolist(), lists, invalid="wrong").value("s", "macro_f1") == scores.value(
        "s", "macro_f1"
    )
    with pytest.raises(InputError, match="s has no prediction for 1 of 8 items: 4"):
        score(gold, {"s": said}, map=names, invalid="missing")
    absent = scoring(gold, {"s": said}, map=names, invalid="missing", missing="wrong")
    assert absent.value("s", "macro_f1") == scores.value("s", "macro_f1")
    assert absent.to_frame()["missing"].unique() == [1 / 8]
    assert "s has no prediction for 1 of 8 items (12.5%); they count as wrong." in absent.notes


@pytest.mark.parametrize(
    ("gold", "said", "options", "words"),
    [
        (["a", "b"], ["a"], {}, "1 predictions for 2 items"),
        (["a", "b"], ["a", "c"], {}, r"row 2.*s has the unknown label 'c'"),
        (["a", "B"], ["a", "b"], {}, "gold has the unknown label 'B'"),
        (["a", None], ["a", "b"], {}, "gold has an item without a label"),
        ([], [], {}, "no items"),
        ({"1": "a"}, {"1": "a", "2": "b"}, {}, r"1 item \(2\), which gold lacks"),
        (["a", "b"], ["a", "b"], {"measures": ["macro_f11"]}, "Did you mean"),
        (["a", "b"], ["a", "b"], {"measures": ["wf1"]}, "needs class weights"),
        (["a", "b"], ["a", "b"], {"order": ["a", "c"]}, "not an order"),
        (["a", "b"], ["a", "b"], {"poles": ["a", "a"]}, "poles"),
        (["a", "b"], ["a", "b"], {"probabilities": [0.5, 0.0]}, "probability"),
        (["a", "b"], ["a", "b"], {"clusters": ["x"]}, "1 values for 2 items"),
        (["a", "b"], ["a", "b"], {"labels": ["a", "a"]}, "label set"),
        (["a", "b"], ["a", "b"], {"missing": "ignore"}, "Allowed: refuse, wrong"),
        (["a", "b"], ["a", "b"], {"extra": "wrong"}, "Allowed: refuse, ignore"),
        (np.array([["a"], ["b"]]), ["a", "b"], {}, "gold has 2 dimensions"),
        (pd.DataFrame({"text": ["a", "b"]}), ["a", "b"], {}, "gold: has no column of labels.*label=COLUMN"),
        (["a", "b"], ["a", "b"], {"clusters": "claim_id"}, "names a column, and gold has none"),
        (
            ["a", "b"],
            ["a", "b"],
            {"probabilities": [0.5, 0.0]},
            "probability must be above 0 and at most 1, not 0",
        ),
        (["a", "b"], ["a", "b"], {"probabilities": [50, 100]}, "must be above 0 and at most 1, not 50"),
    ],
)
def test_errors_say_what_and_where(gold, said, options, words) -> None:
    with pytest.raises(InputError, match=words):
        score(gold, {"s": said}, **{"labels": ["a", "b"], **options})


def test_groups_have_a_mean_in_which_each_weighs_the_same() -> None:
    gold, systems = example(items=90, systems=2)
    targets = np.repeat(["x", "y", "z"], [50, 30, 10])
    table = score(gold, systems, labels=LABELS, by={"target": targets}, measures=["accuracy", "macro_f1"])
    for (_, measure), rows in table[table["group_by"] == "target"].groupby(["system", "measure"]):
        mean = rows[rows["group"] == "mean of 3"].iloc[0]
        of_groups = rows[rows["group"] != "mean of 3"]
        assert mean["value"] == pytest.approx(of_groups["value"].mean()), measure
        assert (mean["items"], mean["why"]) == (90, "a mean over 3 groups")
        assert np.isnan(mean["low"])


def test_predictions_of_other_items_are_refused_or_ignored() -> None:
    gold, more = {"1": "a", "2": "b"}, {"2": "b", "9": "a", "1": "b"}
    with pytest.raises(InputError, match=r"1 item \(9\), which gold lacks.*extra = ignore"):
        score(gold, {"s": more}, labels=["a", "b"])
    table = score(gold, {"s": more}, labels=["a", "b"], measures=["accuracy"], extra="ignore")
    assert table["value"].item() == 0.5
    assert table["items"].item() == 2


def test_whole_numbers_are_labels_too() -> None:
    said = pd.Series([0, 1, None])
    table = score([0, 1, 1], {"s": said}, labels=[0, 1], measures=["accuracy"], missing="wrong")
    assert table["value"].item() == pytest.approx(2 / 3)


def test_duplicate_ids_are_named() -> None:
    gold = pd.Series(["a", "b"], ["1", "2"])
    with pytest.raises(InputError, match=r"s has 1 item \(1\) more than once"):
        score(gold, {"s": pd.Series(["a", "b", "b"], ["1", "2", "1"])}, labels=["a", "b"])


def test_classes_have_a_row_each() -> None:
    table = class_table(join(["a", "b", "b"], {"s": ["a", "a", "b"]}, ["a", "b", "c"]))
    assert table["recall"].tolist() == pytest.approx([1.0, 0.5, np.nan], nan_ok=True)
    assert table["gold"].tolist() == [1, 2, 0]


@given(st.integers(0, 2**32), st.permutations(range(40)))
@settings(max_examples=6)
def test_permuting_items_changes_nothing(seed, order) -> None:
    gold, systems = example(40, seed=seed)
    order = list(order)
    turned = {name: said[order] for name, said in systems.items()}
    options = {"labels": LABELS, "order": ORDER}
    pd.testing.assert_frame_equal(score(gold, systems, **options), score(gold[order], turned, **options))
    claims = np.arange(40) % 7
    pd.testing.assert_frame_equal(
        score(gold, systems, clusters=claims, **options),
        score(gold[order], turned, clusters=claims[order], **options),
    )
    for test in ("interval", "randomisation", "tukey"):
        same = {"measure": "macro_f1", "labels": LABELS, "test": test}
        pd.testing.assert_frame_equal(compare(gold, systems, **same), compare(gold[order], turned, **same))


def test_relabelling_changes_no_value() -> None:
    gold, systems = example()
    names = {"favor": "1", "against": "2", "neither": "3"}
    other = score(
        [names[one] for one in gold], {n: [names[one] for one in s] for n, s in systems.items()},
        labels=[names[one] for one in LABELS],
    )  # fmt: skip
    pd.testing.assert_frame_equal(score(gold, systems, labels=LABELS), other)


def frames():
    """A corpus and two systems as frames, the systems in another order."""
    gold, systems = example(80)
    corpus = pd.DataFrame(
        {
            "item_id": [f"{at % 7}|x:{at}" for at in range(80)], "claim_id": [str(at % 7) for at in range(80)],
            "label": gold, "kind": np.where(np.arange(80) % 3 == 0, "title", "keywords"),
            "p_claim": np.linspace(0.5, 1, 80), "p_sample": np.linspace(1, 0.4, 80),
        }
    )  # fmt: skip
    said = pd.DataFrame({"item_id": corpus["item_id"], **systems}).iloc[::-1]
    return corpus, said, systems


def test_frames_are_scored_as_lists_are() -> None:
    corpus, said, systems = frames()
    options = {"measures": ["accuracy", "gmr"]}
    plain = score(
        corpus["label"].tolist(), systems, labels=LABELS, clusters=corpus["claim_id"].tolist(),
        probabilities=(corpus["p_claim"] * corpus["p_sample"]).tolist(), by={"kind": corpus["kind"].tolist()}, **options,
    )  # fmt: skip
    named = {
        "labels": LABELS,
        "clusters": "claim_id",
        "probabilities": ["p_claim", "p_sample"],
        "by": ["kind"],
    }
    pd.testing.assert_frame_equal(score(corpus, said, **named, **options), plain)
    by_name = {name: said[["item_id", name]].rename(columns={name: "prediction"}) for name in systems}
    pd.testing.assert_frame_equal(score(corpus, by_name, **named, **options), plain)
    lent = {name: pa.table(frame) for name, frame in by_name.items()}
    pd.testing.assert_frame_equal(score(pa.table(corpus), lent, **named, **options), plain)
    pd.testing.assert_frame_equal(score(corpus, pa.table(said), **named, **options), plain)
    columns = {
        name: corpus.assign(said=systems[name])["said"] for name in systems
    }  # Series of gold's own rows
    pd.testing.assert_frame_equal(score(corpus, columns, **named, **options), plain)
    renamed = corpus.rename(columns={"item_id": "nr", "label": "answer"})
    pd.testing.assert_frame_equal(
        score(renamed, said.rename(columns={"item_id": "nr"}), id="nr", label="answer", **named, **options),
        plain,
    )


def test_a_frame_against_itself_is_right() -> None:
    corpus, _, _ = frames()
    scores = scoring(corpus, corpus)
    assert scores.value("system", "accuracy") == 1
    assert scores.labels == tuple(sorted(LABELS))
    assert scores.classes["f1"].tolist() == [1, 1, 1]
    assert scores.confusions["system"].trace() == len(corpus)


def test_results_are_objects(tmp_path) -> None:
    corpus, said, _ = frames()
    scores = scoring(corpus, said.rename(columns={"s0": "<b>"}), clusters="claim_id")
    assert {"system", "measure", "value", "low", "high"} <= set(scores.to_frame().columns)
    assert scores.to_dict()["clusters"] == 7
    assert "&lt;b&gt;" in scores._repr_html_()
    assert "<b>" not in scores._repr_html_()
    scores.write(tmp_path / "scores.json")
    assert repr(scores).startswith("<Scores: Scores (95% intervals: over 7 claims")
    assert str(scores).startswith("Scores (95% intervals: over 7 claims")
    assert "\n" not in repr(scores)
    comparison = comparing(corpus, said, measure="gmr")
    assert len(comparison.sentences) == len(comparison.to_frame()) == 3
    assert comparison.matrix().shape == (3, 3)
    assert "Geometric mean" in comparison._repr_html_()
    assert repr(comparison) == f"<Comparison: {comparison.sentences[0][:100]}>"
    assert str(comparison).startswith("p-values, adjusted by Holm:\n")
    soft = covmis.score_soft({"1": ["a", "b"], "2": ["b", "b"]}, {"m": {"1": "a", "2": "b"}})
    over = covmis.score_over_posts(corpus, said, probabilities=[1.0] * len(corpus), measures=["accuracy"])
    asked = covmis.meta(corpus, said, trials=2, replicates=2)
    for result in (soft, over, asked):
        assert re.fullmatch(r"<\w+: [^\n]{1,100}>", repr(result))
        assert result.summary[0] in str(result)
        assert "<table" in result._repr_html_()
    with pytest.raises(UnknownName, match=r"no value of s9 in gmr\. There are <b>, s1, s2"):
        scores.value("s9", "gmr")


def test_blanks_around_a_label_are_no_label_of_their_own() -> None:
    scores = scoring([" x", "x", "y"], {"s": ["x", "x ", "y"]})
    assert scores.labels == ("x", "y")
    assert scores.value("s", "kappa") == 1


def test_what_a_frame_lacks_is_named() -> None:
    corpus, said, _ = frames()
    with pytest.raises(UnknownName, match=r"gold: lacks the column 'claim'\. Did you mean"):
        scoring(corpus, said, clusters="claim")
    with pytest.raises(InputError, match="system: has no ids that gold has"):
        scoring(corpus, pd.DataFrame({"prediction": ["favor"] * 80}))
    with pytest.raises(InputError, match="systems: has no column of predictions; it has item_id"):
        scoring(corpus, said[["item_id"]])
    with pytest.raises(InputError, match="clusters lacks a value for some items"):
        scoring(corpus.assign(claim_id=""), said, clusters="claim_id")


def test_names_that_nothing_has_are_errors_of_their_own_type() -> None:
    corpus, said, _ = frames()
    for options in ({"measures": ["acuracy"]}, {"undefined": "none"}, {"class_weights": {"favour": 1.0}}):
        with pytest.raises(UnknownName):
            scoring(corpus, said, **options)
    with pytest.raises(UnknownName):
        comparing(corpus, said, test="t")


def test_different_values_look_different() -> None:
    """Two systems that differ in one of 4,000 items have .8200 and .8202, not .820 twice."""
    gold = ["a", "b"] * 2000
    wrong = ["b" if at % 2 == 0 and at < 1440 else label for at, label in enumerate(gold)]
    one_less = ["a" if at == 0 else label for at, label in enumerate(wrong)]
    scores = scoring(gold, {"first": one_less, "second": wrong}, labels=["a", "b"], measures=["accuracy"])
    shown = [str(value).split(" ")[0] for value in scores.overall().iloc[:, 1]]
    assert [len(value) for value in shown] == [6, 6]
    assert shown[0] > shown[1] == "0.8200"
    assert all(value in scores.latex() for value in shown)
