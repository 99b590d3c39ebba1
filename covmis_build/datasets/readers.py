"""Read a corpus from the user's folder into the common format."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.datasets.catalogue import find
from covmis_build.datasets.shape import COLUMNS, Dataset, File, Layout, Row
from covmis_build.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    import pandas as pd


def read(name: str, home: Path | str, *, layout: str = "", check: bool = True) -> pd.DataFrame:
    """Return the corpus in the columns of `shape.COLUMNS`, in file order.

    `home` contains the folders of all corpora. A file that differs from its known checksum is refused unless `check` is off,
    because published counts belong to one version of a corpus. Exact repetitions of rows are kept once and counted in
    `frame.attrs["doubled"]`; two labels for the same post and target are an error. In a corpus with texts, rows without text are
    omitted and counted in `frame.attrs["without_text"]`.
    """
    import pandas as pd

    dataset = find(name, home)
    folder = Path(home) / dataset.folder
    chosen = _layout(dataset, folder, layout)
    for file in chosen.files if check else ():
        _check(folder / file.path, file)
    try:
        rows = list(chosen.rows(folder))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, csv.Error) as error:
        raise InputError(
            f"is not {dataset.title} as expected: {type(error).__name__}: {error}",
            file=folder,
            remedy=f"See `covmis dataset show {name}`",
        ) from error
    kept, doubled = _once(rows, dataset)
    texts = [row for row in kept if row.text.strip() or not chosen.has_text]
    frame = pd.DataFrame([(name, *_in_order(row)) for row in texts], columns=list(COLUMNS), dtype=object)
    frame.attrs = {"doubled": doubled, "without_text": len(kept) - len(texts), "scheme": dataset.scheme}
    return frame


def complete_layout(dataset: Dataset, home: Path) -> Layout | None:
    """Return the first layout with all its files present."""
    folder = home / dataset.folder
    return next((layout for layout in dataset.layouts if _is_complete(layout, folder)), None)


def _is_complete(layout: Layout, folder: Path) -> bool:
    return all((folder / file.path).exists() for file in layout.files)


def _layout(dataset: Dataset, folder: Path, name: str) -> Layout:
    if name:
        known = {layout.name: layout for layout in dataset.layouts}
        if name not in known:
            raise UnknownName(f"{dataset.name} has no layout '{name}'", remedy=nearest(name, known))
        if not _is_complete(known[name], folder):
            raise _missing(dataset, folder, known[name])
        return known[name]
    for layout in dataset.layouts:
        if _is_complete(layout, folder):
            return layout
    raise _missing(dataset, folder, dataset.layouts[0])


def _missing(dataset: Dataset, folder: Path, layout: Layout) -> InputError:
    absent = [file.path for file in layout.files if not (folder / file.path).exists()]
    return InputError(
        f"{dataset.title} is not here: {', '.join(absent[:3])}" + (" …" if len(absent) > 3 else ""),
        file=folder,
        remedy=f"`covmis dataset get {dataset.name}` fetches it or says how",
    )


def _check(path: Path, file: File) -> None:
    if not file.sha256:
        return
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != file.sha256:
        raise InputError(
            "differs from the state that the published counts belong to",
            file=path,
            remedy="Fetch that state, or read it as it is with check=False (--unchecked)",
        )


def _once(rows: list[Row], dataset: Dataset) -> tuple[list[Row], int]:
    """Remove exact repetitions of rows; a contradiction is an error."""
    seen: dict[tuple[str, str], Row] = {}
    doubled = 0
    for row in rows:
        before = seen.setdefault((row.target_id, row.id), row)
        if before is not row:
            doubled += 1
            if before.label != row.label:
                raise InputError(
                    f"{dataset.name}: the post {row.id} has two labels, {before.label} and {row.label}",
                    remedy="Repair the file; which one is right cannot be guessed",
                )
    return list(seen.values()), doubled


def _in_order(row: Row) -> tuple[str, ...]:
    return tuple(_without_surrogates(getattr(row, name)) for name in COLUMNS[1:])


def _without_surrogates(text: str) -> str:
    """Replace unpaired surrogates, which JSON can represent, by U+FFFD, so that every format can store the text."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
