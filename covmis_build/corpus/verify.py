"""Check a release or package from someone else: complete, unchanged, and consistent."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import __version__, anchors
from covmis_build.anchors import OF_ROOT
from covmis_build.corpus import signature
from covmis_build.corpus.bundle import (
    CORPUS,
    EMPTY_LISTS,
    EMPTY_TEXTS,
    FIRST,
    FORMAT,
    GUIDELINE,
    LARGEST,
    MANIFEST,
    STUDY_TOML,
    differing,
    guidelines_in,
    hash_tree,
    not_in_one_form,
    read_bundle,
    root_of,
)
from covmis_build.corpus.bundle import FACTS as BUNDLED_FACTS
from covmis_build.corpus.convert import FORMATS, checked, read_corpus
from covmis_build.corpus.publish import (
    ALWAYS,
    BUNDLE,
    CRATE,
    HUGGING_FACE,
    SOMETIMES,
    data_hashes,
    release_hashes,
)
from covmis_build.corpus.recount import Check, check_by_recount, shown
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.signature import SIGNATURE
from covmis_build.errors import CovmisError, InputError, counted, doubted
from covmis_build.files import frames
from covmis_build.places import CHECKSUMS, DESIGN, FACTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from covmis_build.corpus.bundle import Manifest
    from covmis_build.corpus.release_facts import ReleaseFacts

TOLERANCE = 1e-9
EARLIER = ("0.1.0", "0.2.0")
"""Versions whose root hashes cover less, and whose pages cannot be made again."""
EVERY_BYTE = "it covers every byte of every file"
DATA_ONLY = "it covers data, facts and bundle, as before covmis 0.3; pages only by the checksums"
_SPACES = re.compile(r"\\allowbreak|\\-|[\s\u00ad\u200b{}]+")
"""What typesetting puts into a long word."""


def _refuse_odd(folder: Path) -> None:
    """Refuse files that do not fit into memory or have no end, and links: what they lead to can change afterwards."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise InputError(
                "is a link, and a release has none",
                file=path,
                remedy="Copy the release with `cp -RL` if you know where it leads",
            )
        if not (path.is_file() or path.is_dir()):
            raise InputError("is neither a file nor a folder", file=path, remedy="Is it covmis' own?")
        if path.is_file() and path.stat().st_size > LARGEST:
            raise InputError(f"is larger than {LARGEST >> 30} GiB", file=path, remedy="Is it covmis' own?")
    frames.check({str(path): path for path in folder.rglob("*.parquet") if path.is_file()})


def check_release(folder: Path, signers: Path | None = None, authorities: Path | None = None) -> list[Check]:
    """Check the files against checksums.txt, the corpus's formats against each other, and its rows."""
    sums = folder / CHECKSUMS
    if not sums.is_file():
        raise InputError(
            "is not a finished release: checksums.txt is missing", file=folder, remedy="Run `covmis release`"
        )
    _refuse_odd(folder)
    listed = _listed(sums)
    wrong = [name for name, digest in listed.items() if _digest(folder / name) != digest]
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    known = {*listed} & {*ALWAYS, *SOMETIMES}
    extra = sorted(there - known - {HUGGING_FACE, CHECKSUMS, SIGNATURE, OF_ROOT})
    plain = "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
    lacking = sorted({*ALWAYS, FACTS} - there) if (folder / FACTS).is_file() else []
    checks = [
        Check("files are as they were released", not wrong, shown(wrong) or counted(len(listed), "files")),
        Check(
            f"{CHECKSUMS} names each of them once, and nothing else",
            {*listed} == known and sums.read_bytes() == plain.encode(),
        ),
        Check("there are no other files and folders", not extra, shown(extra)),
        Check("no file that every release has is missing", not lacking, shown(lacking)),
    ]
    if signers is not None or (folder / SIGNATURE).is_file():
        signed = (folder / SIGNATURE).is_file()
        passed, detail = signature.checked(folder, signers) if signed else (False, "there is none")
        checks.append(Check("the checksums are signed", passed, detail))
    try:
        corpus = read_corpus(folder / "corpus.parquet")
    except CovmisError as error:
        return [*checks, Check("the corpus can be read", passed=False, detail=str(error))]
    return checks + check_corpus(corpus) + _check_files(folder, corpus, authorities)


def check_corpus(corpus: pd.DataFrame) -> list[Check]:
    """Check the rows: keys, probabilities and weights."""
    chance = corpus["p_claim"] * corpus["p_sample"]
    rows = {
        "every item once": corpus["item_id"].duplicated(),
        "item_id is claim and post": corpus["item_id"] != corpus["claim_id"] + "|" + corpus["post_id"],
        "probabilities lie above 0 and at most 1": ~((chance > 0) & (chance <= 1)),
        "the weights of a claim's items of one query type differ as 1/(p_claim·p_sample)": _uneven(
            corpus, chance
        ),
        "every row has a label and says how it came about": (corpus["label"].fillna("") == "")
        | (corpus["how"].fillna("") == ""),
        "group sizes count at least the post itself": ~(corpus["group_size"] >= 1),
    }
    return [
        Check(
            what,
            not wrong.any(),
            shown(corpus.loc[wrong.astype(bool), "item_id"].tolist()) or counted(len(corpus), "rows"),
        )
        for what, wrong in rows.items()
    ]


def _uneven(corpus: pd.DataFrame, chance: pd.Series[float]) -> pd.Series[bool]:
    """Mark rows whose weight is not 1/(p_claim·p_sample), or (since 0.3) not as much of it as its claim and query type have."""
    factor = corpus["weight"] * chance
    if (corpus["in_population"].fillna("") == "").all():
        return ~((factor - 1).abs() <= TOLERANCE)
    inside = corpus["in_population"] == "yes"
    keys = [corpus["claim_id"], corpus["kind"], corpus["p_sample"] >= 1, inside]
    even = (factor / factor.groupby(keys).transform("max") - 1).abs() <= TOLERANCE
    return (inside & (~even | ~(factor > 0))) | (~inside & (factor != 0))


def _root_of_files(folder: Path, facts: ReleaseFacts) -> tuple[str, list[str], str]:
    """Return the root hash of a release's files, those that differ from its bundle's list, and what the hash covers."""
    hashes = release_hashes(folder, facts.root)
    if (folder / BUNDLE).is_file():
        manifest, files = read_bundle(folder / BUNDLE)
        root, covers = root_of(files[MANIFEST]), EVERY_BYTE
        if manifest.format < FORMAT:
            hashes, covers = data_hashes(folder), DATA_ONLY
        names = sorted({*hashes, *manifest.release})
        return root, [name for name in names if hashes.get(name) != manifest.release.get(name)], covers
    root = root_of(hash_tree(release=hashes))
    if root != facts.root and facts.version in EARLIER:
        return root_of(hash_tree(release=data_hashes(folder))), [], DATA_ONLY
    return root, [], EVERY_BYTE


def _check_files(folder: Path, corpus: pd.DataFrame, authorities: Path | None) -> list[Check]:
    """Check the files against the facts: root hash, its time stamp, and all that can be made again."""
    if not (folder / FACTS).is_file():
        first_form = not any((folder / name).exists() for name in (CRATE, "datapackage.json"))
        told = "a release of the first form; it cannot show that a seal was removed"
        no_root = Check("there is no root hash", passed=True, detail=told)
        lacking = Check(f"{FACTS} is there", passed=False, detail="without it nothing can be counted again")
        return [_check_formats(folder, corpus), no_root if first_form else lacking]
    try:
        facts = from_json((folder / FACTS).read_bytes())
    except ValueError as error:
        return [Check(f"{FACTS} can be read", passed=False, detail=str(error))]
    root, differ, covers = _root_of_files(folder, facts)
    # A release of today that says an earlier version made it would be verified by that version's rules.
    earlier = (
        covers != EVERY_BYTE and not (folder / DESIGN).exists() and corpus["automatic_label"].isna().all()
    )
    card = folder / "card.md"
    named = facts.root == root and card.is_file() and f"`{root}`" in card.read_text("utf-8", "replace")
    told = shown(differ) or f"the files have {root}; {FACTS} names {facts.root or 'none'}"
    return [
        Check(
            "it was made by a version that is known",
            facts.version in (EARLIER if earlier else [__version__]),
            f"covmis {facts.version}",
        ),
        Check(
            "the root hash that facts and card name is that of the files",
            named and not differ,
            f"{root}, {facts.sealed_rounds}; {covers}" if named and not differ else told,
        ),
        *_check_stamp(folder, root, authorities),
        *check_by_recount(folder, facts, corpus, exactly=not earlier),
    ]


def _check_formats(folder: Path, corpus: pd.DataFrame) -> Check:
    """Check whether all formats hold the same rows."""
    differ = [name for name in FORMATS if not read_corpus(folder / f"corpus.{name}").equals(corpus)]
    return Check("the formats hold the same rows", not differ, shown(differ))


def _check_stamp(folder: Path, root: str, authorities: Path | None) -> list[Check]:
    """Check the time stamp of the root hash, which a release can have, and must have if authorities are named."""
    there = (folder / OF_ROOT).is_file()
    if not there and authorities is None:
        return []
    passed, detail = (
        anchors.checked(folder / OF_ROOT, root, authorities) if there else (False, "there is none")
    )
    return [Check("an authority stamped the root hash", passed, detail)]


def check_kept(folder: Path, kept: Path, authorities: Path | None) -> Check:
    """Check that a time stamp which somebody kept is of this release or bundle, or of a seal in it."""
    path = folder / BUNDLE if folder.is_dir() else folder
    hashes = set()
    if folder.is_dir():
        with doubted(folder / FACTS):
            facts = from_json((folder / FACTS).read_bytes())
        hashes |= {_root_of_files(folder, facts)[0], *(round_.seal for round_ in facts.rounds)}
    if path.is_file():
        _, files = read_bundle(path)
        hashes.add(root_of(files[MANIFEST]))
        with doubted(path):
            hashes |= {
                str(json.loads(data)["seal"]) for name, data in files.items() if name.endswith("/seal.json")
            }
    stamped = anchors.read(kept)
    passed, detail = anchors.checked(kept, stamped.hash, authorities)
    if stamped.hash not in hashes:
        passed, detail = False, f"none has the hash {stamped.hash}, which was there at {stamped.sentence}"
    return Check(f"{kept.name} is the time stamp of this release or of one of its seals", passed, detail)


def check_cited(folder: Path, root: str, paper: Path | None) -> list[Check]:
    """Check that a release or bundle has this root hash, or the one that a paper prints."""
    if folder.is_dir():
        with doubted(folder / FACTS):
            own, differ, _ = _root_of_files(folder, from_json((folder / FACTS).read_bytes()))
    else:
        manifest, files = read_bundle(folder)
        own, differ = root_of(files[MANIFEST]), differing(manifest, files)
    checks = []
    if root:
        checks.append(
            Check(
                "the root hash is the given one",
                root.strip().lower() == own and not differ,
                shown(differ) or own,
            )
        )
    if paper is not None:
        printed = _SPACES.sub("", paper.read_text("utf-8", "replace")).lower()
        checks.append(Check(f"{paper.name} prints this root hash", own in printed, own))
    return checks


def check_bundle(manifest: Manifest, files: Mapping[str, bytes]) -> list[Check]:
    """Check the files against the manifest, that there is no post's text, and the corpus against the frozen rounds."""
    wrong = differing(manifest, files)
    checks = [
        Check(
            "files are as they were bundled",
            not wrong,
            shown(wrong) or counted(len(manifest.files), "files"),
        )
    ]
    needed = [STUDY_TOML, CORPUS]
    needed += [BUNDLED_FACTS] if manifest.format > FIRST else []
    needed += [GUIDELINE] if manifest.format == FORMAT and guidelines_in(files) else []
    lacking = [name for name in needed if name not in files]
    if lacking:
        checks.append(
            Check("settings, guideline, facts and corpus are there", passed=False, detail=shown(lacking))
        )
    if wrong or lacking:
        return checks
    if manifest.format == FORMAT:
        odd = not_in_one_form(manifest, files)
        checks.append(Check("each of them is as covmis writes it", not odd, shown(odd)))
    items, texts = _frozen(files)
    checks.append(Check("rounds hold no text of a post", not texts, shown(texts)))
    corpus = bundled_corpus(files)
    strangers = sorted(set(corpus["item_id"]) - set(items))
    leaked = corpus["text"].notna().any()
    back = sorted(set(corpus["post_id"]) & set(manifest.purged))
    posts = {item.partition("|")[2] for item in items}
    unknown = sorted(set(manifest.purged) - posts)
    return [
        *checks,
        Check("the corpus holds no text", not leaked),
        Check("every row of the corpus was frozen in a round", not strangers, shown(strangers)),
        Check("no purged post is in the corpus", not back, shown(back)),
        Check("every purged post was frozen in a round", not unknown, shown(unknown)),
        *check_corpus(corpus),
    ]


def _frozen(files: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Return all frozen items' ids, and the rounds that still contain texts."""
    import pyarrow.parquet as pq

    ids: list[str] = []
    texts = []
    for name, data in files.items():
        if name.startswith("annotation/rounds/") and name.endswith("/items.parquet"):
            with doubted(name):
                table = pq.read_table(io.BytesIO(data)).to_pandas()
                ids += [str(item) for item in table["item_id"]]
                left = any((table[column].fillna("") != "").any() for column in EMPTY_TEXTS)
                if left or any(table[column].str.len().any() for column in EMPTY_LISTS):
                    texts.append(name)
    return ids, texts


def bundled_corpus(files: Mapping[str, bytes]) -> pd.DataFrame:
    """Return the corpus in a package."""
    import pyarrow.parquet as pq

    from covmis_build import tables

    with doubted(CORPUS):
        return checked(tables.frame(pq.read_table(io.BytesIO(files[CORPUS]))), Path(CORPUS))


def _listed(path: Path) -> dict[str, str]:
    """Parse checksums.txt: {name: digest}; names must be inside the folder."""
    digests = {}
    with doubted(path):
        lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or name.startswith("/") or ".." in name.split("/"):
            raise InputError(
                "is not a list of checksums", file=path, row=number, remedy="Run `covmis release`"
            )
        digests[name] = digest
    return digests


def _digest(path: Path) -> str:
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
