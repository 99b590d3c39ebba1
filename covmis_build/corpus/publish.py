"""Everything that stands in data/release: the corpus in three formats, card, methods, statistics, metadata, checksums."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.corpus import card, convert, croissant, pages
from covmis_build.corpus.methods import methods
from covmis_build.corpus.statistics import statistics

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from covmis_build.corpus.facts import Facts
    from covmis_build.corpus.statistics import Statistics

CHECKSUMS = "checksums.txt"
HUGGING_FACE = "huggingface"
BUNDLE = "bundle.zip"


def write_release(
    folder: Path, corpus: pd.DataFrame, facts: Facts, texts: pd.Series[Any] | None = None
) -> Statistics:
    """Write a whole release and return its statistics.

    `texts` (by item_id) are counted for the lengths, and written only if `facts.release.text` says so and the corpus
    holds them. Checksums go first and come back last: a folder without them is not a finished release. A bundle of an
    earlier release goes too; `add_bundle` adds a new one.
    """
    text = facts.release.text
    numbers = statistics(corpus, facts.labels.values, texts, design=facts.sampling.design)
    for name in (CHECKSUMS, BUNDLE):
        (folder / name).unlink(missing_ok=True)
    for name in convert.FORMATS:
        convert.write_corpus(folder / f"corpus.{name}", corpus, text=text)
    told = card.markdown_card(facts, numbers)
    storage.write_text(folder / "card.md", told)
    storage.write_text(folder / "card.html", card.html_card(facts, numbers))
    storage.write_text(folder / "methods.md", methods(facts, numbers))
    storage.write_text(folder / "statistics.html", pages.statistics_html(facts, numbers))
    storage.write_text(folder / "statistics.tex", pages.statistics_latex(facts, numbers))
    storage.write_text(folder / "statistics.json", _json({"title": facts.title, **numbers.to_dict()}))
    files = {name: _described(folder / name) for name in croissant.ENCODINGS}
    storage.write_text(
        folder / "croissant.json", croissant.croissant(facts, card.lead(facts, numbers), files)
    )
    header = croissant.hugging_face_header(facts, numbers)
    storage.write_text(folder / HUGGING_FACE / "README.md", header + told)
    convert.write_corpus(folder / HUGGING_FACE / "corpus.parquet", corpus, text=text)
    storage.write_text(folder / CHECKSUMS, checksums(folder))
    return numbers


def add_bundle(folder: Path, bundle: bytes) -> Path:
    """Put a bundle into a finished release."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    storage.write_bytes(folder / BUNDLE, bundle)
    storage.write_text(folder / CHECKSUMS, checksums(folder))
    return folder / BUNDLE


RELEASED = (
    *(f"corpus.{name}" for name in convert.FORMATS),
    "card.md",
    "card.html",
    "methods.md",
    "statistics.html",
    "statistics.tex",
    "statistics.json",
    "croissant.json",
    f"{HUGGING_FACE}/README.md",
    f"{HUGGING_FACE}/corpus.parquet",
)
"""The files of a release, checksums and bundle apart."""


def checksums(folder: Path) -> str:
    """The released files as `sha256sum` writes and checks them."""
    names = sorted([*RELEASED, *([BUNDLE] if (folder / BUNDLE).exists() else [])])
    return "".join(f"{_described(folder / name)[0]}  {name}\n" for name in names)


def _described(path: Path) -> tuple[str, int]:
    data = path.read_bytes()
    return hashlib.sha256(data).hexdigest(), len(data)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
