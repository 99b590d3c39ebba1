"""The dataset card as Markdown and HTML, from the same sections. Every number comes from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.corpus.card_sections import sections
from covmis_build.corpus.markdown import markdown, markdown_table
from covmis_build.corpus.phrases import count, share
from covmis_build.report import page

if TYPE_CHECKING:
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics


def markdown_card(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Return the card in Markdown, with all external text escaped and the flow as a table."""
    lines = [f"# {markdown(facts.title)}", "", markdown(lead(facts, numbers)), ""]
    for section in sections(facts, numbers):
        lines += [f"## {section.title}", ""]
        lines += [line for text in section.prose.split("\n\n") if text for line in (markdown(text), "")]
        lines += [*(f"- {markdown(point)}" for point in section.points), *([""] if section.points else [])]
        for caption, frame, names in section.tables:
            lines += [f"**{markdown(caption)}**", "", markdown_table(frame, page.shown, names), ""]
        lines += [f"```\n{section.code}\n```", ""] if section.code else []
    lines += [f"Root hash: `{facts.root}` ({facts.sealed_rounds}).", ""] if facts.root else []
    lines += [f"Made with covmis {facts.version} on {facts.date}.", ""]
    return "\n".join(lines)


def html_card(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Return the card as one self-contained page."""
    page_sections = []
    for section in sections(facts, numbers):
        body = Markup("").join(
            [
                Markup("<ul>{}</ul>").format(
                    Markup("").join(Markup("<li>{}</li>").format(point) for point in section.points)
                )
                if section.points
                else Markup(""),
                *(
                    page.table_html(frame, caption=caption, names=names)
                    for caption, frame, names in section.tables
                ),
                Markup('<pre tabindex="0">{}</pre>').format(section.code) if section.code else Markup(""),
            ]
        )
        page_sections.append(
            page.Section(section.title, section.prose, body, (section.figure,) if section.figure else ())
        )
    if facts.root:
        words = (
            "The SHA-256 over all data files of this release, its bundle with all seals, and the numbers of this card. "
            "With it others can verify that nothing was changed, exchanged or removed."
        )
        told = Markup("<p><code>{}</code> ({})</p>").format(facts.root, facts.sealed_rounds)
        page_sections.append(page.Section("Root hash", words, told))
    if facts.release.simulated:
        warning = Markup('<p class="warning">{}</p>').format(SIMULATED)
        page_sections.insert(0, page.Section("Simulated data", body=warning))
    return page.page(
        "Corpus card",
        page_sections,
        study=facts.title,
        lead=lead(facts, numbers),
        tiles=_tiles(facts, numbers),
    )


SIMULATED = "The posts of this corpus are simulated, to demonstrate the software. They say nothing about real opinions."


def lead(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Describe the corpus in one sentence."""
    first, last = facts.period
    when = f", posted from {first} to {last}" if first else ""
    told = f"{count(numbers.rows, 'post')} labelled for the stance towards {count(numbers.claims, 'claim')}{when}."
    return f"{told} {SIMULATED}" if facts.release.simulated else told


def _tiles(facts: ReleaseFacts, numbers: Statistics) -> list[tuple[str, str, str]]:
    total = numbers.by_kind.iloc[-1]
    tiles = [
        ("Posts", f"{numbers.rows:,}", f"on {count(numbers.claims, 'claim')}"),
        *((name, f"{int(total[name]):,}", share(int(total[name]), numbers.rows)) for name in numbers.labels),
        ("Labelled by people", f"{int(total['manual']):,}", f"{int(total['automatic']):,} by rule"),
    ]
    if facts.kappa:
        tiles.append((facts.kappa.name, f"{facts.kappa.value:.2f}", str(facts.kappa.interval or "")))
    return tiles
