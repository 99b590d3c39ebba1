"""Links for annotators: who has one, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation import links as record
from covmis_build.annotation.languages import ENGLISH, language_of
from covmis_build.annotation.links import Visit
from covmis_build.annotation.round_folder import RoundKind, every_round
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from covmis_build.annotation.languages import Language
    from covmis_build.annotation.links import Link
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.study.round import Round


@dataclass(frozen=True, slots=True)
class PersonWithLink:
    """One annotator: the link, and when it was last opened."""

    annotator: str
    made_at: str
    """Empty without a link."""
    closed_at: str
    """Empty if the link is open."""
    opened_at: str
    """When it was last opened; empty if never."""
    opened_from: str

    @property
    def state(self) -> str:
        """Return the link's state in a word."""
        return "no link" if not self.made_at else "closed" if self.closed_at else "open"


@dataclass(frozen=True, repr=False)
class Links(Result):
    """The links of a study. `new` are those just made: they can be shown now and never again."""

    people: tuple[PersonWithLink, ...]
    address: str
    new: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> Summary:
        """Return the links' states, and the new links."""
        rows = [
            (row.annotator, row.state, row.made_at, row.opened_at or "never", row.opened_from)
            for row in self.people
        ]
        listing = Listing(("annotator", "link", "made", "last opened", "from"), rows)
        if not self.new:
            return [listing]
        advice = "Send each person only their own link. covmis shows it now and never again: it stores only a hash."
        return [listing, *(f"{code}: {link}" for code, link in self.new.items()), advice]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round links --json` prints it."""
        return super().to_dict() | {"new": dict(self.new)}


def links(study: OfStudy, new: Collection[str] = (), close: Collection[str] = ()) -> Links:
    """See `Study.links`."""
    folder = record.place(study.places)
    with study.locked_rounds("covmis round links"):
        book, now = record.read(folder), storage.moment()
        people = study.settings.annotation.people
        known = {*people, *book.open}
        for code in (*new, *close):
            if code not in (people if code in new else known):
                raise InputError(
                    f"there is no annotator '{code}'", remedy=f"Annotators: {', '.join(sorted(known))}"
                )
        if both := sorted(set(new) & set(close)):
            raise InputError(f"{both[0]} is to get a new link, and to lose it", remedy="Name them once")
        if new and not book.address:
            raise InputError(
                "nothing serves links yet, so that none can be made",
                remedy="Start `covmis open --team`: it makes a link for each annotator",
            )
        if close:
            record.close(folder, set(close), now=now)
        secrets = record.make(folder, dict.fromkeys(new), now=now) if new else {}
    urls = {code: record.url(book.address, secret) for code, secret in secrets.items()}
    return Links(tuple(_people(study, folder)), book.address, urls)


def links_to_serve(study: OfStudy, address: str) -> Links:
    """Return the links of a server at this address: each annotator without an open one gets one."""
    folder = record.place(study.places)
    with study.locked_rounds("covmis open --team"):
        record.keep_address(folder, address)
        lacking = [code for code in study.settings.annotation.people if code not in record.read(folder).open]
    return links(study, new=lacking)


def whose(study: OfStudy, secret: str) -> Link | None:
    """Return the link with this secret, open or closed."""
    return record.read(record.place(study.places)).whose(secret)


def note_visit(study: OfStudy, annotator: str, address: str, what: str = "opened") -> None:
    """Record a visit."""
    visit = Visit(at=storage.moment(), annotator=annotator, address=address, what=what)
    record.note(record.place(study.places), visit)


def rounds_of(study: OfStudy, annotator: str) -> dict[str, list[str]]:
    """Return the rounds that are open and sent, in which this person has posts, with these posts."""
    from covmis_build.study.round import Round

    work: dict[str, list[str]] = {}
    for folder in every_round(study.places.rounds):
        if not why_closed(folder) and (items := Round(study, folder.folder).open_items().get(annotator)):
            work[folder.number] = items
    return work


def rounds_by_link(study: OfStudy) -> list[Round]:
    """Return the open rounds that links lead to, or would if they were sent."""
    from covmis_build.study.round import Round

    rounds = every_round(study.places.rounds)
    return [
        Round(study, folder.folder)
        for folder in rounds
        if folder.kind != RoundKind.CHECKS and not folder.sealed
    ]


def language_of_pages(study: OfStudy) -> Language:
    """Return the annotators' language; English if its file is broken, which the lead hears with the first labelling page."""
    try:
        return language_of(study.settings.annotation.language, study.folder)
    except InputError:
        return ENGLISH


def why_closed(folder: RoundFolder) -> str:
    """Return why links do not lead to this round, with the place of its number; empty if they do."""
    if folder.kind == RoundKind.CHECKS or not folder.pushed_at:
        return "round {number} was not sent out"
    return "round {number} is closed, and records nothing more" if folder.sealed else ""


def round_of(study: OfStudy, number: str) -> Round:
    """Return the round with exactly this number, if links lead to it."""
    from covmis_build.study.round import NoWork, Round

    folder = next((each for each in every_round(study.places.rounds) if each.number == number), None)
    why = why_closed(folder) if folder else "round {number} was taken back, and its answers count nowhere"
    if folder is None or why:
        raise NoWork(why, number=number[:20])
    return Round(study, folder.folder)


def _people(study: OfStudy, folder: Path) -> list[PersonWithLink]:
    book, last = record.read(folder), {visit.annotator: visit for visit in record.visits(folder)}
    newest = {link.annotator: link for link in book.links}
    rows = []
    for code in dict.fromkeys([*study.settings.annotation.people, *book.open]):
        link, visit = newest.get(code), last.get(code)
        rows.append(
            PersonWithLink(
                code,
                link.made_at if link else "",
                link.closed_at if link else "",
                visit.at if visit else "",
                visit.address if visit else "",
            )
        )
    return rows
