"""What forms showed of the study: each form carries it, and is refused if that has changed since the page was made."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.study.purge import state_of_purge
from covmis_build.study.study import open_study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from covmis_build.workbench.bench import Bench

FIELD = "shown"
"""The field in which a form carries what it showed: text itself where people edit text, else a digest made here."""
AGAIN = "Look at it as it is now, and press again"


def text_shown(form: Mapping[str, str]) -> str:
    """Return the text that a form showed for editing, which the operation compares with the present one."""
    if FIELD not in form:
        raise InputError("this form does not say what it showed", remedy="Load the page again")
    return form[FIELD]


class Shown(NamedTuple):
    """What a form is about, and the digest of it that its page was made with."""

    subject: str
    of: str
    digest: str

    def check(self, bench: Bench) -> None:
        """Refuse if it is not so any more."""
        if self.digest != digest(bench, self.subject, self.of):
            what = SUBJECTS[self.subject][0].format(of=self.of)
            raise InputError(f"{what} changed since this page was shown. Nothing was done", remedy=AGAIN)


def shown_in(form: Mapping[str, str], subject: str, of: str = "") -> Shown:
    """Return what a form says that it showed."""
    return Shown(subject, of, text_shown(form))


def digest(bench: Bench, subject: str, of: str = "") -> str:
    """Return what a form about this carries."""
    now = SUBJECTS[subject][1](bench, of)
    return hashlib.sha256(repr(now).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _rounds(bench: Bench, _: str) -> object:
    return [round_.number for round_ in bench.study.rounds], bench.study.recall().rounds


def _round(bench: Bench, of: str) -> object:
    """The people's records of a round: every label, decision, seal, and when it was sent."""
    folder = bench.study.places.relative(bench.study.round(of).folder.folder)
    return bench.state(f"{folder}/*.json*")


def _file(bench: Bench, of: str) -> object:
    path = bench.folder / of
    return storage.state_of(path) if path.is_file() else None


def _claim(bench: Bench, of: str) -> object:
    claims = [claim for claim in bench.claims if claim.claim_id == of]
    return claims, bench.in_rounds(of)


def _link(bench: Bench, of: str) -> object:
    return [
        (person.made_at, person.closed_at) for person in bench.study.links().people if person.annotator == of
    ]


SUBJECTS: dict[str, tuple[str, Callable[[Bench, str], object]]] = {
    "rounds": ("the rounds of the study", _rounds),
    "round": ("round {of}", _round),
    "file": ("{of}", _file),
    "columns": ("{of}, or how files are read,", lambda bench, of: (_file(bench, of), bench.study.settings.retrieval.columns)),
    "claim": ("claim {of}", _claim),
    "dropped": ("the file that was dropped in", lambda bench, of: bench.dropped.get(of)),
    "predictions": ("the predictions {of}", lambda bench, of: storage.state_of(path) if (path := bench.predictions.get(of)) else None),
    "prompt": ("the prompt, the guideline or the posts", lambda bench, _: [each.content for each in bench.study.questions().requests()]),
    "purge": ("the list of what is to be deleted", lambda bench, _: state_of_purge(open_study(bench.folder, half_purged=True)).keys),
    "link": ("the link of {of}", _link),
    "release": ("the study", lambda bench, _: bench.state()),
}  # fmt: skip
"""What forms are about: in words, and what of it must be as it was shown."""
