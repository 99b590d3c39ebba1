"""Stance models: majority, linear models and prompts with the core alone; transformers with the extra `models`.

A model is trained on a table with `text`, `label` and, for pairs, `target`; it predicts for a table without `label`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.models.alike import bertscore, two_step
    from covmis_build.models.encoders import Encoder, EncoderModel, load_encoder, save_encoder
    from covmis_build.models.linear import PRESETS, Linear, Model, choose, train
    from covmis_build.models.prompt import agreement_with_people, read_answers, requests
    from covmis_build.models.storing import load, save
    from covmis_build.models.table import ablations, grid
    from covmis_build.models.training import train_encoder

_HOMES = {
    "Encoder": "encoders",
    "EncoderModel": "encoders",
    "bertscore": "alike",
    "load_encoder": "encoders",
    "save_encoder": "encoders",
    "train_encoder": "training",
    "two_step": "alike",
    "PRESETS": "linear",
    "Linear": "linear",
    "Model": "linear",
    "ablations": "table",
    "agreement_with_people": "prompt",
    "choose": "linear",
    "grid": "table",
    "load": "storing",
    "read_answers": "prompt",
    "requests": "prompt",
    "save": "storing",
    "train": "linear",
}

__all__ = [
    "PRESETS",
    "Encoder",
    "EncoderModel",
    "Linear",
    "Model",
    "ablations",
    "agreement_with_people",
    "bertscore",
    "choose",
    "grid",
    "load",
    "load_encoder",
    "read_answers",
    "requests",
    "save",
    "save_encoder",
    "train",
    "train_encoder",
    "two_step",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
