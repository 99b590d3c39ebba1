"""The flow diagram of a card: a box a step with what it kept, and what it dropped above that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.report import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from covmis_build.corpus.release_facts import FlowStep


def flow_diagram(steps: Sequence[FlowStep], last: tuple[str, str] | None = None) -> Markup:
    """The steps from top to bottom; `last` is (words, small print) of the corpus itself, drawn filled."""
    boxes = [(_upper(step.keeps), _numbers(step), _dropped(step)) for step in steps]
    if last:
        boxes.append((_upper(last[0]), last[1], []))
    parts = (f"{words}: {numbers}" + "".join(f", {line}" for line in gone) for words, numbers, gone in boxes)
    return figures.steps(boxes, alt=f"From claims to corpus. {'; '.join(parts)}.", last=last is not None)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _numbers(step: FlowStep) -> str:
    claims = f"{step.claims:,} claim{'s' * (step.claims != 1)}"
    if step.pairs is None:
        return claims
    return f"{step.pairs:,} pair{'s' * (step.pairs != 1)} of claim and post · {claims}"


def _dropped(step: FlowStep) -> list[str]:
    """What the step dropped, most first, in two lines at most."""
    ranked = sorted(step.reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    shown = ranked if len(ranked) <= 2 else ranked[:1]
    more = ranked[len(shown) :]
    told = [f"\N{MINUS SIGN} {number:,} {reason}" for reason, number in shown]
    if more:
        told.append(f"\N{MINUS SIGN} {sum(number for _, number in more):,} for {len(more)} other reasons")
    return told
