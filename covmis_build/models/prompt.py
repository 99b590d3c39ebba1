"""A language model as one more system: requests out, answers in, no network.

Its answers are predictions. They are never gold, and annotators never see them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

TEMPLATE = """\
You judge what a social-media post says about a claim. Follow this guideline:

{guideline}

The claim: {claim}

The post: {post}

Answer with exactly one of these words and nothing else: {labels}
"""
"""Sent unless the user has a template; its hash goes with every request."""
PLACEHOLDER = re.compile(r"\{(guideline|claim|post|labels)\}")

ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""What JSON lets stand in a string and some readers take for the end of a line, or for nothing."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back: item_id and label; and what could not be read, with the reason."""

    predictions: pd.DataFrame
    failures: pd.DataFrame


def requests(
    items: pd.DataFrame, labels: Sequence[str], *, guideline: str = "", template: str = TEMPLATE
) -> list[dict[str, Any]]:
    """One request per item (`item_id`, `claim`, `text`), in the order of their ids.

    Claim and post are put in as they are and never read as a template; labels, kinds and automatic labels stay out.
    """
    for name in ("claim", "post", "labels"):
        if f"{{{name}}}" not in template:
            raise InputError(
                f"the template has no {{{name}}}", remedy="It needs {claim}, {post} and {labels}"
            )
    if lacking := [name for name in ("item_id", "claim", "text") if name not in items.columns]:
        raise InputError(f"the items have no column {lacking[0]}")
    version = hashlib.sha256((template + "\0" + guideline).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    made = []
    for row in items.sort_values("item_id")[["item_id", "claim", "text"]].to_dict("records"):
        if not isinstance(row["text"], str) or not row["text"]:
            raise InputError(
                f"the item {row['item_id']} has no text", remedy="Purged items cannot be asked about"
            )
        values = {
            "guideline": guideline, "claim": str(row["claim"]), "post": row["text"], "labels": ", ".join(labels),
        }  # fmt: skip
        text = _filled(template, values)
        made.append(
            {"item_id": row["item_id"], "template": version, "messages": [{"role": "user", "content": text}]}
        )
    return made


def json_line(request: dict[str, Any]) -> str:
    r"""A request as one line, whatever the reader takes for the end of a line: posts have Unicode's own ones, too.

    >>> print(json_line({"text": "one\u2028two"}), end="")
    {"text": "one\u2028two"}
    """
    text = json.dumps(request, ensure_ascii=False)
    return ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _filled(template: str, values: dict[str, str]) -> str:
    """The template with its places filled in one pass: what is put in is not looked at again."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], template)


def read_answers(path: Path, labels: Sequence[str]) -> Answers:
    """Answers from JSONL with `item_id` and `answer`: each must name exactly one label, as a whole word."""
    import pandas as pd

    rows: dict[str, str] = {}
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=path) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item, answer = _answer(path, number, line)
        if item in rows:
            raise InputError(f"the item {item} is answered twice", file=path, row=number)
        rows[item] = answer
    good, bad = [], []
    for item, answer in rows.items():
        named = named_labels(answer, labels)
        if len(named) == 1:
            good.append((item, named[0]))
        else:
            bad.append((item, answer, "names no label" if not named else f"names {', '.join(named)}"))
    return Answers(
        pd.DataFrame(good, columns=["item_id", "label"]),
        pd.DataFrame(bad, columns=["item_id", "answer", "reason"]),
    )


def _answer(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
        item, answer = row["item_id"], row["answer"]
    except (ValueError, KeyError, TypeError):
        item = answer = None
    if not isinstance(item, str) or not isinstance(answer, str):
        raise InputError(
            "is not an answer", file=path, row=number, remedy='Each line is {"item_id": "…", "answer": "…"}'
        )
    return item, answer


def named_labels(answer: str, labels: Sequence[str]) -> list[str]:
    """The labels that an answer names as whole words, whatever their case; a longer label hides one inside it.

    >>> named_labels("Favor.", ["favor", "against"]), named_labels("not favorable", ["favor", "against"])
    (['favor'], [])
    """
    longest = sorted(labels, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(label)}(?!\w)" for label in longest)
    found = {match.casefold() for match in re.findall(pattern, answer, re.IGNORECASE)}
    return [label for label in labels if label.casefold() in found]


def agreement_with_people(
    predictions: pd.DataFrame, given: pd.DataFrame, labels: Sequence[str], *, name: str = "model"
) -> pd.DataFrame:
    """Cohen's κ of each pair of judges: the model with each annotator, and the annotators among themselves.

    `given` is the table `labels`; only labels that people gave independently count, the last of each.
    """
    import pandas as pd

    from covmis_build.stats.coefficients import cohen_kappa

    own = given[(given["phase"] == "independent") & (given["status"] == "given")]
    own = own.sort_values("given_at", kind="stable").drop_duplicates(["item_id", "annotator"], keep="last")
    judges = {
        person: rows.set_index("item_id")["label"] for person, rows in own.groupby("annotator", sort=True)
    }
    judges = {name: predictions.set_index("item_id")["label"], **judges}
    at = {label: number for number, label in enumerate(labels)}
    rows = []
    for one, other in itertools.combinations(judges, 2):
        both = sorted(set(judges[one].index) & set(judges[other].index))
        table = np.zeros((len(labels), len(labels)))
        for item in both:
            table[at[judges[one][item]], at[judges[other][item]]] += 1
        kappa = float(cohen_kappa(table)) if both else float("nan")
        same = float(np.trace(table) / len(both)) if both else float("nan")
        rows.append({"first": one, "second": other, "items": len(both), "agreement": same, "kappa": kappa})
    return pd.DataFrame(rows, columns=["first", "second", "items", "agreement", "kappa"])
