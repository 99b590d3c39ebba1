"""The flow diagram of a card: a box a step, what it kept inside, what it dropped next to it. Inline SVG, no scripts."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.corpus.release_facts import FlowStep

WIDTH, BOX, HEIGHT, STEP, LEFT = 760, 352, 46, 80, 8
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def flow_diagram(steps: Sequence[FlowStep], last: tuple[str, str] | None = None) -> Markup:
    """The steps from top to bottom; `last` is (words, small print) of the corpus itself, drawn filled."""
    boxes = [(_upper(step.keeps), _numbers(step), _dropped(step)) for step in steps]
    if last:
        boxes.append((_upper(last[0]), last[1], []))
    height = STEP * len(boxes) - (STEP - HEIGHT) + 16
    told = "; ".join(
        f"{words}: {numbers}" + "".join(f", {line}" for line in gone) for words, numbers, gone in boxes
    )
    root = ET.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "role": "img",
         "aria-labelledby": "flow-title", "font-family": FONT},
    )  # fmt: skip
    ET.SubElement(root, "title", {"id": "flow-title"}).text = _plain(f"From claims to corpus. {told}.", 4000)
    for at, (words, numbers, gone) in enumerate(boxes):
        top = 8 + at * STEP
        filled = last is not None and at == len(boxes) - 1
        if at:
            _arrow(root, LEFT + BOX / 2, top - (STEP - HEIGHT), top)
        _box(root, top, words, numbers, filled=filled)
        if gone:
            middle = top - (STEP - HEIGHT) / 2
            _line(root, LEFT + BOX / 2, middle, LEFT + BOX + 18, middle)
            first = middle + 4 - 8 * (len(gone) - 1)
            for line, text in enumerate(gone):
                y = first + 16 * line
                _text(root, LEFT + BOX + 26, y, text, size=13, colour="var(--soft, #555)", longest=52)
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - serialised by ElementTree, which escapes


def _box(root: ET.Element, top: float, words: str, numbers: str, *, filled: bool) -> None:
    ET.SubElement(
        root,
        "rect",
        {"x": str(LEFT), "y": str(top), "width": str(BOX), "height": str(HEIGHT), "rx": "9",
         "fill": "var(--accent-soft, #e8f0fb)" if filled else "var(--card, #fff)",
         "stroke": "var(--accent, #1c5fb0)" if filled else "var(--line, #bbb)", "stroke-width": "1.3"},
    )  # fmt: skip
    _text(root, LEFT + 14, top + 20, words, size=14, weight="600", longest=44)
    _text(root, LEFT + 14, top + 37, numbers, size=13, colour="var(--soft, #555)", longest=48)


def _arrow(root: ET.Element, x: float, top: float, bottom: float) -> None:
    _line(root, x, top, x, bottom - 5)
    points = f"{x - 4},{bottom - 7} {x + 4},{bottom - 7} {x},{bottom - 1}"
    ET.SubElement(root, "polygon", {"points": points, "fill": "var(--soft, #555)"})


def _line(root: ET.Element, x1: float, y1: float, x2: float, y2: float) -> None:
    place = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
    ET.SubElement(root, "line", {**place, "stroke": "var(--soft, #555)", "stroke-width": "1.2"})


def _text(
    root: ET.Element,
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    weight: str = "400",
    colour: str = "currentColor",
    longest: int,
) -> None:
    look = {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "font-weight": weight, "fill": colour}
    ET.SubElement(root, "text", look).text = _plain(text, longest)


def _plain(text: str, longest: int) -> str:
    """What XML can hold and a box has room for."""
    kept = "".join(letter for letter in text if unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Cn"})
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _numbers(step: FlowStep) -> str:
    claims = f"{step.claims:,} claim{'s' * (step.claims != 1)}"
    if step.pairs is None:
        return claims
    return f"{step.pairs:,} pair{'s' * (step.pairs != 1)} of claim and post · {claims}"


def _dropped(step: FlowStep) -> list[str]:
    """What the step dropped, most first, on two lines at most."""
    ranked = sorted(step.reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    shown = ranked if len(ranked) <= 2 else ranked[:1]
    more = ranked[len(shown) :]
    told = [f"\N{MINUS SIGN} {number:,} {reason}" for reason, number in shown]
    if more:
        told.append(f"\N{MINUS SIGN} {sum(number for _, number in more):,} for {len(more)} other reasons")
    return told
