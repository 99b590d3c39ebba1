"""Ask a language model about frozen items or a file of posts: write requests, import answers. Only `ask` sends anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.files.contents import text_of
from covmis_build.label_words import NO_ALIASES
from covmis_build.models import asking
from covmis_build.models.posts import id_column, read_posts
from covmis_build.models.prompt import (
    TEMPLATE,
    Form,
    Request,
    Sampling,
    agreement_with_people,
    prompt,
    read_answers,
)
from covmis_build.options import by_people
from covmis_build.report.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.models.asking import Server
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

SEEN = ["item_id", "claim", "text", "show", "created_at", "cards", "quoted", "parent", "media"]
"""Columns of frozen items that `text.shown` needs."""
SHOWN = 20
"""Maximum number of unusable answers shown with their reasons."""


@dataclass(frozen=True, slots=True, repr=False)
class WrittenRequests(Result):
    """The written requests. `template` is the hash of template and guideline."""

    requests: int
    template: str | None
    file: Path

    @property
    def summary(self) -> Summary:
        """Return what was written and the next step."""
        return [f"Wrote {self.requests:,} requests to {self.file}. Answers come back with `--answers FILE`."]


@dataclass(frozen=True, slots=True, repr=False)
class Answered(Result):
    """`predictions`, `failures` (answers without a single label, with the reason), and agreement with people in `pairs`."""

    predictions: pd.DataFrame
    failures: pd.DataFrame
    unanswered: int
    pairs: pd.DataFrame | None
    file: Path

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, the failures and, in a study with labels, the pairs of annotators."""
        told = {
            "predictions": len(self.predictions),
            "failures": self.failures,
            "unanswered": self.unanswered,
        }
        return told if self.pairs is None else {**told, "pairs": self.pairs}

    @property
    def summary(self) -> Summary:
        """Return counts, the first failures, agreement and the next step as text and tables."""
        said, failures = len(self.predictions), self.failures
        parts: list[str | pd.DataFrame] = [
            f"{said:,} answers name one label; {len(failures):,} do not; {self.unanswered:,} items have no answer.",
            *(f"- {reason}: {count:,}" for reason, count in failures["reason"].value_counts().items()),
        ]
        if len(failures):
            shown = failures.head(SHOWN)[["item_id", "reason", "answer"]]
            parts.append(shown.assign(answer=[" ".join(answer.split())[:60] for answer in shown["answer"]]))
        if len(failures) > SHOWN:
            parts.append(f"… and {len(failures) - SHOWN:,} more: --json has all.")
        parts += [] if self.pairs is None else [self.pairs]
        wrong = " --missing wrong" if len(failures) or self.unanswered else ""
        return [*parts, f"Wrote {self.file}. Next: `covmis evaluate score GOLD {self.file}{wrong}`."]


@dataclass(frozen=True, slots=True)
class Questions:
    """The items to ask about (item_id, claim, text), with the study's data on them."""

    items: pd.DataFrame
    labels: list[str]
    study: OfStudy | None

    @classmethod
    def of(cls, study: OfStudy | None, posts: pd.DataFrame | str | Path | None, labels: list[str]) -> Self:
        """Return the study's frozen items, or posts with an id and a claim."""
        values = labels or (list(study.settings.labels.values) if study else [])
        if not values:
            raise InputError(
                "the label set is unknown", remedy="Name it: labels (--labels), or a study (--study)"
            )
        return cls(_frozen(study) if study and posts is None else _posts(posts), values, study)

    def requests(self, template: str | Path | None = None, *, text_alone: bool = False) -> list[Request]:
        """Return a request for each item, with the study's guideline and its own prompt, if it has one."""
        guideline = self.study.places.guideline if self.study else None
        return prompt(
            self.items,
            self.labels,
            guideline=text_of(guideline, own=True) if guideline and guideline.is_file() else "",
            template=text_of(Path(template), own=True) if template is not None else prompt_of(self.study),
            text_alone=text_alone,
        )

    def write(
        self,
        out: str | Path,
        template: str | Path | None = None,
        *,
        form: str = Form.JSONL,
        sampling: Sampling | None = None,
        text_alone: bool = False,
    ) -> WrittenRequests:
        """Write a request for each item. Batch files name the model."""
        if form not in set(Form):
            raise UnknownName(f"no form of requests is called '{form}'", remedy=nearest(form, Form))
        how = sampling or Sampling()
        if form == Form.OPENAI_BATCH and not how.model:
            raise InputError("a batch names the model that is to answer", remedy="Name it: model (--model)")
        requests = self.requests(template, text_alone=text_alone)
        batch = form == Form.OPENAI_BATCH
        lines = (request.batch_line(how) if batch else request.line() for request in requests)
        storage.write_text(Path(out), "".join(lines))
        return WrittenRequests(len(requests), requests[0].template if requests else None, Path(out))

    def ask(
        self,
        server: Server,
        sampling: Sampling,
        journal: str | Path,
        *,
        budget: int = 0,
        template: str | Path | None = None,
        text_alone: bool = False,
        with_schema: bool = True,
        progress: Progress = silent,
    ) -> asking.Requested:
        """Send the items' texts to a server and store every answer in the journal; see `models.asking`."""
        return asking.ask(
            self.requests(template, text_alone=text_alone),
            server,
            sampling,
            Path(journal),
            budget=budget,
            with_schema=with_schema,
            progress=progress,
        )

    def read(self, answers: str | Path, out: str | Path) -> Answered:
        """Read the answers, write predictions, and compare with people if the study has labels."""
        aliases = self.study.settings.labels.aliases if self.study else NO_ALIASES
        answered = read_answers(Path(answers), self.labels, aliases)
        items = [*answered.predictions["item_id"], *answered.failures["item_id"]]
        asked = set(self.items["item_id"].astype(str))
        for item in items:
            if item not in asked:
                raise InputError(f"answers for the item {item}, which was not asked about", file=answers)
        rows = answered.predictions[["item_id", "label"]].itertuples(index=False, name=None)
        storage.write_bytes(Path(out), storage.csv_bytes(["item_id", "prediction"], rows))
        pairs = None
        if self.study and (labels := labels_of(self.study)) is not None:
            pairs = agreement_with_people(answered.predictions, labels, self.labels)
        return Answered(answered.predictions, answered.failures, len(asked) - len(items), pairs, Path(out))


def prompt_of(study: OfStudy | None) -> str:
    """Return the study's prompt, covmis's own if it has none."""
    own = study.places.prompt if study else None
    return text_of(own, own=True) if own and own.is_file() else TEMPLATE


def labels_of(study: OfStudy) -> pd.DataFrame | None:
    """Return people's labels of all rounds, without withdrawn ones."""
    import pandas as pd

    from covmis_build.annotation.answers import present
    from covmis_build.annotation.round_folder import all_rounds

    given = [present(labels) for round_ in all_rounds(study.places.rounds) if len(labels := round_.labels())]
    return by_people(pd.concat(given)) if given else None


def _frozen(study: OfStudy) -> pd.DataFrame:
    """Return the frozen items to ask about: no pilots or purged items, and only what annotators see."""
    from covmis_build.annotation.frozen_items import frozen_items

    frozen = frozen_items(study.places.rounds)
    if frozen.empty:
        raise InputError(
            "no round has been opened", remedy="Run `covmis round open`, or name a file of posts"
        )
    usable = (~frozen["pilot"].astype(bool)) & frozen["text"].fillna("").astype(str).ne("")
    return frozen.loc[usable, SEEN].drop_duplicates("item_id")


def _posts(posts: pd.DataFrame | str | Path | None) -> pd.DataFrame:
    assert posts is not None
    frame = read_posts(posts, labelled=False)
    ids = id_column(frame)
    if not ids or "target" not in frame.columns:
        raise InputError(
            "needs the columns item_id, claim and text",
            file="" if not isinstance(posts, str | Path) else posts,
        )
    twice = frame.loc[frame[ids].astype(str).duplicated(), ids]
    if len(twice):
        raise InputError(
            f"has the {ids} {twice.iloc[0]} under several claims: its answers could not be told apart",
            file="" if not isinstance(posts, str | Path) else posts,
            remedy="Give every row an item_id",
        )
    return frame.rename(columns={ids: "item_id"}).assign(claim=frame["target"])


def key_of(variable: str) -> str:
    """Return the API key in this environment variable; None if no variable is named."""
    if variable and not os.environ.get(variable):
        raise InputError(
            f"the environment has no {variable}", remedy="Set it to the key, or leave --key-env out"
        )
    return os.environ[variable] if variable else ""
