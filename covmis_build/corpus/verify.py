"""Checks of a release or a bundle that somebody else has made: that it is whole, unchanged, and right within."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.corpus.bundle import EMPTY_TEXTS, read_bundle
from covmis_build.corpus.convert import FORMATS, read_corpus
from covmis_build.corpus.publish import CHECKSUMS
from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer; `detail` says what is wrong, or how much was looked at."""

    what: str
    passed: bool
    detail: str = ""


def check_release(folder: Path) -> list[Check]:
    """The files against checksums.txt, the corpus in its formats against each other, and its rows."""
    path = folder / CHECKSUMS
    if not path.is_file():
        raise InputError(
            "is no finished release: checksums.txt is missing", file=folder, remedy="Run `covmis release`"
        )
    listed = _listed(path)
    wrong = [name for name, digest in listed.items() if _digest(folder / name) != digest]
    extra = sorted(
        found
        for one in folder.rglob("*")
        if one.is_file() and (found := one.relative_to(folder).as_posix()) not in {*listed, CHECKSUMS}
    )
    checks = [
        Check("files are as they were released", not wrong, _names(wrong) or f"{len(listed)} files"),
        Check("nothing else lies beside them", not extra, _names(extra)),
    ]
    corpora = {}
    for name in FORMATS:
        try:
            corpora[name] = read_corpus(folder / f"corpus.{name}")
        except CovmisError as error:
            checks.append(Check(f"corpus.{name} can be read", passed=False, detail=str(error)))
    differ = [name for name, one in corpora.items() if not one.equals(next(iter(corpora.values())))]
    checks.append(Check("the formats hold the same rows", not differ, _names(differ)))
    return checks + (check_corpus(next(iter(corpora.values()))) if corpora else [])


def check_corpus(corpus: pd.DataFrame) -> list[Check]:
    """The rows: keys, probabilities and weights."""
    chance = corpus["p_claim"] * corpus["p_sample"]
    rows = {
        "every item once": corpus["item_id"].duplicated(),
        "item_id is claim and post": corpus["item_id"] != corpus["claim_id"] + "|" + corpus["post_id"],
        "probabilities lie above 0 and at most 1": ~((chance > 0) & (chance <= 1)),
        "weights are 1/(p_claim·p_sample)": ~((corpus["weight"] * chance - 1).abs() <= TOLERANCE),
        "every row has a label and says how it came about": (corpus["label"].fillna("") == "")
        | (corpus["how"].fillna("") == ""),
        "group sizes count at least the post itself": ~(corpus["group_size"] >= 1),
    }
    return [
        Check(
            what,
            not wrong.any(),
            _names(corpus.loc[wrong.astype(bool), "item_id"].tolist()) or f"{len(corpus):,} rows",
        )
        for what, wrong in rows.items()
    ]


def check_bundle(path: Path) -> list[Check]:
    """The files against the manifest, no post's text anywhere, and the corpus against the frozen rounds."""
    manifest, files = read_bundle(path)
    known: dict[str, str] = manifest["files"]
    wrong = [name for name, data in files.items() if hashlib.sha256(data).hexdigest() != known.get(name)]
    missing = sorted(set(known) - set(files))
    checks = [
        Check(
            "files are as they were bundled",
            not wrong + missing,
            _names([*wrong, *missing]) or f"{len(files)} files",
        )
    ]
    if wrong or missing:
        return checks
    items, texts = _frozen(files)
    checks.append(Check("rounds hold no text of a post", not texts, _names(texts)))
    corpus = _corpus(files)
    if corpus is None:
        return [*checks, Check("the corpus is there", passed=False, detail="data/release/corpus.parquet")]
    strangers = sorted(set(corpus["item_id"]) - set(items))
    leaked = corpus["text"].notna().any()
    back = sorted(set(corpus["post_id"]) & set(manifest.get("purged", [])))
    return [
        *checks,
        Check("the corpus holds no text", not leaked),
        Check("every row of the corpus was frozen in a round", not strangers, _names(strangers)),
        Check("no purged post is in the corpus", not back, _names(back)),
        *check_corpus(corpus),
    ]


def _frozen(files: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """All frozen items' ids, and the rounds in which some text is left."""
    import pyarrow.parquet as pq

    ids: list[str] = []
    texts = []
    for name, data in files.items():
        if name.startswith("annotation/rounds/") and name.endswith("/items.parquet"):
            table = pq.read_table(io.BytesIO(data)).to_pandas()
            ids += table["item_id"].tolist()
            if any((table[column].fillna("") != "").any() for column in EMPTY_TEXTS):
                texts.append(name)
    return ids, texts


def _corpus(files: Mapping[str, bytes]) -> pd.DataFrame | None:
    import pyarrow.parquet as pq

    from covmis_build import tables

    data = files.get("data/release/corpus.parquet")
    return None if data is None else tables.frame(pq.read_table(io.BytesIO(data)))


def _listed(path: Path) -> dict[str, str]:
    """checksums.txt: {name: digest}; names stay inside the folder."""
    found = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or name.startswith("/") or ".." in name.split("/"):
            raise InputError(
                "is not a list of checksums", file=path, row=number, remedy="Run `covmis release`"
            )
        found[name] = digest
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def _names(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
