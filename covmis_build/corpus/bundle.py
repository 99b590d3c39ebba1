"""A bundle: what somebody with the same posts needs to build the same corpus, and nothing that posts say.

A zip of the study's settings, claims and guideline, its rounds without texts, salts and comments, its tables of ids,
its ledger, the corpus as ids, and a manifest with checksums and versions. Same study, same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import storage
from covmis_build.errors import InputError, doubted
from covmis_build.files import frames

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

FORMAT = 1
MANIFEST = "manifest.json"
TABLES = ("claims", "queries", "hits", "items", "dropped", "sample")
"""Of data/build: ids, numbers and the claims' own words, never a post's."""
PLAIN = (
    "study.toml", "queries/claims.csv", "annotation/guideline.md", "annotation/label_config.xml",
    "annotation/rounds/summary.json", "annotation/rounds/draws.parquet", "data/build/ledger.jsonl",
)  # fmt: skip
ROUND_FILES = ("round.json", "guideline.md", "decisions.parquet", "report.json", "seal.json", "frame.parquet")
LARGEST, MOST_FILES, RATIO, ROOM = 1 << 30, 100_000, 1000, 1 << 20
"""Of a bundle: bytes that it unpacks to, its files, and how many times its packed size one of them may unpack to, if it is larger than ROOM."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
EMPTY_TEXTS = ("text", "quoted", "parent", "salt")
EMPTY_LISTS = ("cards", "media")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself."""

    files: dict[str, str]
    """The sha256 of each file."""
    rows: int
    purged: tuple[str, ...]
    """Posts that are to be forgotten wherever the bundle goes."""
    versions: dict[str, str]


def make_bundle(
    folder: Path, built: Mapping[str, Path], frozen: Mapping[str, pd.DataFrame], corpus: pd.DataFrame,
    *, purged: Collection[str], versions: Mapping[str, str],
) -> bytes:  # fmt: skip
    """The bundle of the study in this folder, as the bytes of a zip file.

    `built` has the file of each of TABLES, `frozen` each round's items by its place in the folder. Rows of purged posts are
    left out of the tables; rounds keep their ids, so that seals still verify.
    """
    files: dict[str, bytes] = {}
    for name in PLAIN:
        _take(files, folder, name)
    if "study.toml" in files:
        files["study.toml"] = _without_address(files["study.toml"])
    for table, path in built.items():
        if path.exists():
            files[f"data/build/{table}.parquet"] = _without(path, purged)
    for place, items in sorted(frozen.items()):
        for name in ROUND_FILES:
            _take(files, folder, f"{place}/{name}")
        for path in sorted((folder / place / "sealed").glob("*/*")):
            _take(files, folder, path.relative_to(folder).as_posix())
        labels = folder / place / "labels.parquet"
        if labels.exists():
            files[f"{place}/labels.parquet"] = _parquet(
                without_remarks(storage.read_table(labels, "labels")), "labels"
            )
        files[f"{place}/items.parquet"] = _like(folder / place / "items.parquet", without_texts(items))
        for path in sorted((folder / place).parent.glob("guidelines/*.md")):
            _take(files, folder, path.relative_to(folder).as_posix())
    files["data/release/corpus.parquet"] = _parquet(corpus.assign(text=None), "corpus")
    manifest = {
        "format": FORMAT,
        "versions": dict(sorted(versions.items())),
        "rows": len(corpus),
        "purged": sorted(_purged_posts(frozen, purged)),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    files[MANIFEST] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    return zipped(files)


def _take(files: dict[str, bytes], folder: Path, name: str) -> None:
    if (folder / name).is_file():
        files[name] = (folder / name).read_bytes()


_BUILD = re.compile(r"""(?m)^([ \t]*build[ \t]*=[ \t]*)("[^"\n]*"|'[^'\n]*')""")


def _without_address(toml: bytes) -> bytes:
    """Settings with their tables in the folder: whoever rebuilds has no key to the author's store, or would write to it."""
    text = toml.decode("utf-8-sig")
    settings = tomllib.loads(text)
    if not settings.get("build"):
        return toml
    here = _BUILD.sub(r'\1""', text, count=1)
    if tomllib.loads(here) != settings | {"build": ""}:
        raise InputError(
            "the address cannot be taken out of study.toml for the bundle",
            remedy='Write it on a line of its own: build = "s3://bucket/study"',
        )
    return here.encode()


def without_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Frozen items as a purge leaves them: ids, hashes, probabilities; no text, no salt to try texts with."""
    emptied = items.copy()
    for name in EMPTY_TEXTS:
        emptied[name] = ""
    for name in EMPTY_LISTS:
        emptied[name] = [[] for _ in range(len(emptied))]
    return emptied


def without_remarks(labels: pd.DataFrame) -> pd.DataFrame:
    """Labels without what people wrote beside them: comments repeat posts."""
    return labels.assign(comment="", reason="")


def _purged_posts(frozen: Mapping[str, pd.DataFrame], purged: Collection[str]) -> set[str]:
    """The posts of frozen items that are to be forgotten or have been emptied already."""
    from covmis_build.corpus.release import is_forgotten

    posts: set[str] = set()
    for items in frozen.values():
        gone = is_forgotten(items) | items["post_id"].isin(set(purged))
        posts.update(items.loc[gone, "post_id"])
    return posts


def _without(path: Path, purged: Collection[str]) -> bytes:
    """A table of the build without the rows of these posts."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    data = path.read_bytes()
    if not purged:
        return data
    table = pq.read_table(io.BytesIO(data))
    if "post_id" not in table.schema.names:
        return data
    stays = pc.invert(pc.is_in(table["post_id"], value_set=pa.array(sorted(purged), pa.string())))
    return _written(table.filter(stays))


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
    """The manifest and the files of a bundle, names and sizes checked before anything is unpacked."""
    with doubted(path, "is not a whole zip file"), zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        _refuse_bomb(entries, path)
        for entry in entries:
            _safe(entry, path)
        files = {entry.filename: archive.read(entry) for entry in entries}
        for name, data in files.items():
            if name.endswith(".parquet"):
                frames.check(data)
    if len(files) < len(entries):
        raise InputError("holds two files of one name", file=path, remedy="Do not unpack it")
    try:
        written = msgspec.json.decode(files.pop(MANIFEST), type=_Written)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(
            "has no manifest of a bundle", file=path, remedy="Make it with `covmis release --bundle`"
        ) from None
    if written.format != FORMAT:
        raise InputError(f"is a bundle of format {written.format}", file=path, remedy="Use a newer covmis")
    return Manifest(written.files, written.rows, tuple(written.purged), written.versions), files


class _Written(msgspec.Struct):
    """manifest.json as it is written."""

    files: dict[str, str]
    format: int
    rows: int = 0
    purged: list[str] = []
    versions: dict[str, str] = {}


def _refuse_bomb(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse what would fill memory, before anything is unpacked."""
    swells = any(entry.file_size > max(ROOM, RATIO * entry.compress_size) for entry in entries)
    if swells or sum(entry.file_size for entry in entries) > LARGEST or len(entries) > MOST_FILES:
        raise InputError(
            f"unpacks to more than {LARGEST >> 30} GiB, or to {RATIO:,} times its size",
            file=path,
            remedy="Is this a bundle of covmis?",
        )


def _safe(entry: zipfile.ZipInfo, path: Path) -> None:
    """A name that stays inside the folder, of a plain file."""
    name = entry.filename
    parts = PurePosixPath(name).parts
    is_link = (entry.external_attr >> 16) & 0o170000 == 0o120000
    odd = (
        name.startswith("/")
        or "\\" in name
        or ":" in name
        or ".." in parts
        or name.endswith("/")
        or not parts
    )
    if odd or is_link:
        raise InputError(f"holds a file with an unsafe name: {name!r}", file=path, remedy="Do not unpack it")


def unpack(path: Path, folder: Path) -> Manifest:
    """Make a study of a bundle in this folder, which may hold an archive of posts and nothing else of a study's.

    Tables of the build are not unpacked: `covmis run` makes them. Purged posts go on the list of what to forget.
    """
    manifest, files = read_bundle(path)
    wrong = [
        name for name, data in files.items() if hashlib.sha256(data).hexdigest() != manifest.files.get(name)
    ]
    if wrong or set(files) != set(manifest.files):
        raise InputError("is damaged", file=path, remedy="`covmis verify` says what differs")
    if (folder / "study.toml").exists():
        if (folder / "study.toml").read_bytes() != files.get("study.toml"):
            raise InputError(
                "is another study already", file=folder, remedy="Name an empty folder with --into"
            )
        return manifest
    for name, data in sorted(files.items(), key=lambda file: file[0] == "study.toml"):
        if not name.startswith(("data/build/", "data/release/")):
            storage.write_bytes(folder / name, data)
    return manifest


def restore_texts(items: pd.DataFrame, posts: pd.DataFrame, *, purged: Collection[str]) -> pd.DataFrame:
    """Frozen items with their posts' texts again, where there are any; purged ones stay empty."""
    texts = dict(zip(posts["post_id"], posts["text"], strict=True))
    restored = [
        "" if post in purged else kept or texts.get(post) or ""
        for post, kept in zip(items["post_id"], items["text"], strict=True)
    ]
    return items.assign(text=restored)
