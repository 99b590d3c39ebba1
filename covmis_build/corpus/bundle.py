"""A bundle: what somebody with the same posts needs to build the same corpus, and nothing that posts say.

A zip of the study's settings, claims and guideline, its rounds without texts, salts and comments, its tables of ids,
the facts of its release, the corpus as ids, and a manifest with the hash of every file. Same study, same bytes: no
clock and no place on a machine is in it. The SHA-256 of the manifest is the root hash of the release.

A bundle may come from a stranger. It holds what is listed here, and a bundle with anything else is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from covmis_build import storage
from covmis_build.errors import InputError, doubted
from covmis_build.files import frames
from covmis_build.settings import read_settings, settings_toml, shareable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

    from covmis_build.settings import Settings

FORMAT, FIRST = 2, 1
"""The first format had a ledger and no facts, and belongs to a release without a root hash."""
MANIFEST = "manifest.json"
STUDY_TOML, FORM = "study.toml", "annotation/label_config.xml"
CORPUS, FACTS = "data/release/corpus.parquet", "data/release/facts.json"
TABLES = ("claims", "queries", "hits", "items", "dropped", "sample")
"""Of data/build: ids, numbers and the claims' own words, never a post's."""
LEDGER = "data/build/ledger.jsonl"
PLAIN = (
    "queries/claims.csv",
    "annotation/guideline.md",
    FORM,
    "annotation/rounds/summary.json",
    "annotation/rounds/draws.parquet",
)
ROUND_FILES = ("round.json", "guideline.md", "decisions.parquet", "report.json", "seal.json", "frame.parquet")
SEALED_FILES = tuple(name for name in ROUND_FILES if name not in {"round.json", "frame.parquet"})
"""What a round that was reopened keeps of an earlier seal."""
EMPTIED = ("items.parquet", "labels.parquet")
"""Of a round: they go along without texts and remarks."""
LARGEST, MOST_FILES, RATIO, ROOM = 1 << 30, 100_000, 1000, 1 << 20
"""Of a bundle: bytes that it decompresses to, its files, and how many times its compressed size one of them may decompress to, if it is larger than ROOM."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
EMPTY_TEXTS = ("text", "quoted", "parent", "salt")
EMPTY_LISTS = ("cards", "media")


def _any(names: Collection[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, names))})"


ROUND = r"annotation/(?:rounds/|recall/r)[0-9]{3}"
BUILT = r"data/build/(?P<table>" + _any(TABLES) + r")\.parquet"
NAMES = re.compile(
    "|".join(
        [
            _any((MANIFEST, STUDY_TOML, CORPUS, FACTS, LEDGER, *PLAIN)), BUILT,
            f"{ROUND}/{_any((*ROUND_FILES, *EMPTIED))}", f"{ROUND}/sealed/[1-9][0-9]*/{_any(SEALED_FILES)}",
            r"annotation/(?:rounds|recall)/guidelines/[0-9a-f]{12}\.md",
        ]
    )
)  # fmt: skip
"""What a file of a bundle may be called: what `bundle_files` takes, or took in the first format, and nothing else."""


class Manifest(msgspec.Struct, frozen=True):
    """What a bundle says of itself, in manifest.json."""

    format: int
    files: dict[str, str] = {}
    """The SHA-256 of each file."""
    release: dict[str, str] = {}
    """The SHA-256 of each data file of its release."""
    rows: int = 0
    purged: list[str] = []
    """Posts that are to be forgotten wherever the bundle goes."""
    versions: dict[str, str] = {}


def bundle_files(
    folder: Path, settings: Settings, built: Mapping[str, Path], frozen: Mapping[str, pd.DataFrame],
    corpus: pd.DataFrame, facts: bytes,
) -> dict[str, bytes]:  # fmt: skip
    """The files of the bundle of the study in this folder, by name.

    `built` has the file of each of TABLES that is current, `frozen` each round's items by its place in the folder.
    """
    files: dict[str, bytes] = {}
    for name in PLAIN:
        _take(files, folder, name)
    files[STUDY_TOML] = settings_toml(shareable(settings)[0]).encode()
    files |= {f"data/build/{table}.parquet": path.read_bytes() for table, path in built.items()}
    for place, items in sorted(frozen.items()):
        for name in ROUND_FILES:
            _take(files, folder, f"{place}/{name}")
        earlier = [*(folder / place).glob("sealed/*/*"), *(folder / place).parent.glob("guidelines/*")]
        for path in sorted(earlier):
            _take(files, folder, path.relative_to(folder).as_posix())
        labels = folder / place / "labels.parquet"
        if labels.exists():
            kept = without_remarks(storage.read_table(labels, "labels"))
            files[f"{place}/labels.parquet"] = _parquet(kept, "labels")
        files[f"{place}/items.parquet"] = _like(folder / place / "items.parquet", without_texts(items))
    files[CORPUS] = _parquet(corpus.assign(text=None), "corpus")
    files[FACTS] = facts
    return files


def make_bundle(
    files: Mapping[str, bytes], *, release: Mapping[str, str], rows: int, purged: Collection[str],
    versions: Mapping[str, str],
) -> tuple[bytes, str]:  # fmt: skip
    """The bundle as the bytes of a zip file, and its root hash. `release` has the hashes of the release's data files."""
    tree = hash_tree(
        format=FORMAT, versions=versions, rows=rows, purged=sorted(purged), release=release,
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )  # fmt: skip
    return zipped({**files, MANIFEST: tree}), root_of(tree)


def hash_tree(**parts: Any) -> bytes:
    """Hashes of files, and what else a root hash covers, written in one way only."""
    return (json.dumps(parts, indent=1, sort_keys=True) + "\n").encode()


def root_of(tree: bytes) -> str:
    """The root hash of a tree."""
    return hashlib.sha256(tree).hexdigest()


def _take(files: dict[str, bytes], folder: Path, name: str) -> None:
    if NAMES.fullmatch(name) and (folder / name).is_file():
        files[name] = storage.inside(folder, folder / name).read_bytes()


def without_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Frozen items as a purge leaves them: ids, hashes, probabilities; no text, no salt to try texts with."""
    emptied = items.copy()
    for name in EMPTY_TEXTS:
        emptied[name] = ""
    for name in EMPTY_LISTS:
        emptied[name] = [[] for _ in range(len(emptied))]
    return emptied


def without_remarks(labels: pd.DataFrame) -> pd.DataFrame:
    """Labels without what people wrote next to them: comments repeat posts."""
    return labels.assign(comment="", reason="")


def purged_posts(frozen: Mapping[str, pd.DataFrame], purged: Collection[str]) -> set[str]:
    """The posts of frozen items that are to be forgotten or have been emptied already."""
    from covmis_build.corpus.release import is_forgotten

    posts: set[str] = set()
    for items in frozen.values():
        gone = is_forgotten(items) | items["post_id"].isin(set(purged))
        posts.update(items.loc[gone, "post_id"])
    return posts


def _parquet(frame: pd.DataFrame, table: str) -> bytes:
    from covmis_build import tables

    return _written(tables.conform(frame, table))


def _like(path: Path, frame: pd.DataFrame) -> bytes:
    """The frame with the columns and types of this Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(path).remove_metadata()
    return _written(pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False))


def _written(table: Any) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), out, compression="zstd")
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip that depends on nothing but its files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return out.getvalue()


def read_bundle(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and the files of a bundle, names and sizes checked before anything is decompressed."""
    with doubted(path, "is not a whole zip file"), zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        _refuse_bomb(entries, path)
        for entry in entries:
            _refuse_stranger(entry, path)
        files = {entry.filename: archive.read(entry) for entry in entries}
        frames.check({name: data for name, data in files.items() if name.endswith(".parquet")})
    if len(files) < len(entries):
        raise InputError("holds two files of one name", file=path, remedy="Do not unpack it")
    try:
        manifest = msgspec.json.decode(files[MANIFEST], type=Manifest)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(
            "has no manifest of a bundle", file=path, remedy="Make it with `covmis release --bundle`"
        ) from None
    if manifest.format not in {FIRST, FORMAT}:
        raise InputError(f"is a bundle of format {manifest.format}", file=path, remedy="Use a newer covmis")
    return manifest, files


def _refuse_bomb(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse what would fill memory, before anything is decompressed."""
    swells = any(entry.file_size > max(ROOM, RATIO * entry.compress_size) for entry in entries)
    if swells or sum(entry.file_size for entry in entries) > LARGEST or len(entries) > MOST_FILES:
        raise InputError(
            f"unpacks to more than {LARGEST >> 30} GiB, or to {RATIO:,} times its size",
            file=path,
            remedy="Is this a bundle of covmis?",
        )


def _refuse_stranger(entry: zipfile.ZipInfo, path: Path) -> None:
    """Refuse a file that covmis puts into no bundle, and a link under the name of one that it does."""
    kind = (entry.external_attr >> 16) & 0o170000
    if not NAMES.fullmatch(entry.filename) or kind not in {0, 0o100000}:
        raise InputError(
            f"holds {entry.filename!r}, which is no part of a bundle", file=path, remedy="Do not unpack it"
        )


def differing(manifest: Manifest, files: Mapping[str, bytes]) -> list[str]:
    """Files that are not as the manifest says, are missing, or are not in it."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != MANIFEST}
    names = {*hashes, *manifest.files}
    return sorted(name for name in names if hashes.get(name) != manifest.files.get(name))


class Unpacked(NamedTuple):
    """A bundle that became a study."""

    manifest: Manifest
    root: str
    """The root hash of its release; empty in the first format."""
    not_taken_over: list[str]
    """Settings that lead out of the study's folder or to a network, and the annotation form, as far as it has them."""


def unpack(path: Path, folder: Path) -> Unpacked:
    """Make a study of a bundle in this folder, which may hold an archive of posts and nothing else of a study's.

    Tables of the build are not decompressed: `covmis run` makes them. Purged posts continue the list of what to forget.
    """
    manifest, files = read_bundle(path)
    if differing(manifest, files) or STUDY_TOML not in files:
        raise InputError("is damaged", file=path, remedy="`covmis verify` says what differs")
    settings, left_out = shareable(bundled_settings(files, path))
    unpacked = Unpacked(manifest, "" if manifest.format == FIRST else root_of(files[MANIFEST]), left_out)
    if files.pop(FORM, None) is not None:
        left_out.append(FORM)
    if (folder / STUDY_TOML).exists():
        if shareable(read_settings(folder / STUDY_TOML))[0] != settings:
            raise InputError(
                "is another study already", file=folder, remedy="Name an empty folder with --into"
            )
        return unpacked
    files.pop(STUDY_TOML)
    for name, data in sorted(files.items()):
        if name != MANIFEST and not name.startswith("data/"):
            storage.write_bytes(folder / name, data)
    storage.write_text(folder / STUDY_TOML, settings_toml(settings))
    return unpacked


def bundled_settings(files: Mapping[str, bytes], path: Path) -> Settings:
    """The settings that a bundle has, checked as a study's are."""
    from covmis_build.files import toml_file
    from covmis_build.settings import parse

    with doubted(path):
        return parse(toml_file.parsed(files[STUDY_TOML], Path(STUDY_TOML)), file=STUDY_TOML)


def restore_texts(items: pd.DataFrame, posts: pd.DataFrame, *, purged: Collection[str]) -> pd.DataFrame:
    """Frozen items with their posts' texts again, where there are any; purged ones stay empty."""
    texts = dict(zip(posts["post_id"], posts["text"], strict=True))
    restored = [
        "" if post in purged else kept or texts.get(post) or ""
        for post, kept in zip(items["post_id"], items["text"], strict=True)
    ]
    return items.assign(text=restored)
