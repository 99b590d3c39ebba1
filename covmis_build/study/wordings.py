"""Claims whose text was changed after people judged posts by it: the text that they judged is the one that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.claims.lists import claim_texts
from covmis_build.corpus.reworded import Reworded
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.places import Places


PAIR = ["claim_id", "claim"]


def reworded(places: Places, rounds: Sequence[RoundFolder]) -> tuple[Reworded, ...]:
    """Return the claims of the list whose text differs from the one in their rounds; pilots do not count.

    A list that cannot be read has none: `covmis run` refuses it, with its reason.
    """
    counted = [round_ for round_ in rounds if not round_.pilot]
    try:
        now = claim_texts(places.claims_csv)
    except (InputError, FileNotFoundError):
        return ()
    judged: dict[tuple[str, str], list[str]] = {}
    for round_ in counted:
        frozen = storage.read_parquet(round_.folder / "items.parquet", PAIR, storage.RESTORED, only=PAIR)
        for claim, text in sorted(set(zip(*(frozen.column(name).to_pylist() for name in PAIR), strict=True))):
            if claim in now and now[claim] != text:
                judged.setdefault((claim, text), []).append(round_.number)
    return tuple(
        Reworded(claim, text, now[claim], tuple(numbers)) for (claim, text), numbers in sorted(judged.items())
    )


def in_words(claims: Sequence[Reworded]) -> list[str]:
    """Return a sentence on each of these claims, for the terminal."""
    return [
        f"{claim}: “{claim.judged}” is now “{claim.now}”. Published is the text that people judged; to have posts judged "
        "by the new text, give it to a new claim with its own id"
        for claim in claims
    ]
