"""Transformer models on disk: a kill in the middle of saving leaves the model that was there."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError

pytestmark = pytest.mark.needs("models")

LABELS = ["favor", "against"]
POSTS = pd.DataFrame({"text": ["indeed so", "nonsense"], "target": ["masks"] * 2, "label": LABELS})
KILLS = """
import os, pathlib, shutil, signal, sys, torch
from safetensors.torch import load
from covmis_build import storage
from covmis_build.models.checkpoints import save_encoder
from covmis_build.models.encoders import Encoder, EncoderModel

class Copied(torch.nn.Module):  # what was saved before stands for an encoder: transformers take seconds to import
    def save_pretrained(self, path):
        shutil.copytree(weights / "encoder", path, dirs_exist_ok=True)
        if place == "encoder":
            file = path / "model.safetensors"
            file.write_bytes(file.read_bytes()[:1000])
            die()

home = pathlib.Path(sys.argv[1])
(weights,) = (home / "new").glob("weights-*")
head = torch.nn.Linear(32, 2)
head.load_state_dict(load((weights / "head.safetensors").read_bytes()))
new = EncoderModel(Encoder(path="x", tokens=32, seed=2), ("favor", "against"), Copied(), Copied(), head)
die = lambda *words, **named: os.kill(os.getpid(), signal.SIGKILL)
for place in ("encoder", "head", "name", "old"):
    if not os.fork():
        if place == "head":
            storage.write_bytes = die
        elif place == "name":
            storage.write_text = die
        elif place == "old":
            storage.remove = lambda path: die() if path.name.startswith("weights") else None
        save_encoder(new, home / place)
        os._exit(0)
    print(os.WTERMSIG(os.wait()[1]))
"""


def model(tiny, seed):
    from covmis_build.models.encoders import Encoder, fresh

    return fresh(Encoder(path=tiny, tokens=32, seed=seed), LABELS)


def test_killed_while_saving_the_model_that_was_there_is_usable(tiny, tmp_path):
    """Killed for good while the encoder is half written, before the head, before the new one counts, and after."""
    from covmis_build.models.checkpoints import load_encoder, save_encoder

    old, new = model(tiny, 1), model(tiny, 2)
    for name in ("encoder", "head", "name", "old"):
        save_encoder(old, tmp_path / name)
    save_encoder(new, tmp_path / "new")
    before, after = old.probabilities(POSTS), new.probabilities(POSTS)
    assert not np.array_equal(before, after)
    words = [sys.executable, "-c", KILLS, str(tmp_path)]
    done = subprocess.run(
        words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["9"] * 4
    for name, expected in (("encoder", before), ("head", before), ("name", before), ("old", after)):
        assert np.array_equal(load_encoder(tmp_path / name).probabilities(POSTS), expected), name
        assert len(list(tmp_path.joinpath(name).iterdir())) > 2, name  # the kill left something behind
        save_encoder(new, tmp_path / name)
        assert np.array_equal(load_encoder(tmp_path / name).probabilities(POSTS), after), name
        assert len(list(tmp_path.joinpath(name).iterdir())) == 2, name


def test_what_is_damaged_is_named(tiny, tmp_path):
    from covmis_build.models.checkpoints import load_encoder, save_encoder

    whole = tmp_path / "m"
    save_encoder(model(tiny, 1), whole)
    described = json.loads((whole / "model.json").read_text())

    def change(**changes):
        (whole / "model.json").write_text(json.dumps({**described, **changes}))

    for changes in (
        {"format": 1},
        {"weights": "../m"},
        {"weights": 3},
        {"options": {"gpu": 1}},
        {"options": []},
        {"card": None},
    ):
        change(**changes)
        with pytest.raises(InputError, match="is of another format"):
            load_encoder(whole)
    for changes in ({"labels": ["one"]}, {"labels": 3}, {"weights": "weights-none"}):
        change(**changes)
        with pytest.raises(InputError, match="cannot be read as a model"):
            load_encoder(whole)
    change()
    (head,) = whole.glob("weights-*/head.safetensors")
    for damage in (b"", b"\xff" * 40, head.read_bytes()[:50]):
        head.write_bytes(damage)
        with pytest.raises(InputError, match="cannot be read as a model"):
            load_encoder(whole)
    for damage in ("", "[]", "{", "7"):
        (whole / "model.json").write_text(damage)
        with pytest.raises(InputError, match="is no transformer model"):
            load_encoder(whole)


def test_the_fingerprint_is_the_content(tiny, tmp_path):
    from covmis_build.models.checkpoints import fingerprint

    first = fingerprint(tiny)
    copy = shutil.copytree(tiny, tmp_path / "copy")
    assert fingerprint(str(copy)) == first
    (copy / "README.md").write_text("of no matter")
    assert fingerprint(str(copy)) == first
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert fingerprint(str(copy)) != first
    assert fingerprint("someone/a-model") == "hub:someone/a-model"


def test_more_tokens_than_the_model_reads_are_refused(tiny):
    from covmis_build.models.encoders import Encoder, fresh

    with pytest.raises(InputError, match="reads at most 64 tokens, not 65"):
        fresh(Encoder(path=tiny, tokens=65), LABELS)
