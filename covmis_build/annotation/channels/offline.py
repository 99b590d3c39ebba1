"""One self-contained HTML page per annotator: label with the keyboard, save in the browser, export a file.

The page loads nothing: its content security policy allows only its own script, by hash. Texts are embedded as data
and shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.answers import (
    Answer,
    Channel,
    Phase,
    Problem,
    Status,
    as_moment,
    checked,
    instead_of_labels,
    is_unclear,
    known_label,
    labels_of,
    plausible,
    present,
)
from covmis_build.annotation.frozen_items import by_item
from covmis_build.annotation.guideline import as_html
from covmis_build.annotation.languages import ENGLISH
from covmis_build.annotation.round_folder import sheets_of
from covmis_build.characters import whole_in_json
from covmis_build.errors import InputError
from covmis_build.files.contents import bytes_of
from covmis_build.label_words import SKIP, UNCLEAR
from covmis_build.report.direction import direction
from covmis_build.report.page import TEMPLATES, render
from covmis_build.text.shown import HEADINGS, shown_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.languages import Language
    from covmis_build.options import Labels
    from covmis_build.records import Label

FORMAT = "covmis answers 1"
"""Format name in an exported file."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of answers that a served page sent."""

    later: tuple[Mapping[str, Any], ...] = ()
    """Answers to these items that count instead, because they are later: from another window or device."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Items whose answer is not recorded, with the reason."""

    def of(self, items: Collection[str]) -> Taken:
        """Return what concerns these items."""
        return Taken(
            tuple(row for row in self.later if row["id"] in items),
            {item: why for item, why in self.refused.items() if item in items},
        )

    def to_dict(self) -> dict[str, Any]:
        """As the page gets it."""
        return {"later": list(self.later), "refused": dict(self.refused)}


def offline_page(  # noqa: PLR0913 - each is something that the page shows or does
    frozen: pd.DataFrame,
    wanted: Sequence[str],
    annotator: str,
    scheme: Labels,
    number: str,
    *,
    title: str,
    guideline: str,
    t: Language = ENGLISH,
    part: str = "",
    save: str = "",
    back: str = "",
    by_link: bool = False,
    given: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Build the page with these items, in this order, for this annotator. `part` numbers it among several pages.

    A served page sends answers to the URL `save` and shows the answers `given`; `back` is the URL to go back to. `by_link`
    it is an annotator's own; otherwise the workbench shows it to the lead.
    """
    rows = by_item(frozen)
    script = "".join((TEMPLATES / name).read_text("utf-8") for name in ("keys.js", "offline.js"))
    data = {
        "format": FORMAT,
        "round": number,
        "annotator": annotator,
        "language": t.code,
        "words": t.words_of(script) | {heading: t(heading) for heading in HEADINGS},
        "file": f"{annotator}-{number}{part}.json",
        "labels": [
            {"label": label, "key": key, "subs": list(scheme.sub_labels.get(label, ()))}
            for label, key in zip(scheme.values, scheme.keys, strict=True)
        ],
        "instead": instead_of_labels(scheme),
        "items": [
            {"id": item, "shown": rows[item]["shown"], "parts": _parts(rows[item])}
            | ({"given": given[item]} if given and item in given else {})
            for item in wanted
        ],
        **({"save": save} if save else {}),
    }
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    named = {"number": number, "annotator": annotator}
    title_of_part = t("Round {number}, {annotator}, part {part}", part=part.removeprefix("-part-"), **named)
    return render(
        "offline.html",
        t=t,
        title=title_of_part if part else t("Round {number}, {annotator}", **named),
        study=title,
        guideline=as_html(guideline),
        data=embedded(data),
        script=script,
        digest=digest,
        count=len(wanted),
        save=save,
        back=back,
        kept="" if by_link else f"{sheets_of(number)}{annotator}-{number}.json",
    )


def _parts(item: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the shown parts of an item: heading, text, and text direction."""
    return [(heading, text, direction(text)) for heading, text in shown_parts(item)]


def embedded(data: Any) -> str:
    """Return JSON for a script element, escaped so that no text can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def given_answers(path: Path, annotator: str, labels: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the annotator's answers for the page: from the page's own file, or from the record where another channel has a later one.

    The page sends only changes, so that answers of another channel do not return as answers of the page.
    """
    own = labels[(labels["annotator"] == annotator) & (labels["phase"] == Phase.INDEPENDENT)]
    current = {row.item_id: row for row in labels_of(present(own))}
    said = {
        item: _as_given(row.label or (UNCLEAR if is_unclear(row) else SKIP), row)
        for item, row in current.items()
        if row.status in {Status.GIVEN, Status.SKIPPED}
    }
    by_page = set(own.loc[own["channel"] == Channel.HTML, "item_id"])
    replaced = {item for item in by_page & said.keys() if current[item].channel != Channel.HTML}
    kept = {row["id"]: row for row in _kept(path) if _answer(row, annotator)}
    return said | {item: row for item, row in kept.items() if item not in replaced}


def _as_given(label: str, row: Label) -> dict[str, Any]:
    said = {"label": label, "sub": row.sub_label, "comment": row.comment}
    times = {name: row.given_at for name, text in said.items() if text}
    return said | {"shown": row.shown, "times": times, "channel": row.channel}


def _kept(path: Path) -> list[Any]:
    """Return the answers in a page's file; none if it does not exist."""
    try:
        return list(json.loads(path.read_text("utf-8"))["answers"]) if path.exists() else []
    except (ValueError, KeyError, TypeError):
        raise InputError("is not an export of the page", file=path, remedy="Move it elsewhere") from None


def keep_answers(
    path: Path, annotator: str, number: str, rows: Sequence[Any], why_not: Callable[[Answer], str]
) -> dict[str, str]:
    """Write answers of the page to its export file. The later answer to an item is kept.

    An answer is known by its item and time, so that one that is sent again is no second one. Returns the items whose answer
    does not fit, with the reason that `why_not` gives.
    """
    kept = {row["id"]: row for row in _kept(path) if _answer(row, annotator)}
    before = dict(kept)
    refused: dict[str, str] = {}
    for row in rows:
        answer = _answer(row, annotator)
        if answer is None:
            raise InputError("no answers of the page", remedy="Load the page again")
        why = why_not(answer)
        if why:
            refused[answer.item_id] = why
        elif row["at"] >= kept.get(row["id"], row)["at"]:
            kept[row["id"]] = row
    if kept != before:
        about = {"format": FORMAT, "round": number, "annotator": annotator, "answers": list(kept.values())}
        storage.write_text(path, json.dumps(about, indent=1) + "\n")
    return refused


def counting_instead(given: Mapping[str, dict[str, Any]], rows: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """Return the answers to these items that count instead of those that were sent just now, because they are later."""
    sent = {row["id"]: row for row in rows}
    said = ("label", "sub", "comment")
    return tuple(
        {"id": item, **given[item]}
        for item, row in sent.items()
        if item in given and any(given[item][name] != row[name] for name in said)
    )


def why_not(
    answer: Answer, items: Mapping[str, Mapping[str, Any]], number: str, scheme: Labels, t: Language
) -> str:
    """Return why this answer is none to these items of a page; empty if it is."""
    if answer.item_id not in items:
        return t(
            "this post is not among {annotator}'s posts of round {number}, or not any more",
            annotator=answer.annotator,
            number=number,
        )
    if answer.shown != items[answer.item_id]["shown"]:
        return t("the text of this post is another now: load the page again, and answer again")
    if answer.label and not known_label(answer.label, scheme):
        return t("'{label}' is no label of round {number}", label=answer.label[:40], number=number)
    return ""


def read_export(
    path: Path, annotators: Sequence[str], number: str, items: Mapping[str, Mapping[str, Any]], scheme: Labels
) -> tuple[list[Answer], list[Problem]]:
    """Read a page's export: answers and problems. A removed label has the status `withdrawn`."""
    try:
        data = whole_in_json(json.loads(bytes_of(path).decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"is not an export of the page: {error}", file=path, remedy="Export it again"
        ) from None
    _check_file(path, data, annotators, number)
    answers: list[Answer] = []
    problems: list[Problem] = []
    for at, row in enumerate(data["answers"], start=1):
        where = f"{path.name}, answer {at}"
        answer = _answer(row, data["annotator"])
        if answer is None:
            problems.append(Problem(where, "is not an answer", "Export the page again"))
        elif answer.item_id not in items:
            problems.append(Problem(where, f"the item {answer.item_id} is not in round {number}"))
        else:
            if row["at"] and not answer.given_at:
                what = f"'{row['at'][:40]}' is not a time; the time of the import is used"
                problems.append(Problem(where, what, "Correct the clock there"))
            answer_checked = checked(answer, scheme)
            if answer_checked.status == Status.INVALID:
                problems.append(Problem(where, answer_checked.reason))
            if answer_checked.shown != items[answer.item_id]["shown"]:
                problems.append(
                    Problem(where, f"{answer.item_id} was shown with an altered text; its label is not used")
                )
            answers.append(answer_checked)
    return answers, problems


def _check_file(path: Path, data: Any, annotators: Sequence[str], number: str) -> None:
    if (
        not isinstance(data, dict)
        or data.get("format") != FORMAT
        or not isinstance(data.get("answers"), list)
    ):
        raise InputError("is not an export of the page", file=path, remedy="Use the page's Export button")
    if data.get("round") != number:
        raise InputError(f"is of round {data.get('round')}, not {number}", file=path, remedy="Use --round")
    if data.get("annotator") not in annotators:
        raise InputError(
            f"is of the annotator {data.get('annotator')!r}, who is not in this round",
            file=path,
            remedy=f"Annotators: {', '.join(annotators)}",
        )


def _answer(row: Any, annotator: str) -> Answer | None:
    """Read an exported answer; None if its format is wrong."""
    texts = ("id", "label", "sub", "comment", "at", "shown")
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in texts):
        return None
    comment, flagged = row["comment"].strip(), row.get("flag") is True
    return Answer(
        item_id=row["id"],
        annotator=annotator,
        label=row["label"],
        sub_label=row["sub"],
        comment=": ".join(filter(None, ["flagged" if flagged else "", comment])),
        status=Status.GIVEN if row["label"] or comment else Status.WITHDRAWN,
        channel=Channel.HTML,
        seconds=plausible(row.get("seconds")),
        given_at=as_moment(row["at"]),
        shown=row["shown"],
    )
