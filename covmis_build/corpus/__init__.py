"""The corpus as something to publish: made from gold and frozen items, counted, described, checked, rebuilt."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.corpus.convert import read_corpus, write_corpus
    from covmis_build.corpus.publish import write_release
    from covmis_build.corpus.release import make_corpus, mask_mentions

__all__ = ["make_corpus", "mask_mentions", "read_corpus", "write_corpus", "write_release"]

_HOMES = {
    "make_corpus": "release", "mask_mentions": "release", "read_corpus": "convert", "write_corpus": "convert",
    "write_release": "publish",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(module, name)
