"""BERTScore as a model, alone and before a Sentence-BERT: from the command line to scores."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli import evaluate
from covmis_build.cli.model import app
from covmis_build.errors import InputError

pytestmark = pytest.mark.needs("models")

LABELS = ["against", "favor", "neither"]
ROWS = [
    ("masks are bad indeed", "favor"),
    ("masks are bad nonsense", "against"),
    ("perhaps so so so", "neither"),
    ("so are masks indeed", "favor"),
    ("nonsense masks so bad", "against"),
    ("so perhaps so", "neither"),
    ("indeed", "favor"),
    ("", "neither"),
]
POSTS = pd.DataFrame(
    [
        {
            "post_id": str(at), "text": text, "claim": "masks are bad", "label": label,
            "split": "test" if at % 3 else "train", "time": f"2020-01-{at + 1:02}T00:00:00Z",
        }
        for at, (text, label) in enumerate(ROWS * 3)
    ]
)  # fmt: skip


@pytest.fixture
def asked(tiny, tmp_path, monkeypatch):
    """Run `covmis model`; a trained model's settings are the tiny ones."""
    monkeypatch.chdir(tmp_path)
    POSTS.to_csv("posts.csv", index=False)

    def run(command, *words, path=tiny, tool=app):
        settings = ["--set", f"path={path}", "--set", "tokens=32"] if command in {"train", "compare"} else []
        result = CliRunner().invoke(tool, [command, *words, *settings], catch_exceptions=False)
        assert result.exit_code == 0
        return json.loads(result.stdout.splitlines()[-1]) if "--json" in words else result.stdout

    return run


def likeness(tiny):
    from covmis_build.models.bertscore import bertscore
    from covmis_build.models.encoders import pretrained

    pairs = list(zip(POSTS["claim"], POSTS["text"], strict=True))
    return bertscore(pairs, *pretrained(tiny), tokens=32)[:, 2]


def between(tiny):
    """A threshold with rows on either side of it, and no row near it."""
    scores = np.unique(likeness(tiny).round(6))
    at = int(np.argmax(np.diff(scores)[1:-1])) + 1
    return float((scores[at] + scores[at + 1]) / 2)


TWO = ["--set", "epochs=4", "--set", "learning_rate=0.003", "--set", "unrelated=neither"]


def test_two_steps_are_bertscore_and_then_the_sentence_bert(asked, tiny):
    """Trained, read back, predicted, and scored: what the two steps say when they are taken by hand."""
    threshold = between(tiny)
    chosen = [*TWO, "--set", f"threshold={threshold}"]
    made = asked("train", "posts.csv", "--model", "bertscore-sbert", *chosen, "--out", "two", "--json")
    assert made["options"]["threshold"] == pytest.approx(threshold)
    assert made["options"]["second"]["kind"] == "sentence-bert"
    assert made["losses"][-1] < made["losses"][0]
    asked("train", "posts.csv", "--model", "sentence-bert", *TWO[:4], "--out", "one")
    for name in ("one", "two"):
        asked("predict", name, "posts.csv", "--out", f"{name}.csv")
    one, two = (pd.read_csv(f"{name}.csv", dtype={"post_id": str}) for name in ("one", "two"))
    scores = likeness(tiny)
    assert two["bertscore"].to_numpy() == pytest.approx(scores, abs=1e-6)
    by_hand = np.where(scores < threshold, "neither", one["prediction"]).tolist()
    assert two["prediction"].tolist() == by_hand
    below = scores < threshold
    assert 0 < below.sum() < len(POSTS)
    assert (two["prediction"] != one["prediction"]).any()
    assert two["p_neither"][below].eq(1).all()
    chances = [f"p_{label}" for label in LABELS]
    assert two.loc[~below, chances].to_numpy() == pytest.approx(one.loc[~below, chances].to_numpy(), abs=2e-6)
    told = {row["label"]: row for row in made["bertscore"]}
    assert told["neither"]["below"] == int((below & POSTS["label"].eq("neither")).sum())
    assert sum(row["below"] for row in told.values()) == below.sum()
    scored = asked("score", "posts.csv", "two.csv", "--measures", "accuracy", "--json", tool=evaluate.app)
    right = float(np.mean(np.array(by_hand) == POSTS["label"]))
    assert scored["scores"][0]["value"] == pytest.approx(right)
    asked("predict", "two", "posts.csv", "--out", "again.csv", "--errors", "errors.html")
    assert pd.read_csv("again.csv", dtype={"post_id": str}).equals(two)


def test_bertscore_alone_says_the_most_frequent_label_of_related_posts(asked, tiny):
    threshold = between(tiny)
    words = ["--model", "bertscore", "--set", "unrelated=neither", "--out", "alone"]
    shown = asked("train", "posts.csv", *words, "--set", f"threshold={threshold}")
    assert "below threshold" in shown
    assert "epoch" not in shown
    asked("predict", "alone", "posts.csv", "--out", "alone.csv")
    found = pd.read_csv("alone.csv")
    assert found["prediction"].tolist() == [
        "favor" if one else "neither" for one in likeness(tiny) >= threshold
    ]
    related = found[found["prediction"] == "favor"]
    assert related[["p_against", "p_favor"]].iloc[0].tolist() == pytest.approx([0.4, 0.6], abs=1e-6)
    made = asked("train", "posts.csv", *words, "--json")
    assert made["options"]["threshold"] == 0.4


def test_both_have_rows_in_the_table(asked, tiny, monkeypatch):
    """The second step is the Sentence-BERT's own training: with --cells it is trained once."""
    from covmis_build.models import training

    seen = []
    real = training._begin
    monkeypatch.setattr(training, "_begin", lambda *words: seen.append(words[0].seed) or real(*words))
    names = ["majority", "bow", "sentence-bert", "bertscore-sbert", "bertscore"]
    words = ["compare", "posts.csv", "--models", ",".join(names), "--schemes", "given", "--seeds", "2", *TWO]
    words += ["--cells", "cells", "--json"]
    found = asked(*words, "--set", f"threshold={between(tiny)}")
    assert {row["model"]: row["runs"] for row in found["cells"]} == {
        "majority": 1, "bow": 1, "sentence-bert": 2, "bertscore-sbert": 2, "bertscore": 1,
    }  # fmt: skip
    assert sorted(seen) == [1, 2]
    assert asked(*words, "--set", f"threshold={between(tiny)}") == found
    nothing = {row["model"]: row for row in asked(*words, "--set", "threshold=0")["cells"]}
    assert nothing["bertscore-sbert"]["accuracy"] == pytest.approx(nothing["sentence-bert"]["accuracy"])
    assert sorted(seen) == [1, 2]


def test_an_ablation_takes_each_step_away(asked):
    words = [
        "--model",
        "bertscore-sbert",
        "--schemes",
        "given",
        "--seeds",
        "1",
        *TWO,
        "--cells",
        "cells",
        "--json",
    ]
    found = [row["model"] for row in asked("compare", "posts.csv", "--ablate", *words)["cells"]]
    assert found == [
        "as it is",
        "threshold 0.3",
        "threshold 0.5",
        "without BERTScore",
        "without Sentence-BERT",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "bertscore-sbert"], "--set unrelated=LABEL"),
        (["--model", "bertscore", "--set", "unrelated=neutral"], "'neutral', is not in the label set"),
        (["--model", "bertscore", "--set", "unrelated=neither", "--set", "threshold=1.1"], "from 0 to 1"),
        (["--model", "bertscore", "--set", "unrelated=neither", "--set", "threshold=nan"], "at least 0"),
        (["--model", "bertscore", "--set", "epochs=2"], "a bertscore model has no setting 'epochs'"),
        (["--model", "sentence-bert", "--set", "threshold=0.5"], "has no setting 'threshold'"),
        (["--model", "bertscore", "--before", "posts.csv"], "--before is for transformer models"),
        (["--model", "bertscore", "--dev", "posts.csv"], "has no use for --dev"),
    ],
)
def test_what_is_asked_wrongly_is_named_and_nothing_is_written(asked, tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        asked("train", "posts.csv", "--out", "m", *words)
    assert not (tmp_path / "m").exists()


def test_a_table_checks_the_label_of_unrelated_posts_first(asked, monkeypatch):
    from covmis_build.models import training_cell as cells

    monkeypatch.setattr(cells, "train_bertscore", None)
    with pytest.raises(InputError, match="'neutral', is not in the label set"):
        asked("compare", "posts.csv", "--models", "bertscore", "--set", "unrelated=neutral")


def test_rows_that_cannot_be_learned_from_and_damaged_models_are_named(asked, tmp_path):
    words = ["--model", "bertscore", "--set", "unrelated=neither", "--out", "m"]
    POSTS.assign(label="neither").to_csv("none.csv", index=False)
    with pytest.raises(InputError, match="all rows to learn from have the label 'neither'"):
        asked("train", "none.csv", "--labels", "favor,neither", *words)
    POSTS.drop(columns="claim").to_csv("none.csv", index=False)
    with pytest.raises(InputError, match="has no column target"):
        asked("train", "none.csv", *words)
    assert not (tmp_path / "m").exists()
    asked("train", "posts.csv", *words)
    whole = json.loads((tmp_path / "m/model.json").read_text())
    for changes, message in (
        ({"format": 9}, "is of another format"),
        ({"shares": [1]}, "is of another format"),
        ({"options": {"gpu": 1, "second": None}}, "cannot be read as a model"),
        ({"labels": ["a"]}, "cannot be read as a model"),
        ({"weights": "weights-none"}, "cannot be read"),
    ):
        (tmp_path / "m/model.json").write_text(json.dumps({**whole, **changes}))
        with pytest.raises(InputError, match=message):
            asked("predict", "m", "posts.csv", "--out", "p.csv")
    asked("train", "posts.csv", *words, "--set", "threshold=0.9")
    assert len(list((tmp_path / "m").iterdir())) == 2
