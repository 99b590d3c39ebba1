"""Annotation: rounds that are frozen when they open, labels that are only appended, agreement, and the seal."""

from covmis_build.annotation.adjudication import gold
from covmis_build.annotation.agreement import Agreement, agreement
from covmis_build.annotation.rounds import frozen_items, open_round

__all__ = ["Agreement", "agreement", "frozen_items", "gold", "open_round"]
