"""Language models as systems: write requests and read answers, without network access.

Answers are predictions. They are never gold, and annotators never see them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from covmis_build import keyed
from covmis_build.characters import whole_in_json
from covmis_build.errors import InputError
from covmis_build.files.contents import bytes_of
from covmis_build.label_words import NO_ALIASES
from covmis_build.models.answers import read_answer, schema
from covmis_build.records import independent
from covmis_build.text.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

TEMPLATE = """\
You judge what a social-media post says about a claim. Follow this guideline:

{guideline}

The claim: {claim}

The post: {post}

Answer with one JSON object and nothing else: {"label": "…", "confidence": a number from 0 to 1, "reason": "one short sentence"}
The label is exactly one of these: {labels}
"""
"""The default prompt. Its hash (or that of the user's template) is in every request."""
PLACEHOLDER = re.compile(r"\{(guideline|claim|post|labels)\}")

ENDS = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that JSON strings allow but some readers drop or treat as line ends; also unpaired surrogates."""


class Form(StrEnum):
    """Format of the request file."""

    JSONL = "jsonl"
    OPENAI_BATCH = "openai-batch"
    """Lines for OpenAI's batch API, which vLLM's run-batch also reads."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters. Each item has its own seed, derived from this one."""

    model: str = ""
    temperature: float = 0.0
    max_tokens: int = 400
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """A request for one item. `template` is a hash of template and guideline."""

    item_id: str
    template: str
    content: str
    labels: tuple[str, ...] = ()

    def line(self) -> str:
        r"""Return the request as one line. Posts may contain Unicode line separators, which are escaped.

        >>> print(Request("a|x:1", "0f", "one\u2028two").line(), end="")
        {"item_id": "a|x:1", "template": "0f", "messages": [{"role": "user", "content": "one\u2028two"}]}
        """
        return json_line({"item_id": self.item_id, "template": self.template, "messages": self.messages})

    @property
    def messages(self) -> list[dict[str, str]]:
        """Return the conversation so far: one message."""
        return [{"role": "user", "content": self.content}]

    def body(self, sampling: Sampling) -> dict[str, Any]:
        """Return the body of a request to an OpenAI-compatible server, with the answer's schema."""
        form = {"name": "stance", "strict": True, "schema": schema(self.labels)}
        return {
            "model": sampling.model,
            "messages": self.messages,
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "seed": int(keyed.uniform(sampling.seed, "ask", self.item_id) * 2**31),
            "response_format": {"type": "json_schema", "json_schema": form},
        }

    def batch_line(self, sampling: Sampling) -> str:
        """Return a line for OpenAI's batch API."""
        return json_line(
            {
                "custom_id": self.item_id,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": self.body(sampling),
            }
        )


def json_line(record: dict[str, Any]) -> str:
    """Return a record as one line for any reader of lines."""
    text = json.dumps(record, ensure_ascii=False)
    return ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", text) + "\n"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers: item_id, label, confidence; and failures with the reason."""

    predictions: pd.DataFrame
    failures: pd.DataFrame


def prompt(
    items: pd.DataFrame,
    labels: Sequence[str],
    *,
    guideline: str = "",
    template: str = TEMPLATE,
    text_alone: bool = False,
) -> list[Request]:
    """Return one request per item (`item_id`, `claim`, `text`), ordered by id.

    For frozen items a request has everything that annotators saw or, with `text_alone`, the post's own words. Claim and post
    are inserted literally and never treated as a template. Labels, query types and automatic labels are not included.
    """
    check_template(template)
    if lacking := [name for name in ("item_id", "claim", "text") if name not in items.columns]:
        raise InputError(f"the items have no column {lacking[0]}")
    version = hashlib.sha256((template + "\0" + guideline).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    requests = []
    for row in items.sort_values("item_id").to_dict("records"):
        if not isinstance(row["text"], str) or not row["text"]:
            raise InputError(
                f"the item {row['item_id']} has no text", remedy="Purged items cannot be asked about"
            )
        post = shown_text({str(name): cell for name, cell in row.items()}, text_alone=text_alone)
        values = {
            "guideline": guideline,
            "claim": str(row["claim"]),
            "post": post,
            "labels": ", ".join(labels),
        }
        requests.append(Request(str(row["item_id"]), version, _filled(template, values), tuple(labels)))
    return requests


def check_template(template: str) -> None:
    """Refuse a template that lacks what every request needs."""
    for name in ("claim", "post", "labels"):
        if f"{{{name}}}" not in template:
            raise InputError(
                f"the template has no {{{name}}}", remedy="It needs {claim}, {post} and {labels}"
            )


def _filled(template: str, values: dict[str, str]) -> str:
    """Fill the template in one pass, so that inserted text is not filled again."""
    return PLACEHOLDER.sub(lambda place: values[place[1]], template)


def read_answers(
    path: Path, labels: Sequence[str], aliases: Mapping[str, Sequence[str]] = NO_ALIASES
) -> Answers:
    """Read answers from JSON lines: `item_id` and `answer`, or the output of OpenAI's batch API.

    `models.answers` parses the label. Answers without a single label are counted with the reason.
    """
    import pandas as pd

    answered: dict[str, object] = {}
    for number, item, answer in _answers(path):
        if item in answered:
            raise InputError(f"the item {item} is answered twice", file=path, row=number)
        answered[item] = answer
    good, bad = [], []
    for item, answer in answered.items():
        reading = read_answer(answer, labels, aliases)
        if reading.label:
            good.append((item, reading.label, reading.confidence))
        else:
            shown = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            bad.append((item, shown, str(reading.outcome)))
    return Answers(
        pd.DataFrame(good, columns=["item_id", "label", "confidence"]),
        pd.DataFrame(bad, columns=["item_id", "answer", "reason"]),
    )


def _answers(path: Path) -> Iterator[tuple[int, str, object]]:
    """Return row, item and answer of each line; a missing answer (null, server error) is None."""
    try:
        lines = bytes_of(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot be read: {error}", file=path) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = whole_in_json(json.loads(line))
            if isinstance(row, dict) and ("attempt" in row or "question" in row):
                continue  # lines of `covmis model ask` that are not answers
            item, answer = (
                (row["custom_id"], content_of(row["response"]))
                if "custom_id" in row
                else (row["item_id"], row["answer"])
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            item = answer = None
        if not isinstance(item, str) or not isinstance(answer, str | dict | None):
            raise InputError(
                "is not an answer",
                file=path,
                row=number,
                remedy='Each line is {"item_id": "…", "answer": "…"}, or a line of a batch\'s output',
            )
        yield number, item, answer


def content_of(response: Any) -> str | None:
    """Return the answer in a response of OpenAI's chat API: the text, a refusal, or None."""
    if not isinstance(response, dict):
        return None
    try:
        message = response.get("body", response)["choices"][0]["message"]
        content = message.get("content") or message.get("refusal")
        if isinstance(content, list):  # in parts: the model's thinking is in others
            content = "".join(part["text"] for part in content if part["type"] == "text")
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return content if isinstance(content, str) else None


def independent_labels(given: pd.DataFrame) -> pd.DataFrame:
    """Return people's independent labels, the last of each person and item; all labels of a plain table."""
    if not {"phase", "status", "given_at"} <= set(given.columns):
        return given.drop_duplicates(["item_id", "annotator"], keep="last")
    return (
        independent(given)
        .sort_values("given_at", kind="stable")
        .drop_duplicates(["item_id", "annotator"], keep="last")
    )


def agreement_with_people(
    predictions: pd.DataFrame, given: pd.DataFrame, labels: Sequence[str]
) -> pd.DataFrame:
    """Return Cohen's κ of each pair: the model with each annotator, and annotators with each other.

    `given` is the table `labels`. Only people's independent labels count, the last of each person and item.
    """
    import pandas as pd

    from covmis_build.stats.coefficients import cohen_kappa, observed, table_of_two

    own = independent_labels(given)
    judges = {
        person: dict(zip(rows["item_id"], rows["label"], strict=True))
        for person, rows in own.groupby("annotator", sort=True)
    }
    judges = {"model": dict(zip(predictions["item_id"], predictions["label"], strict=True)), **judges}
    rows = []
    for first, second in itertools.combinations(judges, 2):
        table = table_of_two(judges[first], judges[second], labels)
        same, kappa = float(observed(table)), float(cohen_kappa(table))
        rows.append(
            {"first": first, "second": second, "items": int(table.sum()), "agreement": same, "kappa": kappa}
        )
    return pd.DataFrame(rows, columns=["first", "second", "items", "agreement", "kappa"])
