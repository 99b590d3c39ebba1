"""The sampling designs by name, one module each, registered in `DESIGNS`.

A design chooses items (`draw`), tells whether a further draw of a claim can be combined with earlier ones (`joins`), and gives
the variance of a stratum's size (`variance`) and whether a claim's sample size is fixed (`FIXED_SIZE`).
`stats.over_posts` computes the variance of estimates.
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
    """The content of a design's module."""

    NAME: str
    FIXED_SIZE: bool

    def draw(self, kind_of: Mapping[str, str], allocation: Allocation, *, seed: int) -> set[str]:
        """Return the sampled items of a claim."""

    def joins(
        self,
        claim: str,
        kind_of: Mapping[str, str],
        allocation: Allocation,
        past: Past,
        drawn: set[str],
        *,
        seed: int,
    ) -> bool:
        """True if this draw of a claim can be combined with its frozen items; False: these remain its sample."""

    def variance(self, allocation: Allocation, kind: str) -> Fraction:
        """Return the variance of the number sampled of a kind."""


FILES: tuple[Design, ...] = (poisson, two_phase)
DESIGNS: dict[str, Design] = {design.NAME: design for design in FILES}


def design_of(name: str) -> Design:
    """Return the design of this name."""
    if name not in DESIGNS:
        raise UnknownName(f"no design is called '{name}'", remedy=nearest(str(name), DESIGNS))
    return DESIGNS[name]
