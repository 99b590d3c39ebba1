"""A model of inference as a baseline: a tiny one made here, since no hub can be reached."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli import app
from covmis_build.errors import CovmisError, InputError

pytestmark = pytest.mark.needs("models")

LABELS = ["favor", "against", "neither"]
MEANING = {"indeed": "entailment", "nonsense": "contradiction", "perhaps": "neutral"}
STANCE = {"indeed": "favor", "nonsense": "against", "perhaps": "neither"}
EXTRAS = ("so", "are", "masks", "bad", "so so", "are bad", "masks so", "bad bad")


def table(meanings=STANCE):
    return pd.DataFrame(
        [
            {"text": f"{word} {extra}", "target": "masks are bad", "label": label}
            for extra in EXTRAS
            for word, label in meanings.items()
        ]
    )


@pytest.fixture(scope="session")
def tiny_nli(tiny, tmp_path_factory):
    """The tiny BERT with a head that knows what the three words mean; its labels stand in an order of its own."""
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    folder, names = tmp_path_factory.mktemp("nli"), ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"]
    torch.manual_seed(1)
    model = BertForSequenceClassification.from_pretrained(
        tiny, id2label=dict(enumerate(names)), label2id={name: at for at, name in enumerate(names)}
    )
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    rows = table(MEANING)
    batch = tokenizer(rows["text"].tolist(), rows["target"].tolist(), padding=True, return_tensors="pt")
    gold = torch.tensor([names.index(label.upper()) for label in rows["label"]])
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(120):
        optimizer.zero_grad()
        model(**batch, labels=gold).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def nli(path, **changes):
    from covmis_build.models.nli import Nli

    return Nli(**{"path": path, "tokens": 32, **changes})


def test_zero_shot_is_what_the_model_says_under_our_names(tiny_nli):
    """The probabilities are those of transformers' own pipeline."""
    from transformers import pipeline

    from covmis_build.models.nli import train_nli

    rows = table()
    model = train_nli(rows, nli(tiny_nli), labels=LABELS)
    assert model.predict(rows) == rows["label"].tolist()
    theirs = pipeline("text-classification", model=tiny_nli, top_k=None, device="cpu")
    pairs = [
        {"text": text, "text_pair": claim} for text, claim in zip(rows["text"], rows["target"], strict=True)
    ]
    said = [{row["label"].casefold(): row["score"] for row in answer} for answer in theirs(pairs)]
    wanted = [[answer[name] for name in ("entailment", "contradiction", "neutral")] for answer in said]
    assert np.allclose(model.probabilities(rows), wanted, atol=1e-5)
    swapped = train_nli(rows, nli(tiny_nli, entailment="against", contradiction="favor"), labels=LABELS)
    assert np.array_equal(swapped.probabilities(rows)[:, [1, 0, 2]], model.probabilities(rows))
    two = train_nli(rows, nli(tiny_nli, contradiction="neither"), labels=["favor", "neither"])
    assert np.allclose(two.probabilities(rows).sum(axis=1), 1)


def test_a_few_rows_teach_what_its_labels_mean(tiny_nli):
    """Its contradiction is our favor here: zero-shot is wrong, two rows of each label are enough to see it."""
    from covmis_build.models.nli import drawn, train_nli

    turned = table({"indeed": "against", "nonsense": "favor", "perhaps": "neither"})
    few = nli(tiny_nli, shots=2)
    assert train_nli(turned, few, labels=LABELS).predict(turned) == turned["label"].tolist()
    rows = drawn(turned["label"].tolist(), few)
    assert turned["label"].iloc[rows].value_counts().to_dict() == dict.fromkeys(LABELS, 2)
    assert rows != drawn(turned["label"].tolist(), nli(tiny_nli, shots=2, seed=2))
    unseen = train_nli(turned[turned["label"] != "neither"], few, labels=LABELS).probabilities(turned)
    assert (unseen[:, 2] == 0).all()
    with pytest.raises(InputError, match="have one label"):
        train_nli(turned[turned["label"] == "favor"], few, labels=LABELS)


@pytest.mark.parametrize("shots", [0, 2])
def test_saved_models_predict_the_same(tiny_nli, tmp_path, shots):
    from covmis_build.models.nli import train_nli
    from covmis_build.models.stored import load, save

    model = train_nli(table(), nli(tiny_nli, shots=shots), labels=LABELS)
    save(model, model.options, tmp_path, {})
    again = load(tmp_path)
    assert np.array_equal(again.probabilities(table()), model.probabilities(table()))
    whole = json.loads((tmp_path / "model.json").read_text())
    for damage in ({"format": 9}, {"coefficients": "x"}, {"intercept": [0.0]}, {"options": {}}):
        (tmp_path / "model.json").write_text(json.dumps(whole | damage))
        with pytest.raises(InputError, match=r"another format|cannot be read as a model"):
            load(tmp_path)


def run(*words, fails=0):
    result = CliRunner().invoke(app, ["model", *words, "--json"])
    if isinstance(result.exception, CovmisError):
        assert result.exception.exit_code == fails
        return str(result.exception)
    assert result.exit_code == fails, result.output
    return json.loads(result.stdout)


def test_by_commands(tiny_nli, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("posts.csv", index=False)
    ours = ("--labels", ",".join(LABELS), "--set", f"path={tiny_nli}", "--set", "tokens=32")
    run("train", "posts.csv", "--model", "nli", "--out", "m", *ours)
    run("predict", "m", "posts.csv", "--out", "p.csv")
    assert pd.read_csv("p.csv", encoding="utf-8-sig")["prediction"].tolist() == table()["label"].tolist()
    zero = run("compare", "posts.csv", "--models", "majority,nli", "--schemes", "random", "--folds", "2", *ours,
               "--cells", "cells")  # fmt: skip
    assert '"nli"' in json.dumps(zero)
    told = run("compare", "posts.csv", "--models", "nli", "--schemes", "zero_shot", *ours, "--seeds", "3")
    assert json.dumps(told).count("1.0") > 0, "zero-shot needs nothing to learn from"
    few = (*ours, "--set", "shots=2")
    assert "no rows to train on" in run(
        "compare", "posts.csv", "--models", "nli", "--schemes", "zero_shot", *few, fails=2
    )
    run("compare", "posts.csv", "--ablate", "--model", "nli", "--schemes", "random", "--folds", "2", *ours)
    assert "is no model of inference" in run("train", "posts.csv", "--model", "nli", "--out", "n", "--set",
                                             f"path={tiny}", fails=2)  # fmt: skip
    assert "which is not in the label set" in run(
        "train", "posts.csv", "--model", "nli", "--out", "n", *ours, "--set", "neutral=unrelated", fails=2
    )
    assert "has no use for --dev" in run(
        "train", "posts.csv", "--model", "nli", "--out", "n", *ours, "--dev", "posts.csv", fails=2
    )
