"""Drop posts in other languages (step 2 of the paper's five)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.cleaning.step import Step
from covmis_build.text.language import UNDETERMINED, detect_languages, language_code

if TYPE_CHECKING:
    from covmis_build.options import Cleaning


def languages(texts: list[str], tags: list[str | None], options: Cleaning) -> list[str]:
    """Return the platform's tag ("" if undetermined); the detector's result if there is no tag."""
    if options.language_source == "detector":
        return detect_languages(texts, options.detector)
    # "Not English" is what the platform's language tag says (3.1).
    known = {tag: "" if not tag or UNDETERMINED.fullmatch(tag) else language_code(tag) for tag in set(tags)}
    tagged = [known[tag] for tag in tags]
    untagged = [at for at, tag in enumerate(tags) if not tag]
    detected = detect_languages([texts[at] for at in untagged], options.detector) if untagged else []
    for at, language in zip(untagged, detected, strict=True):
        tagged[at] = language
    return tagged


def fits(language: str, options: Cleaning) -> bool:
    """True if posts in this language are kept."""
    if not options.languages:
        return True  # all languages, also one that no detector can name
    if not language:
        return options.undetermined == "keep"
    wanted = {language_code(tag) for tag in options.languages}
    return language in wanted or language.partition("-")[0] in wanted


STEP = Step(
    name="language",
    drops=lambda _options: "m.language_fits = 0",
    reason=lambda pair, _: (
        f"language {pair.detected_language}" if pair.detected_language else "language undetermined"
    ),
)
