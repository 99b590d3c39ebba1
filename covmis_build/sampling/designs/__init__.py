"""The ways to draw, by name: a file each, found by the table `DESIGNS`.

A design says who is in (`draw`), whether a further draw of a claim can be joined with earlier ones (`joins`), how the size
of a stratum varies (`variance`), and whether a claim's sample always has the same size (`FIXED_SIZE`). How estimates from
it vary is in `stats.over_posts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from covmis_build.errors import UnknownName, nearest
from covmis_build.sampling.designs import poisson, two_phase

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from covmis_build.sampling.history import Past
    from covmis_build.sampling.inclusion import Allocation


class Design(Protocol):
    """What a file of a design has."""

    NAME: str
    FIXED_SIZE: bool

    def draw(self, kind_of: Mapping[str, str], allocation: Allocation, *, seed: int) -> set[str]:
        """The items of a claim that are in."""

    def joins(
        self, claim: str, kind_of: Mapping[str, str], allocation: Allocation, past: Past, drawn: set[str], *, seed: int
    ) -> bool:  # fmt: skip
        """Whether this draw of a claim can be joined with its frozen items; False: they are its sample."""

    def variance(self, allocation: Allocation, kind: str) -> Fraction:
        """The variance of the number drawn of a kind."""


FILES: tuple[Design, ...] = (poisson, two_phase)
DESIGNS: dict[str, Design] = {design.NAME: design for design in FILES}


def design_of(name: str) -> Design:
    """The design of this name."""
    if name not in DESIGNS:
        raise UnknownName(f"no design is called '{name}'", remedy=nearest(str(name), DESIGNS))
    return DESIGNS[name]
