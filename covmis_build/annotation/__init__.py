"""Annotation rounds: freeze items, record labels, measure agreement, seal.

The public names of this room are those of `covmis_build`; they load when they are first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import covmis_build

if TYPE_CHECKING:
    from covmis_build.annotation.agreement import agreement

__all__ = ["agreement"]

sys.modules[__name__].__class__ = covmis_build.Room


def __getattr__(name: str) -> Any:
    return covmis_build.public(name, __name__)
