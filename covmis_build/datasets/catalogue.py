"""The corpora known to covmis: one description (TOML) each, built-in in corpora/, users' own in their corpora folder.

A description has licence, terms, source, files with checksums, and for each file layout how to read it: columns
of tables (reader "table"), or one of the readers in code.
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.datasets import labels, rumour, stance
from covmis_build.datasets.shape import Dataset, File, Layout, Published, Row
from covmis_build.datasets.tabular import FIELDS, Columns, rows_of
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.files import toml_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

READERS: dict[str, Callable[..., Iterable[Row]]] = {**stance.READERS, **rumour.READERS}
"""Readers in code by their names in descriptions; they get the reader files, and `keys` if given."""
TABLE = "table"
"""Reader of table columns according to the description."""
ABOUT = (
    "title",
    "scheme",
    "folder",
    "licence",
    "terms",
    "source",
    "instructions",
    "citation",
    "notes",
    "labels",
    "layouts",
    "published",
)
IN_PUBLISHED = ("of", "scores", "gold")
IN_LAYOUT = ("name", "has_text", "reader", "keys", "columns", "labels", "times", "header", "drop", "files")
IN_FILE = ("path", "sha256", "url", "beside", "set")
IN_LABELS = ("values", "stance", "refused")


@cache
def built_in() -> tuple[Dataset, ...]:
    """Return the built-in corpora by name."""
    folder = files(__package__) / "corpora"
    paths = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda path: path.name
    )
    return tuple(
        described_in(path.name.removesuffix(".toml"), tomllib.loads(path.read_text("utf-8")), path.name)
        for path in paths
    )


def known(home: Path | str | None = None) -> dict[str, Dataset]:
    """Return all corpora: built-in ones, and those of *.toml files in the corpora folder; built-in names take precedence."""
    own: dict[str, Dataset] = {}
    for path in sorted(Path(home).glob("*.toml")) if home is not None else ():
        own[path.stem] = described_in(path.stem, toml_file.read(path), path)
    return own | {dataset.name: dataset for dataset in built_in()}


def find(name: str, home: Path | str | None = None) -> Dataset:
    """Return the corpus of this name."""
    datasets = known(home)
    if name not in datasets:
        raise UnknownName(f"no corpus is called '{name}'", remedy=nearest(name, datasets))
    return datasets[name]


def described_in(name: str, told: dict[str, Any], file: Path | str) -> Dataset:
    """Return the corpus of this description. Any error in it is reported in one line."""
    _only(told, ABOUT, "", file)
    try:
        scheme = str(told.get("scheme") or name)
        if "labels" in told:
            _only(told["labels"], IN_LABELS, "labels: ", file)
            labels.add_scheme(scheme, told["labels"])
        if scheme not in labels.SCHEMES:
            raise UnknownName(f"no label scheme is called '{scheme}'", remedy=nearest(scheme, labels.SCHEMES))
        layouts = tuple(_layout(layout, file) for layout in told["layouts"])
        words = {key: str(told.get(key, "")) for key in ("terms", "source", "instructions", "citation")}
        return Dataset(
            name=name,
            title=str(told["title"]),
            scheme=scheme,
            folder=_inside(told.get("folder", name), file),
            layouts=layouts,
            licence=str(told["licence"]),
            notes=tuple(map(str, told.get("notes", ()))),
            published=_published(told["published"], file) if "published" in told else None,
            **words,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"describes no corpus: {type(error).__name__}: {error}",
            file=file,
            remedy="See docs/guides/datasets.md",
        ) from None


def _published(given: Mapping[str, Any], file: Path | str) -> Published:
    _only(given, IN_PUBLISHED, "published: ", file)
    scores = tuple((str(row["system"]), str(row["measure"]), float(row["value"])) for row in given["scores"])
    return Published(str(given["of"]), scores, tuple(map(str, given.get("gold", ()))))


def published_for(gold: Path, home: Path | str | None = None) -> Published | None:
    """Return others' published scores for the test part with exactly these gold labels."""
    digest = storage.sha256_of(gold)
    told = (dataset.published for dataset in known(home).values())
    return next((published for published in told if published and digest in published.gold), None)


def _layout(told: Mapping[str, Any], file: Path | str) -> Layout:
    _only(told, IN_LAYOUT, "layouts: ", file)
    kind = str(told.get("reader", TABLE))
    if kind != TABLE and kind not in READERS:
        raise UnknownName(f"no reader is called '{kind}'", remedy=nearest(kind, [TABLE, *READERS]))
    listed = []
    for entry in told["files"]:
        _only(entry, IN_FILE, "files: ", file)
        listed.append(File(_inside(entry["path"], file), entry.get("sha256", ""), entry.get("url", "")))
    if kind != TABLE:
        reader = partial(READERS[kind], **({"keys": told["keys"]} if "keys" in told else {}))
        return Layout(str(told.get("name", kind)), tuple(listed), reader, bool(told.get("has_text")))
    _only(told["columns"], FIELDS, "columns: ", file)
    columns = Columns(
        dict(told["columns"]),
        {str(old): str(new) for old, new in told.get("labels", {}).items()},
        str(told.get("times", "")),
        tuple(told.get("header", ())),
        frozenset(map(str, told.get("drop", ()))),
    )
    main = [(entry["path"], dict(entry.get("set", {}))) for entry in told["files"] if not entry.get("beside")]
    return Layout(
        str(told.get("name", "table")), tuple(listed), rows_of(columns, main), bool(told.get("has_text"))
    )


def _only(told: Mapping[str, Any], allowed: Iterable[str], where: str, file: Path | str) -> None:
    for key in told:
        if key not in (names := list(allowed)):
            raise InputError(f"{where}unknown key '{key}'", file=file, remedy=nearest(str(key), names))


def _inside(path: str, file: Path | str) -> str:
    """Return a path in the corpora folder, and refuse others."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise InputError(
            f"names a place outside: {path}", file=file, remedy="Name it from the corpus' folder on"
        )
    return path
