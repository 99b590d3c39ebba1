"""Create a study: default settings and the template's files, with a guideline for its labels."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation.first_guideline import first_guideline
from covmis_build.annotation.languages import guideline_in
from covmis_build.errors import InputError, UnknownName
from covmis_build.options import LANGUAGES, Annotation, Cleaning
from covmis_build.places import STUDY_TOML, Places
from covmis_build.settings import Settings, labels_of, settings_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

OF_NEW = Cleaning(scope="claim", similar_words="unicode")
"""A text that several claims find is labelled for each, and texts are compared by whole words in every script. The defaults are
the paper's: one label for the whole study, and scikit-learn's words."""

FOR_ANNOTATORS = LANGUAGES
"""Languages that a new study can have, each with its own name."""


def is_study(folder: Path) -> bool:
    """True if this folder contains a study."""
    return (folder / STUDY_TOML).is_file()


def new_study(
    folder: Path,
    title: str,
    own: Mapping[Path, bytes] | None = None,
    *,
    labels: Sequence[str] | str = (),
    cleaning: Cleaning = OF_NEW,
    language: str = "en",
) -> list[str]:
    """Create a study with these labels (default: the usual ones) in this empty or new folder. Returns the names of its files.

    Annotators see it in this language, the guideline included.

    `own` are additional files, or replacements of template files. An attempt that was interrupted is completed; one that
    was completed, and nothing changed since, changes nothing. study.toml is written last.
    """
    if language not in LANGUAGES:
        raise UnknownName(
            f"annotators cannot see the study in '{language}' yet",
            remedy=f"Choose from {', '.join(LANGUAGES)}; [annotation] language can name a file of your own",
        )
    scheme = labels_of(labels)
    template = {folder / name: text for name, text in _texts(files("covmis_build") / "template")}
    guideline = Places(folder).guideline
    skeleton = template[guideline] if language == "en" else guideline_in(language)
    template[guideline] = first_guideline(skeleton, scheme.values)
    texts = {path: text.encode() for path, text in template.items()} | dict(own or {})
    settings = Settings(
        title or folder.name, cleaning=cleaning, labels=scheme, annotation=Annotation(language=language)
    )
    texts[folder / STUDY_TOML] = settings_toml(settings, explained=True).encode()
    there = [path for path in folder.rglob("*") if not path.is_dir()]
    half = [path for path in there if storage.is_unfinished(path)]
    ours = {path for path, data in texts.items() if path.is_file() and path.read_bytes() == data}
    if folder.is_file() or not ours.issuperset(set(there).difference(half)):
        raise InputError("is there already and not empty", file=folder, remedy="Choose another name")
    for path in half:
        storage.remove(path)
    storage.make_closed(folder)  # posts are personal data
    for path, data in texts.items():
        if path not in ours:
            storage.write_bytes(path, data)
    return [path.relative_to(folder).as_posix() for path in texts]


def _texts(place: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield prefix + entry.name, entry.read_text("utf-8")
