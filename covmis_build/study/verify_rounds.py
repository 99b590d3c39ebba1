"""Verifying rounds: each against its seal, and each seal against the one before."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.round_folder import RoundKind, every_round, rounds_of_kind
from covmis_build.annotation.seal import verify_chain
from covmis_build.errors import CheckFailed
from covmis_build.report.result import Result
from covmis_build.study.label_studio import compare_rounds

if TYPE_CHECKING:
    from covmis_build.annotation.channels.label_studio.projects import Compared
    from covmis_build.annotation.seal import Verified
    from covmis_build.report.summary import Summary
    from covmis_build.study.study import Study


@dataclass(frozen=True, slots=True, repr=False)
class VerifiedRounds(Result):
    """The outcome for each round; and, where it was asked, how its labels on Label Studio compare with the record."""

    rounds: list[Verified]
    label_studio: list[Compared] | None

    def to_dict(self) -> dict[str, Any]:
        """The outcomes."""
        there = None if self.label_studio is None else [asdict(compared) for compared in self.label_studio]
        return {"rounds": [check.to_dict() for check in self.rounds], "label_studio": there}

    @property
    def summary(self) -> Summary:
        """In words, a sentence a round."""
        told = [check.sentence for check in self.rounds] or ["There is no round yet."]
        if self.label_studio is not None:
            there = [compared.sentence for compared in self.label_studio]
            told += there or ["No round has been on Label Studio."]
        return told

    def check(self) -> None:
        """Fail where a sealed round is not as it was sealed."""
        broken = [check.round for check in self.rounds if check.sealed and not check.stands]
        if broken:
            raise CheckFailed(f"sealed rounds that changed: {', '.join(broken)}")


def verify_rounds(study: Study, *, label_studio: bool = False) -> VerifiedRounds:
    """See `Study.verify_rounds`."""
    places = study.places
    kinds = (RoundKind.STANCE, RoundKind.RECALL)
    checks = [check for kind in kinds for check in verify_chain(rounds_of_kind(places.rounds, kind))]
    there = compare_rounds(study, every_round(places.rounds)) if label_studio else None
    return VerifiedRounds(checks, there)
