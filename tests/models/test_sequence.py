"""Training on several datasets in a row: each begins with the weights of the one before, to the bit."""

import json

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.models.sequence import Step, labels_of, mapped, train_steps

pytestmark = pytest.mark.needs("models")

LABELS = ["favor", "against", "neither"]
WORDS = (("indeed", "favor"), ("nonsense", "against"), ("perhaps", "neither"))
TARGET = pd.DataFrame(
    [
        {"text": f"{word} {extra}", "target": "masks are bad", "label": label}
        for extra in ("so", "are", "masks", "bad")
        for word, label in WORDS
    ]
)
NLI = TARGET.assign(
    label=TARGET["label"].map(dict(zip(LABELS, ("entailment", "contradiction", "neutral"), strict=True)))
)
MAP = {"entailment": "favor", "contradiction": "against", "neutral": "neither"}
RUMOURS = mapped(
    TARGET.assign(label=["support", "deny", "query", "comment"] * 3),
    {"support": "favor", "deny": "against", "query": "neither", "comment": "neither"},
)


def options(tiny, **changes):
    from covmis_build.models.encoders import Encoder

    return Encoder(**{"path": tiny, "learning_rate": 3e-3, "epochs": 2, "tokens": 32, **changes})


def weights(model):
    from covmis_build.models.checkpoints import digest

    return digest(model)


@pytest.fixture
def begun(monkeypatch):
    """The numbers that each training begins with."""
    from covmis_build.models import training

    seen = []
    real = training._begin

    def begin(*words):
        model = real(*words)
        seen.append({name: one.clone() for name, one in model.encoder.state_dict().items()})
        seen[-1] |= {f"head.{name}": one.clone() for name, one in model.head.state_dict().items()}
        return model

    monkeypatch.setattr(training, "_begin", begin)
    return seen


@pytest.mark.parametrize("on_disk", [False, True])
def test_each_step_begins_with_the_weights_of_the_one_before(tiny, begun, on_disk, tmp_path):
    import torch

    from covmis_build.models.training import train_encoder

    steps = [Step("nli", mapped(NLI, MAP)), Step("rumours", RUMOURS), Step("target", TARGET)]
    found = train_steps(steps, options(tiny), labels=LABELS, folder=tmp_path if on_disk else None)
    assert len(begun) == 3
    first = train_encoder(steps[0].frame, options(tiny), labels=LABELS).model
    ended = {
        **first.encoder.state_dict(),
        **{f"head.{name}": one for name, one in first.head.state_dict().items()},
    }
    assert set(ended) == set(begun[1])
    assert all(torch.equal(ended[name], begun[1][name]) for name in ended)
    assert [one["head"] for one in found.steps] == ["new", "kept", "kept"]
    assert [one["data"] for one in found.steps] == ["nli", "rumours", "target"]
    assert all(len(one["losses"]) == 2 for one in found.steps)


def test_the_head_is_renewed_where_the_labels_are_others(tiny, begun):
    import torch

    from covmis_build.models.encoders import fresh_head

    found = train_steps([Step("nli", NLI), Step("target", TARGET)], options(tiny), labels=LABELS)
    assert [one["head"] for one in found.steps] == ["new", "renewed"]
    assert [one["labels"] for one in found.steps] == [["contradiction", "entailment", "neutral"], LABELS]
    assert torch.equal(begun[1]["head.weight"], fresh_head(1, 32, 3).weight)
    assert found.model.labels == tuple(LABELS)


def test_stopped_in_the_second_step_it_ends_like_one_that_was_not(tiny, begun, tmp_path):
    steps = [Step("nli", mapped(NLI, MAP)), Step("target", TARGET, TARGET)]
    chosen = options(tiny, patience=2)
    whole = train_steps(steps, chosen, labels=LABELS)
    begun.clear()

    class Stop(Exception):
        pass

    def stop(step, done, total):
        if step == "epochs" and done == 1 and len(begun) == 2:
            raise Stop

    with pytest.raises(Stop):
        train_steps(steps, chosen, labels=LABELS, folder=tmp_path, progress=stop)
    begun.clear()
    after = train_steps(steps, chosen, labels=LABELS, folder=tmp_path)
    assert len(begun) == 1  # the first step was not trained again
    assert weights(after.model) == weights(whole.model)
    assert [one["losses"] for one in after.steps] == [one["losses"] for one in whole.steps]
    assert not list(tmp_path.glob("*/training.pt"))


def test_the_same_steps_before_other_data_are_found_again(tiny, begun, tmp_path):
    nli = Step("nli", mapped(NLI, MAP))
    train_steps([nli, Step("target", TARGET)], options(tiny), labels=LABELS, folder=tmp_path)
    train_steps([nli, Step("other", RUMOURS)], options(tiny), labels=LABELS, folder=tmp_path)
    assert len(begun) == 3
    train_steps([nli], options(tiny, seed=2), labels=LABELS, folder=tmp_path)
    assert len(begun) == 4


def test_label_sets_of_steps():
    assert labels_of(Step("a", TARGET[:2]), LABELS) == tuple(LABELS)
    assert labels_of(Step("a", NLI), LABELS) == ("contradiction", "entailment", "neutral")
    with pytest.raises(InputError, match=r"a has the label 'favour' beside others .* Did you mean 'favor'"):
        labels_of(Step("a", TARGET.replace("favor", "favour")), LABELS)
    with pytest.raises(InputError, match="a has no labelled rows"):
        labels_of(Step("a", TARGET[:0]), LABELS)


def test_the_last_step_must_have_the_labels(tiny):
    with pytest.raises(
        InputError, match=r"nli has none of the labels favor, against, neither\. Map its labels"
    ):
        train_steps([Step("nli", NLI)], options(tiny), labels=LABELS)
    with pytest.raises(InputError, match="nothing to train on"):
        train_steps([], options(tiny), labels=LABELS)


def test_the_command_trains_step_by_step_and_tells_them(tiny, tmp_path):
    from typer.testing import CliRunner

    from covmis_build.cli.model import app
    from covmis_build.models.checkpoints import load_encoder

    for name, frame in (("mnli", NLI), ("target", TARGET)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    words = [
        "train",
        "target.csv",
        "--model",
        "cross-encoder",
        "--before",
        "mnli.csv",
        "--out",
        "m",
        "--json",
    ]
    words += [
        "--set",
        f"path={tiny}",
        "--set",
        "epochs=2",
        "--set",
        "learning_rate=0.003",
        "--set",
        "tokens=32",
    ]
    words += ["--labels", ",".join(LABELS)]
    for old, new in MAP.items():
        words += ["--map", f"{old}={new}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = CliRunner().invoke(app, words, catch_exceptions=False)
    told = json.loads(result.stdout.splitlines()[-1])
    assert [(one["data"], one["rows"], one["head"]) for one in told["steps"]] == [
        ("mnli", 12, "new"),
        ("target", 12, "kept"),
    ]
    model = load_encoder(tmp_path / "m")
    steps = [Step("mnli", mapped(NLI, MAP)), Step("target", TARGET)]
    expected = train_steps(steps, options(tiny), labels=LABELS).model
    assert np.array_equal(model.probabilities(TARGET), expected.probabilities(TARGET))
    card = json.loads((tmp_path / "m" / "model.json").read_text())["card"]
    assert [one["data"] for one in card["steps"]] == ["mnli", "target"]
    assert all(len(one["sha256"]) == 16 for one in card["steps"])
    assert sorted(one.name.split("-")[0] for one in (tmp_path / "m").iterdir()) == ["model.json", "weights"]
