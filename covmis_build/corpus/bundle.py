"""Reproduction packages: everything needed to rebuild a corpus from the same posts, without the posts' content.

A zip of the study's settings, claims and guideline, its rounds without texts, salts and comments, its tables of ids, the
facts of its release, the corpus as ids, and a manifest with every file's hash. The same study gives the same bytes:
no times and no paths are included. The SHA-256 of the manifest is the root hash of the release.

A package may come from anyone. One with files other than these is refused.
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
from covmis_build.anchors import OF_SEAL
from covmis_build.children import in_child
from covmis_build.corpus.parquet_form import is_plain
from covmis_build.errors import InputError, doubted
from covmis_build.files import frames
from covmis_build.settings import read_settings, settings_toml, shareable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

    from covmis_build.settings import Settings

FORMAT, SECOND, FIRST = 3, 2, 1
"""The first format had a ledger but no facts; its releases have no root hash. Root hashes of the second cover no pages."""
MANIFEST = "manifest.json"
STUDY_TOML, FORM = "study.toml", "annotation/label_config.xml"
CORPUS, FACTS = "data/release/corpus.parquet", "data/release/facts.json"
GUIDELINE, SUMMARY = "annotation/guideline.md", "annotation/rounds/summary.json"
TABLES = ("claims", "queries", "hits", "items", "dropped", "sample")
"""Tables of data/build with ids, numbers and the claims' own words, never those of a post."""
LEDGER = "data/build/ledger.jsonl"
PLAIN = (
    "queries/claims.csv",
    GUIDELINE,
    FORM,
    SUMMARY,
    "annotation/rounds/draws.parquet",
)
ROUND_FILES = (
    "round.json",
    "sent.jsonl",
    "guideline.md",
    "report.json",
    "seal.json",
    OF_SEAL,
    "frame.parquet",
    "population.parquet",
)
SEALED_FILES = ("guideline.md", "decisions.parquet", "report.json", "seal.json", OF_SEAL)
"""Files that a reopened round keeps from an earlier seal."""
ROUND_TABLES = ("items.parquet", "labels.parquet", "decisions.parquet")
"""Tables of a round, which are included without texts and remarks."""
TABLES_OF_ROUNDS = {"items": "frozen", "decisions": "gold"}
LARGEST, MOST_FILES, RATIO, ROOM = 1 << 30, 10_000, 20, 64 << 20
"""Limits of a package: bytes, files, and how many times its size it may unpack to if that is more than ROOM."""
MEMORY = 4 << 30
"""Maximum address space of reading a package, in bytes: threads of libraries reserve much that they never use."""
ENTRY, HEADER = b"PK\x01\x02", 30
"""Begin of an entry of a zip's directory; bytes of a file's header in it."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
EMPTY_TEXTS = ("text", "quoted", "parent", "salt")
EMPTY_LISTS = ("cards", "media")


def _any(names: Collection[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, names))})"


ROUND = r"annotation/(?:rounds/|recall/r|relabel/l)[0-9]{3}"
BUILT = r"data/build/(?P<table>" + _any(TABLES) + r")\.parquet"
NAMES = re.compile(
    "|".join(
        [
            _any((MANIFEST, STUDY_TOML, CORPUS, FACTS, LEDGER, *PLAIN)),
            BUILT,
            f"{ROUND}/{_any((*ROUND_FILES, *ROUND_TABLES))}",
            f"{ROUND}/sealed/[1-9][0-9]*/{_any(SEALED_FILES)}",
            r"annotation/(?:rounds|recall|relabel)/guidelines/[0-9a-f]{12}\.md",
        ]
    )
)
"""Allowed file names: those of `bundle_files`, now or in the first format."""


class RoundTables(NamedTuple):
    """A round's items, labels and decisions."""

    items: pd.DataFrame
    labels: pd.DataFrame
    decisions: pd.DataFrame


class Manifest(msgspec.Struct, frozen=True):
    """The content of manifest.json."""

    format: int
    files: dict[str, str] = {}
    """File → SHA-256."""
    release: dict[str, str] = {}
    """Data file of the release → SHA-256."""
    rows: int = 0
    purged: list[str] = []
    """Posts that must be purged wherever the package is used."""
    versions: dict[str, str] = {}


def bundle_files(
    folder: Path,
    settings: Settings,
    built: Mapping[str, Path],
    rounds: Mapping[str, RoundTables],
    corpus: pd.DataFrame,
    facts: bytes,
) -> dict[str, bytes]:
    """Return the files of the package of the study in this folder, by name.

    `built` has the current file of each of TABLES; `rounds` has each round's tables by its place in the folder.
    """
    files: dict[str, bytes] = {}
    for name in PLAIN:
        _take(files, folder, name)
    files[STUDY_TOML] = settings_toml(shareable(settings)[0]).encode()
    files |= {f"data/build/{table}.parquet": path.read_bytes() for table, path in built.items()}
    for place, (items, labels, decisions) in sorted(rounds.items()):
        for name in ROUND_FILES:
            _take(files, folder, f"{place}/{name}")
        earlier = [*(folder / place).glob("sealed/*/*"), *(folder / place).parent.glob("guidelines/*")]
        for path in sorted(earlier):
            _take(files, folder, path.relative_to(folder).as_posix())
        if len(labels):
            files[f"{place}/labels.parquet"] = _parquet(_without_remarks(labels), "labels")
        if len(decisions):
            files[f"{place}/decisions.parquet"] = _parquet(decisions, "gold")
        files[f"{place}/items.parquet"] = _like(folder / place / "items.parquet", _without_texts(items))
    used = guidelines_in(files)
    if used and GUIDELINE not in files:
        files[GUIDELINE] = files[used[-1]]
    files[CORPUS] = _parquet(corpus.assign(text=None), "corpus")
    files[FACTS] = facts
    return {name: in_one_form(name, data, files) for name, data in files.items()}


def guidelines_in(files: Collection[str]) -> list[str]:
    """Return the guidelines of the package's rounds, by name."""
    return sorted(name for name in files if re.fullmatch(f"{ROUND}/guideline.md", name))


def in_one_form(name: str, data: bytes, files: Collection[str]) -> bytes:
    """Return a file as packages have it, in which one content has one form. Tables and people's own texts are as they are.

    Of the agreement over all rounds packages have what the card tells: the rest follows from the labels.
    """
    if name == STUDY_TOML:
        return settings_toml(shareable(bundled_settings({name: data}, Path(name)))[0]).encode()
    with doubted(name):
        if name == FACTS:
            from covmis_build.corpus.release_facts import from_json, to_json, without_root

            return without_root(to_json(from_json(data)).encode())
        if name.endswith("/sent.jsonl"):
            lines = {
                msgspec.json.encode(msgspec.json.decode(line), order="sorted") for line in data.splitlines()
            }
            return b"".join(line + b"\n" for line in sorted(lines))
        sealed = f"{name.rpartition('/')[0]}/seal.json" in files  # a seal has the hash of the report's bytes
        if not name.endswith(("/round.json", "/seal.json", SUMMARY)) and (
            sealed or not name.endswith("/report.json")
        ):
            return data
        content = json.loads(data)
        if name == SUMMARY:
            content = _told(content)
    return (json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _told(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the card has of the agreement over all rounds."""
    from covmis_build.stats.agreement import Figure

    kappa = summary.get("kappa")
    if kappa:
        figure = msgspec.convert(kappa, Figure)
        ends = ("low", "high") if figure.low_by_claims is None else ("low_by_claims", "high_by_claims")
        kappa = {name: getattr(figure, name) for name in ("name", "value", *ends)}
    return {"items_with_two_labels": summary.get("items_with_two_labels"), "kappa": kappa or None}


def not_in_one_form(manifest: Manifest, files: Mapping[str, bytes]) -> list[str]:
    """Return the files of a package that covmis would have written otherwise, or with something less."""
    tree = hash_tree(**msgspec.structs.asdict(manifest))
    odd = [] if files[MANIFEST] == tree else [MANIFEST]
    for name, data in files.items():
        if name.endswith(".parquet"):
            stem = Path(name).stem
            table = stem if name.startswith("data/") else TABLES_OF_ROUNDS.get(stem, stem)
            odd += [] if is_plain(data, table) else [name]
        elif in_one_form(name, data, files) != data:
            odd.append(name)
    return odd


def make_bundle(
    files: Mapping[str, bytes],
    *,
    release: Mapping[str, str],
    rows: int,
    purged: Collection[str],
    versions: Mapping[str, str],
) -> tuple[bytes, str]:
    """Return the package as bytes of a zip file, and its root hash. `release` has the hashes of the release's data files."""
    tree = hash_tree(
        format=FORMAT,
        versions=versions,
        rows=rows,
        purged=sorted(purged),
        release=release,
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )
    return zipped({**files, MANIFEST: tree}), root_of(tree)


def hash_tree(**parts: Any) -> bytes:
    """Return the input of a root hash (file hashes and more) in canonical form."""
    return (json.dumps(parts, indent=1, sort_keys=True) + "\n").encode()


def root_of(tree: bytes) -> str:
    """Return the root hash of this input."""
    return hashlib.sha256(tree).hexdigest()


def _take(files: dict[str, bytes], folder: Path, name: str) -> None:
    if NAMES.fullmatch(name) and (folder / name).is_file():
        files[name] = storage.inside(folder, folder / name).read_bytes()


def _without_texts(items: pd.DataFrame) -> pd.DataFrame:
    """Return frozen items as after a purge: ids, hashes, probabilities; no text, and no salt to test texts with."""
    emptied = items.copy()
    for name in EMPTY_TEXTS:
        emptied[name] = ""
    for name in EMPTY_LISTS:
        emptied[name] = [[] for _ in range(len(emptied))]
    return emptied


def _without_remarks(labels: pd.DataFrame) -> pd.DataFrame:
    """Return labels without comments, which may quote posts."""
    return labels.assign(comment="", reason="")


def purged_posts(frozen: Mapping[str, pd.DataFrame], purged: Collection[str]) -> set[str]:
    """Return the posts of frozen items that are on the purge list or already purged."""
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
    """Return the frame with the columns and types of this Parquet file."""
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
    """Return a zip that depends only on its files: nothing is compressed, because compressors differ."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def read_bundle(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """Read the manifest and the files of a package in a child process, after checking names and sizes."""
    try:
        return in_child(_read_bundle, path, memory=MEMORY)
    except InputError as error:
        raise error.at(path) from None


def _read_bundle(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    with doubted(path, "is not a whole zip file"):
        _refuse_many(path)
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            for entry in entries:
                _refuse_stranger(entry, path)
            if len({entry.filename for entry in entries}) < len(entries):
                raise InputError("holds two files of one name", file=path, remedy="Do not unpack it")
            _refuse_overlaps(entries, path)
            files = _counted(archive, entries, path)
        frames.check({f"{path}!{name}": files[name] for name in files if name.endswith(".parquet")})
    try:
        manifest = msgspec.json.decode(files[MANIFEST], type=Manifest)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(
            "has no manifest of a bundle", file=path, remedy="Make it with `covmis release --bundle`"
        ) from None
    if manifest.format not in {FIRST, SECOND, FORMAT}:
        raise InputError(f"is a bundle of format {manifest.format}", file=path, remedy="Use a newer covmis")
    if manifest.format == FORMAT and path.read_bytes() != zipped(files):
        raise InputError(
            "holds bytes besides its files, or stores them otherwise than covmis does",
            file=path,
            remedy="Do not unpack it",
        )
    return manifest, files


def _refuse_many(path: Path) -> None:
    """Refuse a package that is too large, or of too many files, before anything of it is parsed."""
    count, tail = 0, b""
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(ROOM >> 6), b""):
            count += (tail + piece).count(ENTRY)
            tail = piece[-len(ENTRY) + 1 :]
    if count > MOST_FILES or path.stat().st_size > LARGEST:
        raise InputError(
            f"holds more than {MOST_FILES:,} files, or {LARGEST >> 30} GiB",
            file=path,
            remedy="Is this a bundle of covmis?",
        )


def _refuse_overlaps(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse files that share bytes: a few of them would unpack to any size."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise InputError("holds files that share bytes", file=path, remedy="Do not unpack it")
        end = entry.header_offset + HEADER + len(entry.filename.encode()) + entry.compress_size


def _counted(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], path: Path) -> dict[str, bytes]:
    """Read the files. Bytes are counted as they come, whatever the package says of their number."""
    left = min(LARGEST, max(ROOM, RATIO * path.stat().st_size))
    files = {}
    for entry in entries:
        with archive.open(entry) as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            raise InputError(
                f"unpacks to more than {LARGEST >> 30} GiB, or to {RATIO:,} times its size",
                file=path,
                remedy="Is this a bundle of covmis?",
            )
        files[entry.filename] = data
    return files


def _refuse_stranger(entry: zipfile.ZipInfo, path: Path) -> None:
    """Refuse files that no package contains, and links."""
    kind = (entry.external_attr >> 16) & 0o170000
    if not NAMES.fullmatch(entry.filename) or kind not in {0, 0o100000}:
        raise InputError(
            f"holds {entry.filename!r}, which is no part of a bundle", file=path, remedy="Do not unpack it"
        )


def differing(manifest: Manifest, files: Mapping[str, bytes]) -> list[str]:
    """Return files that differ from the manifest, are missing, or are not in it."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != MANIFEST}
    names = {*hashes, *manifest.files}
    return sorted(name for name in names if hashes.get(name) != manifest.files.get(name))


class Unpacked(NamedTuple):
    """A study created from a package."""

    manifest: Manifest
    root: str
    """Root hash of its release; empty in the first format."""
    not_taken_over: list[str]
    """Settings that name places outside the study or in a network, and the annotation form, if it has any."""


def unpack(path: Path, folder: Path) -> Unpacked:
    """Create a study from a package in this folder, which may already contain a post archive but no other study files.

    Tables of the build are not extracted: `covmis run` builds them. Purged posts stay on the purge list.
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
    """Return the package's settings, checked like a study's."""
    from covmis_build.files import toml_file
    from covmis_build.settings import parse

    with doubted(path):
        return parse(toml_file.parsed(files[STUDY_TOML], Path(STUDY_TOML)), file=STUDY_TOML)


def restore_texts(items: pd.DataFrame, posts: pd.DataFrame, *, purged: Collection[str]) -> pd.DataFrame:
    """Restore the texts of frozen items from posts, if available. Purged items stay empty."""
    texts = dict(zip(posts["post_id"], posts["text"], strict=True))
    restored = [
        "" if post in purged else kept or texts.get(post) or ""
        for post, kept in zip(items["post_id"], items["text"], strict=True)
    ]
    return items.assign(text=restored)
