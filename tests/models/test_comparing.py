"""Tables of transformers: seeds, datasets before, and a grid that was killed."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli.model import app
from covmis_build.errors import InputError
from covmis_build.models import training_cell as module

pytestmark = pytest.mark.needs("models")

WORDS = (("indeed", "favor"), ("nonsense", "against"), ("perhaps", "neither"))
POSTS = pd.DataFrame(
    [
        {
            "id": f"{day}{word}", "text": f"{word} {extra}", "target": "masks are bad", "label": label,
            "kind": "title" if day % 2 else "keywords", "time": f"2020-01-{day:02}T00:00:00Z", "claim_id": str(day % 2),
        }
        for day, extra in enumerate(("so", "are", "masks", "bad", "so so", "are bad", "masks so", "bad bad"), 1)
        for word, label in WORDS
    ]
)  # fmt: skip


@pytest.fixture
def asked(tiny, tmp_path, monkeypatch):
    """Run `covmis model` on files in a folder of their own; returns what it tells as JSON."""
    monkeypatch.chdir(tmp_path)
    POSTS.to_csv("posts.csv", index=False)
    labels = {"favor": "entailment", "against": "contradiction", "neither": "neutral"}
    POSTS.replace({"label": labels}).to_csv("nli.csv", index=False)

    def run(command, *words):
        result = CliRunner().invoke(
            app, [command, "posts.csv", *settings(tiny), *words], catch_exceptions=False
        )
        assert result.exit_code == 0
        return json.loads(result.stdout.splitlines()[-1]) if "--json" in words else result.stdout

    return run


def settings(tiny):
    made = []
    for one in (f"path={tiny}", "epochs=1", "learning_rate=0.003", "tokens=32"):
        made += ["--set", one]
    return made


MAP = ["--map", "entailment=favor", "--map", "contradiction=against", "--map", "neutral=neither"]


@pytest.fixture
def trained(monkeypatch):
    """The runs that were trained."""
    from covmis_build.models import training

    seen = []
    real = training._begin
    monkeypatch.setattr(training, "_begin", lambda *words: seen.append(words[0].seed) or real(*words))
    return seen


def test_a_table_with_seeds_folds_and_tests(asked, trained):
    """Mu et al.'s Table 4: five runs on each division, and Welch's test between them."""
    words = [
        "--models",
        "majority,sentence-bert",
        "--schemes",
        "random,chronological",
        "--folds",
        "3",
        "--seeds",
        "3",
    ]
    told = asked("compare", *words, "--json")
    rows = {(row["model"], row["scheme"]): row for row in told["cells"]}
    assert rows["sentence-bert", "random"]["runs"] == rows["sentence-bert", "chronological"]["runs"] == 3
    assert rows["majority", "chronological"]["runs"] == 1
    assert rows["sentence-bert", "random"]["items"] == 24
    assert sorted(trained) == [1, 1, 2, 2, 3, 3]
    tests = {(row["model"], row["measure"]): row for row in told["tests"]}
    found = tests["sentence-bert", "macro_f1"]
    assert (found["first"], found["second"]) == ("random", "chronological")
    assert found["p"] is None or 0 <= found["p"] <= 1
    assert tests["majority", "accuracy"]["p"] is None
    assert "No t-test where a side has one run" in asked("compare", *words)


def test_an_ablation_of_datasets_trains_each_first_step_once(asked, trained):
    """Table 14 on data that the model learns nothing from, and Table 12's columns."""
    told = asked(
        "compare", "--ablate", "--model", "cross-encoder", "--before", "nli.csv", *MAP, "--schemes", "zero_shot", "--seeds", "2",
        "--cells", "cells", "--by", "kind", "--by-label", "--json",
    )  # fmt: skip
    names = ["as it is", "claim first", "without class weights", "without warm-up", "sentence-bert"]
    assert [row["model"] for row in told["cells"]] == names
    assert [row["runs"] for row in told["cells"]] == [2] * 5
    assert len(trained) == 5 * 2
    assert {row["first"] for row in told["tests"]} == {"as it is"}
    assert {row["label"] for row in told["labels"]} == {"favor", "against", "neither"}
    assert {row["group"] for row in told["groups"]} == {"title", "keywords"}
    words = asked("compare", "--ablate", "--model", "cross-encoder", "--before", "nli.csv", *MAP, "--cells", "cells", "--seeds", "2",
                  "--schemes", "zero_shot", "--by-label")  # fmt: skip
    assert "favor P" in words
    assert "±" in words
    assert len(trained) == 5 * 2  # all remembered


def test_settings_go_to_the_models_that_know_them(asked):
    told = asked("compare", "--models", "bow,cross-encoder", "--set", "C=10", "--schemes", "stratified_chronological",
                 "--seeds", "1", "--json")  # fmt: skip
    assert [row["model"] for row in told["cells"]] == ["bow", "cross-encoder"]
    with pytest.raises(InputError, match=r"no model here has a setting 'epoch'\. Did you mean 'epochs'"):
        asked("compare", "--models", "bow,cross-encoder", "--set", "epoch=10")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--map", "a=b"], "--map maps the labels of --before"),
        (["--before", "nli.csv", "--map", "a"], "--map a: write OLD=NEW"),
        (["--before", "nli.csv", "--map", "no=favor"], "no row has the label 'no'"),
        (
            ["--before", "nli.csv", "--map", "neutral=favor", "--map", "neutral=against"],
            "names 'neutral' twice",
        ),
        (
            ["--before", "nli.csv", "--map", "neutral=neither"],
            "nli has the label 'contradiction' beside others",
        ),
        (["--before", "none.csv"], "none.csv: is missing"),
        (["--models", ""], "names no model"),
        (["--measures", "f_avg"], "f_avg needs poles"),
    ],
)
def test_what_is_asked_wrongly_is_named_before_anything_is_trained(asked, trained, words, message):
    with pytest.raises(InputError, match=message):
        asked("compare", "--models", "cross-encoder", "--schemes", "zero_shot", *words)
    assert not trained


def test_a_cell_without_rows_to_learn_from_needs_data_before(asked, trained):
    with pytest.raises(InputError, match="zero_shot leaves no rows to train on"):
        asked("compare", "--models", "cross-encoder", "--schemes", "zero_shot")
    assert not trained
    assert module.VERSION == 3
