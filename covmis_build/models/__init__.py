"""Stance models: majority, linear models and prompts with the core alone; transformers with the extra `models`.

A model is trained on a table with `text`, `label` and, for pairs, `target`; it predicts for a table without `label`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.models.ablating import ablations
    from covmis_build.models.alike import bertscore, two_step
    from covmis_build.models.cells import Setting
    from covmis_build.models.checkpoints import load_encoder, save_encoder
    from covmis_build.models.encoders import Encoder, EncoderModel
    from covmis_build.models.linear import PRESETS, Linear, Model, choose, train
    from covmis_build.models.prompt import agreement_with_people, read_answers, requests
    from covmis_build.models.sequence import Step, train_steps
    from covmis_build.models.storing import load, save
    from covmis_build.models.table import Compared, grid
    from covmis_build.models.training import train_encoder
    from covmis_build.models.twostep import (
        BertScore,
        BertScoreModel,
        load_bertscore,
        save_bertscore,
        train_bertscore,
    )

_HOMES = {
    "BertScore": "twostep",
    "BertScoreModel": "twostep",
    "Compared": "table",
    "Encoder": "encoders",
    "EncoderModel": "encoders",
    "bertscore": "alike",
    "load_bertscore": "twostep",
    "load_encoder": "checkpoints",
    "save_bertscore": "twostep",
    "train_bertscore": "twostep",
    "save_encoder": "checkpoints",
    "train_encoder": "training",
    "two_step": "alike",
    "PRESETS": "linear",
    "Linear": "linear",
    "Model": "linear",
    "Setting": "cells",
    "Step": "sequence",
    "ablations": "ablating",
    "agreement_with_people": "prompt",
    "choose": "linear",
    "grid": "table",
    "load": "storing",
    "read_answers": "prompt",
    "requests": "prompt",
    "save": "storing",
    "train": "linear",
    "train_steps": "sequence",
}

__all__ = [
    "PRESETS",
    "BertScore",
    "BertScoreModel",
    "Compared",
    "Encoder",
    "EncoderModel",
    "Linear",
    "Model",
    "Setting",
    "Step",
    "ablations",
    "agreement_with_people",
    "bertscore",
    "choose",
    "grid",
    "load",
    "load_bertscore",
    "load_encoder",
    "read_answers",
    "requests",
    "save",
    "save_bertscore",
    "save_encoder",
    "train",
    "train_bertscore",
    "train_encoder",
    "train_steps",
    "two_step",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
