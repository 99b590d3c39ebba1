"""Save and load trained models of any kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from covmis_build.models import linear_checkpoints
from covmis_build.models.checkpoints import load_encoder, save_encoder
from covmis_build.models.encoders import Encoder, EncoderModel
from covmis_build.models.folder import read_description
from covmis_build.models.linear import Model
from covmis_build.models.nli import NliModel, load_nli, save_nli
from covmis_build.models.twostep import BertScore, BertScoreModel, load_bertscore, save_bertscore

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.models.options import Options

StanceModel = Model | EncoderModel | BertScoreModel | NliModel


def save(model: StanceModel, options: Options, folder: Path, card: dict[str, Any]) -> None:
    """Write a model with the requested options; those of a step may have been changed."""
    if isinstance(model, EncoderModel) and isinstance(options, Encoder):
        save_encoder(replace(model, options=options), folder, card)
    elif isinstance(model, BertScoreModel) and isinstance(options, BertScore):
        save_bertscore(replace(model, options=options), folder, card)
    elif isinstance(model, NliModel):
        save_nli(model, folder, card)
    elif isinstance(model, Model):
        linear_checkpoints.save(model, folder, card)


def load(folder: Path) -> StanceModel:
    """Load the model in this folder."""
    described = read_description(folder)
    if described.get("bertscore"):
        return load_bertscore(folder)
    if described.get("nli"):
        return load_nli(folder)
    return load_encoder(folder) if described.get("encoder") else linear_checkpoints.load(folder)
