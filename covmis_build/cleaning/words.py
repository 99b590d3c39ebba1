"""Drop short posts (step 3 of the paper's five)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.cleaning.step import Step
from covmis_build.text.words import count_words

if TYPE_CHECKING:
    from covmis_build.text.lengths import LengthRule


def long_enough(text: str, rule: LengthRule) -> bool:
    """True if a post is long enough; text/lengths.py has the minimum for each language."""
    # "Exclude the tweets with fewer than 10 words." (3.1): ten are enough
    return rule.minimum == 0 or count_words(text, unit=rule.unit, without=rule.without) >= rule.minimum


STEP = Step(
    name="words",
    drops=lambda _options: "m.long_enough = 0",
    reason=lambda pair, _: f"fewer than {pair.least_length}",
)
