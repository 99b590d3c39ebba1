"""Licences for corpora, by SPDX id (spdx.org/licenses)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence known to catalogues."""

    spdx: str
    name: str
    hub: str = ""
    """Hugging Face's identifier; empty if it has none."""

    @property
    def url(self) -> str:
        """Its page at SPDX."""
        return f"https://spdx.org/licenses/{self.spdx}.html"


CREATIVE_COMMONS = {
    "CC-BY-{}": "Creative Commons Attribution {}",
    "CC-BY-SA-{}": "Creative Commons Attribution Share Alike {}",
    "CC-BY-NC-{}": "Creative Commons Attribution Non Commercial {}",
    "CC-BY-NC-SA-{}": "Creative Commons Attribution Non Commercial Share Alike {}",
    "CC-BY-ND-{}": "Creative Commons Attribution No Derivatives {}",
    "CC-BY-NC-ND-{}": "Creative Commons Attribution Non Commercial No Derivatives {}",
}
LICENCES = (
    *(
        Licence(spdx.format(number), name.format(words), spdx.format(number).casefold())
        for spdx, name in CREATIVE_COMMONS.items()
        for number, words in (("4.0", "4.0 International"), ("3.0", "3.0 Unported"))
    ),
    Licence("CC0-1.0", "Creative Commons Zero v1.0 Universal", "cc0-1.0"),
    Licence("ODbL-1.0", "Open Data Commons Open Database License v1.0", "odbl"),
    Licence("ODC-By-1.0", "Open Data Commons Attribution License v1.0", "odc-by"),
    Licence("PDDL-1.0", "Open Data Commons Public Domain Dedication & License 1.0", "pddl"),
    Licence("CDLA-Permissive-1.0", "Community Data License Agreement Permissive 1.0", "cdla-permissive-1.0"),
    Licence("CDLA-Permissive-2.0", "Community Data License Agreement Permissive 2.0", "cdla-permissive-2.0"),
    Licence("CDLA-Sharing-1.0", "Community Data License Agreement Sharing 1.0", "cdla-sharing-1.0"),
    Licence("MIT", "MIT License", "mit"),
    Licence("Apache-2.0", "Apache License 2.0", "apache-2.0"),
)


def licence_of(text: str) -> Licence | None:
    """Return the licence with this name, ignoring case and spaces; None for the user's own text.

    >>> licence_of("CC BY 4.0").spdx, licence_of("ask us")
    ('CC-BY-4.0', None)
    """
    word = "-".join(text.casefold().split())
    return next((licence for licence in LICENCES if licence.spdx.casefold() == word), None)
