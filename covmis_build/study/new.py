"""A new study: settings with their defaults, and the template's files."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.places import STUDY_TOML
from covmis_build.settings import Settings, settings_toml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path


def is_study(folder: Path) -> bool:
    """Whether there is a study in this folder."""
    return (folder / STUDY_TOML).is_file()


def new_study(folder: Path, title: str) -> list[str]:
    """Write a new study into this folder, which must be empty or not be there; their names."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already and not empty", file=folder, remedy="Choose another name")
    texts = dict(_texts(files("covmis_build") / "template"))
    texts[STUDY_TOML] = settings_toml(Settings(title or folder.name), explained=True)
    for name, text in texts.items():
        storage.write_text(folder / name, text)
    return list(texts)


def _texts(place: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield prefix + entry.name, entry.read_text("utf-8")
