"""The card of a release: one set of parts, told in Markdown and as a page. Every number comes from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.corpus.parts import parts
from covmis_build.corpus.words import count, markdown, markdown_table, share
from covmis_build.report import page

if TYPE_CHECKING:
    from covmis_build.corpus.facts import Facts
    from covmis_build.corpus.statistics import Statistics


def markdown_card(facts: Facts, numbers: Statistics) -> str:
    """The card as Markdown: all outside text escaped, the flow as a table."""
    lines = [f"# {markdown(facts.title)}", "", markdown(lead(facts, numbers)), ""]
    for part in parts(facts, numbers):
        lines += [f"## {part.title}", ""]
        lines += [one for text in part.prose.split("\n\n") if text for one in (markdown(text), "")]
        lines += [*(f"- {markdown(point)}" for point in part.points), *([""] if part.points else [])]
        for caption, frame, names in part.tables:
            lines += [f"**{markdown(caption)}**", "", markdown_table(frame, page.shown, names), ""]
        lines += [f"```\n{part.code}\n```", ""] if part.code else []
    lines += [f"Made with covmis {facts.version} on {facts.date}.", ""]
    return "\n".join(lines)


def html_card(facts: Facts, numbers: Statistics) -> str:
    """The card as one self-contained page."""
    sections = []
    for part in parts(facts, numbers):
        body = Markup("").join(
            [
                Markup("<ul>{}</ul>").format(
                    Markup("").join(Markup("<li>{}</li>").format(one) for one in part.points)
                )
                if part.points
                else Markup(""),
                *(
                    page.table_html(frame, caption=caption, names=names)
                    for caption, frame, names in part.tables
                ),
                Markup("<pre>{}</pre>").format(part.code) if part.code else Markup(""),
            ]
        )
        sections.append(page.Section(part.title, part.prose, body, (part.figure,) if part.figure else ()))
    if facts.simulated:
        warning = Markup('<p class="warning">{}</p>').format(SIMULATED)
        sections.insert(0, page.Section("Simulated data", body=warning))
    return page.page(
        "Corpus card", sections, study=facts.title, lead=lead(facts, numbers), tiles=_tiles(facts, numbers)
    )


SIMULATED = (
    "As the title says, the posts of this corpus are simulated: they were made to try and to show the way from claims "
    "to labels, and say nothing about anyone's opinion."
)


def lead(facts: Facts, numbers: Statistics) -> str:
    """One sentence on what this is."""
    first, last = facts.period
    when = f", posted from {first} to {last}" if first else ""
    told = f"{count(numbers.rows, 'post')} labelled for the stance towards {count(numbers.claims, 'claim')}{when}."
    return f"{told} {SIMULATED}" if facts.simulated else told


def _tiles(facts: Facts, numbers: Statistics) -> list[tuple[str, str, str]]:
    total = numbers.by_kind.iloc[-1]
    kappa = facts.overall.get("kappa") or {}
    value = kappa.get("value")
    tiles = [
        ("Posts", f"{numbers.rows:,}", f"on {count(numbers.claims, 'claim')}"),
        *((name, f"{int(total[name]):,}", share(int(total[name]), numbers.rows)) for name in numbers.labels),
        ("Labelled by people", f"{int(total['manual']):,}", f"{int(total['automatic']):,} by rule"),
    ]
    if isinstance(value, int | float):
        low, high = kappa.get("low"), kappa.get("high")
        known = isinstance(low, int | float) and isinstance(high, int | float)
        tiles.append(
            (str(kappa.get("name", "kappa")), f"{value:.2f}", f"{low:.2f} to {high:.2f}" if known else "")
        )
    return tiles
