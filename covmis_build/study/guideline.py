"""Write the guideline or the prompt, unless somebody has changed it since it was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation.guideline import difference, read_guideline
from covmis_build.annotation.round_folder import guideline_version
from covmis_build.errors import InputError
from covmis_build.models.prompt import check_template
from covmis_build.study.prompt import prompt_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from covmis_build.study.of_study import OfStudy


def set_guideline(study: OfStudy, text: str, *, instead_of: str | None) -> None:
    """See `Study.set_guideline`."""
    path = study.places.guideline
    if not text.strip():
        raise InputError("a guideline needs a text", file=path)
    _write(study, path, text, text_of, instead_of)


def set_prompt(study: OfStudy, text: str, *, instead_of: str | None) -> None:
    """See `Study.set_prompt`."""
    check_template(text)
    _write(study, study.places.prompt, text, prompt_of, instead_of)


def _write(
    study: OfStudy, path: Path, text: str, now_of: Callable[[OfStudy], str], instead_of: str | None
) -> None:
    text = f"{text.replace(chr(13), '').rstrip()}\n"
    with study.locked_inputs("covmis open"):
        now = now_of(study)
        if instead_of is not None and guideline_version(now) not in {instead_of, guideline_version(text)}:
            raise InputError(
                "it was changed elsewhere since this page was shown",
                file=path,
                remedy="Compare, and save again to write yours",
            )
        storage.write_text(path, text)


def text_of(study: OfStudy) -> str:
    """Return the guideline as it is now; empty if there is none."""
    path = study.places.guideline
    return read_guideline(path) if path.exists() else ""


def shown_version(text: str) -> str:
    """Return what `set_guideline` takes as `instead_of` for this text."""
    return guideline_version(text)


def changed_lines(before: str, after: str) -> list[str]:
    """Return the lines that differ, marked - and +."""
    return difference(before, after)
