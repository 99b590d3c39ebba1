"""Send a study's posts, or those of a file, to a language model, and read its answers as predictions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from covmis_build.engine import silent
from covmis_build.errors import InputError, UnknownName, counted
from covmis_build.operations import About
from covmis_build.report.result import Result
from covmis_build.study.study import open_study

if TYPE_CHECKING:
    from covmis_build.engine import Progress
    from covmis_build.models.asking import Requested
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.study.prompt import Answered


@dataclass(frozen=True, repr=False)
class Asked(Result):
    """What was sent, and what came back; nothing of either before somebody says yes."""

    url: str
    model: str
    items: int
    requested: Requested | None = None
    answered: Answered | None = None

    @property
    def exit_code(self) -> int:
        """3 if posts are left."""
        return 3 if self.requested and self.requested.left else 0

    @property
    def warnings(self) -> list[str]:
        """Where posts go."""
        return [
            f"Posts are sent to {self.url} (model {self.model}): {counted(self.items, 'posts')} with their claims."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of both."""
        if self.requested is None or self.answered is None:
            return {"sent": 0, "items": self.items}
        return self.requested.to_dict() | self.answered.to_dict()

    @property
    def summary(self) -> Summary:
        """Return both in words."""
        if self.requested is None or self.answered is None:
            return ["Nothing was sent. Add --yes to send."]
        return [*self.requested.summary, *self.answered.summary]


def ask_model(  # noqa: PLR0913 - every option is named
    posts: Annotated[
        Path | str | None,
        About(
            "What to ask about: a table of posts and claims (default: the study's frozen items).",
            metavar="DATA",
            argument=True,
        ),
    ] = None,
    *,
    url: Annotated[str, About("URL of an OpenAI-compatible server, like http://127.0.0.1:8080/v1.")],
    model: Annotated[str, About("The model's name on the server.")],
    journal: Annotated[
        Path | str | None,
        About(
            "Log of all answers; a later run resumes from it (default: data/models/MODEL.jsonl of the study).",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | str | None,
        About("The predictions (default: data/models/MODEL.csv of the study).", metavar="FILE"),
    ] = None,
    yes: Annotated[bool, About("Send the items. Without it, only show what would be sent.")] = False,
    budget: Annotated[
        int, About("Maximum number of requests of this journal (0: no limit).", at_least=0)
    ] = 0,
    key_env: Annotated[str, About("The environment variable with the key.", metavar="NAME")] = "",
    temperature: Annotated[float, About("Sampling temperature.", at_least=0, at_most=2)] = 0.0,
    max_tokens: Annotated[int, About("Maximum length of an answer, in tokens.", at_least=1)] = 400,
    seed: Annotated[int, About("Seed from which each item's seed is computed.")] = 0,
    free_text: Annotated[bool, About("Do not send the schema of answers.")] = False,
    template: Annotated[
        Path | str | None,
        About(
            "With {guideline} {claim} {post} {labels} (default: the study's annotation/prompt.md, or covmis's own).",
            metavar="FILE",
        ),
    ] = None,
    labels: Annotated[
        str,
        About(
            "Words, a TOML file with [labels], or a study (default: the study's, or those of the data).",
            metavar="A,B|FILE|STUDY",
        ),
    ] = "",
    show: Annotated[str, About("text: send only the post's text (default: what annotators see).")] = "",
    study: Path | str | None = None,
    progress: Progress = silent,
) -> Asked:
    """Send items to an LLM server and save the answers.

    Without --yes nothing is sent; the command shows what would go where. An interrupted run resumes, and no answered item
    is asked again.

    Example: covmis model ask --url http://127.0.0.1:8080/v1 --model qwen --yes
    """
    from covmis_build.evaluation.label_scheme import label_scheme
    from covmis_build.models.asking import Server
    from covmis_build.models.prompt import Sampling
    from covmis_build.study.prompt import Questions, key_of

    if show not in {"", "text"}:
        raise UnknownName(f"--show {show}", remedy="It is text, or left out")
    opened = open_study(study) if posts is None or study is not None else None
    questions = Questions.of(opened, posts, list(label_scheme(labels).values))
    server = Server(url, key_of(key_env))
    asked = Asked(url, model, len(questions.items))
    if not yes:
        return asked
    log = _place(opened, journal, model, "jsonl", "journal")
    predictions = _place(opened, out, model, "csv", "out")
    requested = questions.ask(
        server,
        Sampling(model, temperature, max_tokens, seed),
        log,
        budget=budget,
        template=template,
        text_alone=show == "text",
        with_schema=not free_text,
        progress=progress,
    )
    return replace(asked, requested=requested, answered=questions.read(log, predictions))


def _place(study: OfStudy | None, named: Path | str | None, model: str, ends: str, option: str) -> Path:
    """Return the file that was named, or the study's own for this model."""
    if named:
        return Path(named)
    if study is None:
        raise InputError(f"--{option} names no file", remedy="Name the file to write")
    return study.places.models / f"{re.sub('[^A-Za-z0-9._-]+', '-', model)}.{ends}"
