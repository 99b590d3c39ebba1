"""Short posts go. Step 3 of the paper's five."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from covmis_build.cleaning.language import code
from covmis_build.cleaning.step import Step
from covmis_build.options import Words
from covmis_build.text.words import count_words, default_unit

if TYPE_CHECKING:
    from covmis_build.options import Cleaning


class LengthRule(NamedTuple):
    """The least length of a text in one language."""

    minimum: int
    unit: str
    without: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.minimum} {self.unit}"


def length_rule(language: str, options: Cleaning) -> LengthRule:
    """The least length, its unit, and what does not count, in this language."""
    rules = {code(tag): rule for tag, rule in options.words.items()}
    rule = rules.get(language) or rules.get(language.partition("-")[0]) or Words()
    minimum = options.minimum_words if rule.minimum is None else rule.minimum
    return LengthRule(minimum, rule.unit or default_unit(language), rule.without)


def long_enough(text: str, rule: LengthRule) -> bool:
    """Whether a post stays; what counts as a word is text/words.py's."""
    # "Exclude the tweets with fewer than 10 words." (3.1): ten stay
    return rule.minimum == 0 or count_words(text, unit=rule.unit, without=rule.without) >= rule.minimum


STEP = Step(
    name="words",
    drops=lambda _options: "m.long_enough = 0",
    reason=lambda pair, _: f"fewer than {pair.least_length}",
)
