"""Forgeries of every kind of every file of a release: `python -m tests.corpus.forgeries FOLDER` counts them by kind.

Each changes one thing. `--remade` lets a forger who need not match the root hash of a paper mend it, too, and tries so many of each kind.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from covmis_build.corpus import bundle
from covmis_build.corpus.publish import BUNDLE
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.verify import check_cited
from covmis_build.errors import CovmisError
from covmis_build.places import CHECKSUMS, FACTS
from tests.corpus.tamperings import at_once, first_failed, opened, packed, with_new_checksums, with_new_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Forgery(NamedTuple):
    kind: str
    file: str
    """In the release; in its bundle behind "bundle.zip!"."""
    changes: dict[str, bytes | None]
    """What files become; None: they are taken out."""


def _half(data: bytes) -> int:
    return len(data) // 2


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "a byte inserted": lambda data: data[: _half(data)] + b" " + data[_half(data) :],
    "a byte deleted": lambda data: data[: _half(data)] + data[_half(data) + 1 :],
    "a bit changed": lambda data: data[: _half(data)] + bytes([data[_half(data)] ^ 1]) + data[_half(data) + 1 :],
    "a byte before it": lambda data: b" " + data,
    "a byte appended": lambda data: data + b"\n",
    "the last byte cut": lambda data: data[:-1],
    "its content twice": lambda data: data * 2,
    "emptied": lambda _: b"",
}  # fmt: skip
LINES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a line deleted": lambda lines: lines[:1] + lines[2:],
    "a line repeated": lambda lines: lines[:2] + lines[1:],
    "two lines swapped": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "the order of lines": lambda lines: lines[:1] + lines[:0:-1],
}
MARK = "a key that stands nowhere else"
KEYS: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    "a key deleted": lambda _, __: {},
    "a key renamed": lambda key, value: {f"{key}_2": value},
    "a key repeated": lambda key, value: {MARK: value, key: value},
    "a key more": lambda key, value: {key: value, f"{key}_2": value},
    "a value changed": lambda key, value: {key: _other(value)},
}


def of_folder(folder: Path, keys: int | None = None) -> Iterator[Forgery]:
    """All forgeries of a release's files, and of those of its bundle with the manifest made to fit; of JSON so many keys."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        yield from _of_file(name, (folder / name).read_bytes(), keys)
    inside = opened(folder / BUNDLE)
    for name in sorted(inside):
        if name != bundle.MANIFEST:
            yield from _of_file(f"{BUNDLE}!{name}", inside[name], keys)


def _of_file(name: str, data: bytes, keys: int | None) -> Iterator[Forgery]:
    for kind, change in BYTES.items():
        yield Forgery(kind, name, {name: change(data)})
    yield Forgery("taken out", name, {name: None})
    stem, dot, ending = name.rpartition(".")
    for other in (f"{stem}2{dot}{ending}", f"{stem}{dot}{ending.swapcase()}", f"{name}.orig"):
        yield Forgery("renamed", name, {name: None, other: data})
        yield Forgery("copied under another name", name, {other: data})
    if ending in {"csv", "jsonl", "md", "txt", "html", "tex", "toml", "py", "R", "bib"}:
        lines = data.splitlines(keepends=True)
        for kind, turn in LINES.items():
            if len(lines) > 2:
                yield Forgery(kind, name, {name: b"".join(turn(lines))})
    if ending == "csv":
        yield from _of_columns(name, data)
    if ending == "json":
        yield from _of_keys(name, data, keys)
    if ending == "parquet":
        yield from _of_parquet(name, data)


def _of_columns(name: str, data: bytes) -> Iterator[Forgery]:
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    for kind, change in (
        ("a column more", lambda row, first: [*row, "remark" if first else "wrong"]),
        ("a column less", lambda row, _: row[:-1]),
        ("a column renamed", lambda row, first: [*row[:-1], row[-1] + "_2"] if first else row),
        ("two columns swapped", lambda row, _: [row[1], row[0], *row[2:]] if len(row) > 1 else row),
    ):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(change(row, at == 0) for at, row in enumerate(rows))
        yield Forgery(kind, name, {name: out.getvalue().encode("utf-8-sig")})


def _of_parquet(name: str, data: bytes) -> Iterator[Forgery]:
    table = pq.read_table(io.BytesIO(data))
    for kind, made in (
        ("a column more", table.append_column("remark", [["wrong"] * len(table)])),
        ("a column less", table.drop_columns(table.column_names[-1:])),
        ("a column renamed", table.rename_columns([*table.column_names[:-1], "other"])),
        ("a line deleted", table.slice(1)),
        ("the order of lines", table.take(list(range(len(table)))[::-1])),
        ("words in the footer", table.replace_schema_metadata({"note": "wrong"})),
        ("otherwise compressed", table),
    ):
        out = io.BytesIO()
        pq.write_table(made, out, compression="gzip" if made is table else "zstd")
        yield Forgery(kind, name, {name: out.getvalue()})


def _of_keys(name: str, data: bytes, most: int | None) -> Iterator[Forgery]:
    """Every key of every object, or so many."""
    written = _writer(data)
    whole = json.loads(data)
    places = [(path, key) for path in _objects(whole) for key in _at(whole, path)]
    for path, key in places if most is None else random.Random(name).sample(places, min(most, len(places))):
        for kind, become in KEYS.items():
            told = json.loads(data)
            there = _at(told, path)
            changed = {}
            for each, value in there.items():
                changed |= become(each, value) if each == key else {each: value}
            there.clear()
            there.update(changed)
            yield Forgery(kind, name, {name: written(told).replace(MARK.encode(), key.encode())})


def _other(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
    return type(value)() if value else [1]


def _objects(told: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(told, dict):
        yield path
    for key, value in (
        told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    ):
        yield from _objects(value, (*path, key))


def _at(told: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        told = told[key]
    return told


def _writer(data: bytes) -> Callable[[Any], bytes]:
    """The way in which this JSON was written, so that a forgery differs in one thing."""
    ways: list[Callable[[Any], bytes]] = [
        lambda told, indent=indent, ascii_=ascii_, ends=ends: (
            json.dumps(told, indent=indent, ensure_ascii=ascii_) + ends
        ).encode()
        for indent in (1, 2, None)
        for ascii_ in (True, False)
        for ends in ("\n", "")
    ]
    ways.append(
        lambda told: msgspec.json.format(json.dumps(told, ensure_ascii=False), indent=1).encode() + b"\n"
    )
    return next((way for way in ways if way(json.loads(data)) == data), ways[0])


class Whole:
    """A release on which forgeries are tried, one after another."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        """Take a copy of this release, and another without its bundle: its root hash is that of its files alone."""
        self.before = folder
        self.copy, self.bare = (shutil.copytree(folder, scratch / name) for name in ("copy", "bare"))
        (self.bare / BUNDLE).unlink()
        with_new_root(self.bare)
        with_new_checksums(self.bare, folder)
        self.roots = {each: from_json((each / FACTS).read_bytes()).root for each in (self.copy, self.bare)}

    def noticed(self, forgery: Forgery) -> bool:
        """Whether `covmis verify --root` notices it, whatever the forger does to checksums."""
        return all(self._noticed(folder, forgery) for folder in self._where(forgery))

    def _where(self, forgery: Forgery) -> list[Path]:
        return [self.copy] if forgery.file.startswith(BUNDLE) else [self.copy, self.bare]

    def _noticed(self, folder: Path, forgery: Forgery) -> bool:
        kept = _forge(folder, forgery)
        try:
            if not _cited(folder, self.roots[folder]):
                return True
            if forgery.file != CHECKSUMS:
                with_new_checksums(folder, self.before, {*forgery.changes} - {CHECKSUMS})
            return bool(first_failed(folder))
        finally:
            for name, data in kept.items():
                _put(folder / name, data)

    def noticed_without_the_paper(self, forgery: Forgery, scratch: Path) -> bool:
        """Whether `covmis verify` notices it though checksums, root hash and hashes of records were made anew, too."""
        folder = shutil.copytree(self.copy, scratch / "own")
        try:
            _forge(folder, forgery)
            with_new_root(folder)
            with_new_checksums(folder, self.before, {*forgery.changes})
            return bool(first_failed(folder, bundle_first=forgery.file.startswith(BUNDLE)))
        except (ValueError, OSError, CovmisError, KeyError):  # the forger's own program cannot read it
            return True
        finally:
            shutil.rmtree(folder)


def _forge(folder: Path, forgery: Forgery) -> dict[str, bytes | None]:
    """Change the files, and return what they and the checksums were."""
    inside = {name.partition("!")[2]: data for name, data in forgery.changes.items() if "!" in name}
    names = {BUNDLE} if inside else {*forgery.changes}
    kept = {
        name: (folder / name).read_bytes() if (folder / name).is_file() else None
        for name in names | {CHECKSUMS}
    }
    if inside:
        files = opened(folder / BUNDLE) | inside
        manifest = json.loads(files.pop(bundle.MANIFEST))
        files = {name: data for name, data in files.items() if data is not None}
        manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        packed(folder / BUNDLE, files | {bundle.MANIFEST: bundle.hash_tree(**manifest)})
    else:
        for name, data in forgery.changes.items():
            _put(folder / name, data)
    return kept


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(data)


def _cited(folder: Path, root: str) -> bool:
    try:
        return all(check.passed for check in check_cited(folder, root, None))
    except (CovmisError, ValueError, OSError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--remade", type=int, default=0)
    parser.add_argument("--remade-alone", action="store_true", help="only these")
    parser.add_argument("--keys", type=int, default=30, help="of each JSON file so many; 0: all")
    given = parser.parse_args()
    made, passed, own, unseen = Counter(), Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as scratch, at_once():
        whole = Whole(given.folder, Path(scratch))
        every = list(of_folder(given.folder, given.keys or None))
        random.Random(4).shuffle(every)
        for forgery in every:
            made[forgery.kind] += 1
            if not given.remade_alone and not whole.noticed(forgery):
                passed[forgery.kind] += 1
                print("passes:", forgery.kind, forgery.file)
            if own[forgery.kind] < given.remade and forgery.file not in {CHECKSUMS, BUNDLE}:
                own[forgery.kind] += 1
                if not whole.noticed_without_the_paper(forgery, Path(scratch)):
                    unseen[forgery.kind] += 1
                    print("only by the root hash:", forgery.kind, forgery.file)
    print(
        "| kind | forgeries | pass `--root` | root hash made anew, tried | not noticed |\n|---|---|---|---|---|"
    )
    for kind in sorted(made):
        print(f"| {kind} | {made[kind]:,} | {passed[kind]} | {own[kind]} | {unseen[kind]} |")
    print(f"| all | {made.total():,} | {passed.total()} | {own.total()} | {unseen.total()} |")


if __name__ == "__main__":
    os.environ.setdefault("CI", "true")
    main()
