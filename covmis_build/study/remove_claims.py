"""Take claims out of the claim list, and say what stays of them: people's labels do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation.round_folder import all_rounds
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.lists import read_claims
from covmis_build.errors import InputError, NoClaim, counted
from covmis_build.files.reading import read_table
from covmis_build.report.result import Result
from covmis_build.study.claims import GIVEN_POSTS
from covmis_build.study.intents import intent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True, slots=True, repr=False)
class RemovedClaims(Result):
    """Claims that were taken out of the list, and what stays of them."""

    claims: Mapping[str, str]
    """Id → text of each."""
    left: int
    given_posts: int
    """Posts that lists gave for them, which are forgotten with them."""
    labelled: Mapping[str, int]
    """Round → frozen posts of these claims."""
    unsealed: Sequence[str] = ()
    """Those of these rounds that are not sealed."""
    done_before: bool = False

    @property
    def summary(self) -> Summary:
        """Return what was removed and what stays."""
        if self.done_before:
            return ["Done already: these claims are not in queries/claims.csv. Nothing was changed."]
        told = [f"Removed claim {claim}: {text}" for claim, text in self.claims.items()]
        told.append(f"{counted(self.left, 'claims')} left in queries/claims.csv.")
        if self.given_posts:
            told.append(f"{counted(self.given_posts, 'posts')} named for them by lists: removed, too.")
        if self.labelled:
            rounds = ", ".join(f"{number} ({count:,})" for number, count in self.labelled.items())
            told.append(
                f"Their posts in rounds stay in the record, and are in no figure of today's claims: {rounds}. "
                "`covmis claims import` with the same id and text brings a claim back, with its labels."
            )
        if self.unsealed:
            told.append(f"Not sealed, and still with people: round {', '.join(self.unsealed)}.")
        return [*told, "Next: `covmis run`."]


def remove_claims(study: OfStudy, claims: Sequence[str]) -> RemovedClaims:
    """See `Study.remove_claims`."""
    places, command = study.places, "covmis claims remove"
    path = places.claims_csv
    with study.locked(places.notes, command), study.locked_inputs(command):
        asked = intent(places, "claims remove", sorted(claims))
        if path.is_file() and asked.begun == storage.sha256_of(path):
            _remove_given(study, claims)
            asked.finish()
            return RemovedClaims({}, 0, 0, {}, done_before=True)
        known = read_claims(path, "csv")
        texts = dict(zip(known["claim_id"], known["text"], strict=True))
        for claim in claims:
            if claim not in texts:
                raise NoClaim.of(claim, list(texts))
        if not claims:
            raise InputError("no claim is named")
        left = known[~known["claim_id"].isin(set(claims))].reset_index(drop=True)
        data = claims_csv(left)
        digest = hashlib.sha256(data).hexdigest()
        labelled = frozen_posts(study, claims)
        rounds = all_rounds(places.rounds)
        unsealed = [round_.number for round_ in rounds if round_.number in labelled and not round_.sealed]
        with asked.making(digest, lambda: storage.sha256_of(path) == digest):
            storage.write_bytes(path, data)
            given = _remove_given(study, claims)
    removed = {claim: texts[claim] for claim in dict.fromkeys(claims)}
    return RemovedClaims(removed, len(left), given, labelled, unsealed)


def frozen_posts(study: OfStudy, claims: Sequence[str]) -> dict[str, int]:
    """Return how many posts of these claims each round has that is no pilot."""
    counts = {
        round_.number: int(round_.items()["claim_id"].isin(set(claims)).sum())
        for round_ in all_rounds(study.places.rounds)
        if not round_.pilot
    }
    return {number: count for number, count in counts.items() if count}


def _remove_given(study: OfStudy, claims: Sequence[str]) -> int:
    """Remove the posts that lists gave for these claims. Returns their number."""
    path = study.places.archives[0] / GIVEN_POSTS
    if not path.is_file():
        return 0
    rows = [(row["post_id"], row["claim_id"], row["kind"]) for row in read_table(path, own=True).rows]
    left = [row for row in rows if row[1] not in set(claims)]
    if not left:
        storage.remove(path)
    elif len(left) < len(rows):
        storage.write_bytes(path, storage.csv_bytes(["post_id", "claim_id", "kind"], left))
    return len(rows) - len(left)
