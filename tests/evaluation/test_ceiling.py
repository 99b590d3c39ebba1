"""What people's disagreement leaves to predict: against simulated truth, by hand, and as the command says it."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import score
from covmis_build.cli import app
from covmis_build.errors import UnknownName

LABELS = ["favor", "against", "neither"]


def draw(rng, right, raters):
    """Labels of so many people for each item, and their majority; one more person where two labels are as many."""
    labels = np.array([rng.choice(len(LABELS), raters, p=p) for p in right])
    counts = np.stack([(labels == at).sum(axis=1) for at in range(len(LABELS))], axis=1)
    gold = []
    for given, p in zip(counts, right, strict=True):
        tied = np.flatnonzero(given == given.max())
        gold.append(rng.choice(tied, p=p[tied] / p[tied].sum()))
    return labels, np.array(gold)


def table_of(labels):
    return pd.DataFrame(
        [(str(at), f"a{who}", LABELS[said]) for at, row in enumerate(labels) for who, said in enumerate(row)],
        columns=["item_id", "annotator", "label"],
    )


def frame(gold):
    return pd.DataFrame(
        {"item_id": [str(at) for at in range(len(gold))], "label": [LABELS[at] for at in gold]}
    )


def row(scores, measure="accuracy", system="x"):
    table = scores.to_frame()
    return table[(table["system"] == system) & (table["measure"] == measure)].iloc[0]


@pytest.mark.parametrize("raters", [2, 3, 5])
@pytest.mark.parametrize("alike", [0.4, 1.2, 4.0])
def test_the_ceiling_is_what_the_system_that_knows_scores(raters, alike):
    """Shares drawn so that people agree well, middling and hardly; the system that knows them is near the ceiling."""
    rng = np.random.default_rng(7)
    right = rng.dirichlet(np.array([0.5, 0.3, 0.2]) * alike, 4000)
    right = np.maximum(right, 1e-9) / np.maximum(right, 1e-9).sum(axis=1, keepdims=True)
    labels, gold = draw(rng, right, raters)
    knows = {"x": {str(at): LABELS[p.argmax()] for at, p in enumerate(right)}}
    scores = score(frame(gold), knows, people=table_of(labels), measures=["accuracy", "macro_f1"])
    for measure in ("accuracy", "macro_f1"):
        figures = row(scores, measure)
        assert figures["ceiling"] == pytest.approx(figures["value"], abs=0.025), measure
    assert row(scores)["person"] < row(scores)["ceiling"] + 0.01


def test_a_person_against_the_others_by_hand():
    """Two people: the raw agreement. Three: the label of the other two, half each where they differ."""
    two = {"1": ["favor", "favor"], "2": ["favor", "against"], "3": ["neither", "neither"], "4": ["against"]}
    gold = {"1": "favor", "2": "favor", "3": "neither", "4": "against"}
    figures = row(score(gold, {"x": gold}, people=two, labels=LABELS, measures=["accuracy"]))
    assert figures["person"] == pytest.approx(2 / 3)
    assert figures["people_items"] == 3, "the item of one person says nothing"
    three = {"1": ["favor", "favor", "against"]}  # each favor against {favor, against}: half; against: never
    figures = row(
        score(
            {"1": "favor"},
            {"x": {"1": "favor"}},
            people=three,
            labels=LABELS,
            measures=["accuracy"],
        )
    )
    assert figures["person"] == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_where_all_agree_everything_can_be_known_and_where_all_guess_nothing():
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 3, 300)
    same = score(frame(gold), {"x": [LABELS[at] for at in gold]}, people=table_of(np.stack([gold, gold], axis=1)),
                 measures=["accuracy"], by_position=True)  # fmt: skip
    assert (row(same)["person"], row(same)["ceiling"]) == (1.0, 1.0)
    labels = rng.integers(0, 3, (3000, 3))
    guess = score(frame(labels[:, 0]), {"x": [LABELS[0]] * 3000}, people=table_of(labels), measures=["accuracy"], by_position=True)  # fmt: skip
    assert row(guess)["ceiling"] == pytest.approx(1 / 3, abs=0.06)


def test_more_people_raise_the_ceiling():
    rng = np.random.default_rng(5)
    right = rng.dirichlet([0.6, 0.6, 0.6], 1500)
    ceilings = []
    for raters in (2, 4, 12):
        labels, gold = draw(rng, right, raters)
        scores = score(frame(gold), {"x": ["favor"] * len(gold)}, people=table_of(labels), measures=["accuracy"], by_position=True)  # fmt: skip
        ceilings.append(row(scores)["ceiling"])
    assert ceilings == sorted(ceilings)
    assert ceilings[-1] - ceilings[0] > 0.05


def test_unknown_labels_are_refused_and_unknown_items_do_not_count():
    gold = {"1": "favor", "2": "against"}
    with pytest.raises(UnknownName, match="people gave the unknown label 'maybe'"):
        score(gold, {"x": gold}, people={"1": ["favor", "maybe"]})
    alone = score(gold, {"x": gold}, people={"9": ["favor", "favor"]})
    assert "ceiling" not in alone.to_frame()
    assert alone.human == {}


def test_the_command_takes_what_a_release_has_beside_its_corpus(tmp_path):
    rng = np.random.default_rng(2)
    right = rng.dirichlet([1.0, 1.0, 1.0], 60)
    labels, gold = draw(rng, right, 3)
    frame(gold).to_csv(tmp_path / "corpus.csv", index=False)
    record = table_of(labels).assign(phase="independent", status="given")
    noise = record.head(9).assign(annotator=["model:m"] * 3 + ["a9"] * 6, label="favor")
    noise.loc[noise["annotator"] == "a9", "phase"] = "adjudication"
    pd.concat([record, noise]).to_csv(tmp_path / "annotations.csv", index=False)
    frame(gold).rename(columns={"label": "prediction"}).to_csv(tmp_path / "x.csv", index=False)

    def said(*words):
        command = ["evaluate", "score", str(tmp_path / "corpus.csv"), str(tmp_path / "x.csv"), "--labels",
                   ",".join(LABELS), "--measures", "accuracy", *words]  # fmt: skip
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        return result.stdout

    figures = json.loads(said("--json"))
    assert figures["scores"][0]["people"] == 3, "neither machines nor third persons are among the people"
    assert "do not compare these two columns" in figures["notes"][-1].casefold()
    assert "(ceiling)" in said()
    assert "(ceiling)" not in said("--people", "none")
    by_kind = tmp_path / "page.html"
    said("--out", str(by_kind))
    assert "(a person)" in by_kind.read_text("utf-8")
