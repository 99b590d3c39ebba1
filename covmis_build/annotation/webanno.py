"""Labels made in INCEpTION or WebAnno, exported as WebAnno TSV 3: a file for each document and person.

#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.Stance|label          a layer and its features, each a column behind number, place and token

#Text=Garlic does not help.                a sentence; of several lines each has #Text=
1-1    0-6    Garlic    against[1]         `_`: none; `*`: an annotation without a value; [1]: which; |: one more
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MARK = "#FORMAT=WebAnno TSV 3"
NO_PEOPLE = {"INITIAL_CAS", "CURATION_USER"}
"""Files of a project's export that are not a person's."""
ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}


@dataclass(slots=True)
class Sentence:
    """A sentence, and for each question the labels that somebody gave in it."""

    text: str
    labels: dict[str, list[str]] = field(default_factory=dict)


def sentences(text: str) -> list[Sentence]:
    r"""Read the sentences of a file. Questions are named by layer and feature, such as Stance.label.

    >>> file = "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Stance|label\n\n#Text=No \\| one\n1-1\t0-2\tNo\tagainst[1]\t\n"
    >>> sentences(file + "1-2\t3-4\t|\tagainst[1]|a\\_b[2]\t\n")
    [Sentence(text='No | one', labels={'Stance.label': ['against', 'a_b']})]
    """
    questions: list[str] = []
    read: list[Sentence] = []
    within = False
    for number, line in enumerate(re.split("\r?\n", text), start=1):
        if line.startswith(("#T_SP=", "#T_CH=", "#T_RL=")):
            questions += _columns(line)
        elif line.startswith("#Text="):
            words = _plain(line.removeprefix("#Text="))
            if within:
                read[-1].text += f"\n{words}"
            else:
                read.append(Sentence(words, {question: [] for question in questions if question}))
            within = True
        elif re.match(r"\d+-\d", line):
            if not read:
                raise InputError("has a token before the first #Text=", row=number)
            _add(read[-1], questions, line.split("\t")[3:])
            within = False
    return read


def _columns(line: str) -> list[str]:
    """Return the question of each column of a layer; empty for columns without one, and of chains and relations."""
    kind, _, named = line.partition("=")
    layer, *features = named.split("|")
    name = layer.rpartition(".")[2]
    return [f"{name}.{feature}" if kind == "#T_SP" else "" for feature in features] or [""]


def _add(sentence: Sentence, questions: Sequence[str], cells: Sequence[str]) -> None:
    """Add the labels of a token's row. A label of several tokens is one."""
    for question, cell in zip(questions, cells, strict=False):
        for value in re.split(r"(?<!\\)\|", cell) if question else ():
            label = re.sub(r"(?<!\\)\[\d+\]$", "", value)
            if label not in {"", "_", "*"} and _plain(label) not in sentence.labels[question]:
                sentence.labels[question].append(_plain(label))


def _plain(text: str) -> str:
    r"""Take away the backslashes: of `\|`, `\_`, `\[` … and of `\t`, `\n`, `\r`."""
    return re.sub(r"\\(.)", lambda found: ESCAPED.get(found[1], found[1]), text)


def as_rows(files: Iterable[tuple[str, str, str]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return each person's rows, of files given as person, document and text.

    An item is a document, unless somebody labelled two sentences of one; otherwise a sentence.
    """
    read = [(whose, document, sentences(text)) for whose, document, text in files if whose not in NO_PEOPLE]
    several = any(sum(any(one.labels.values()) for one in each) > 1 for _, _, each in read)
    rows: dict[str, list[dict[str, Any]]] = {}
    for whose, document, each in read:
        parts = [[one] for one in each] if several else [each]
        for number, part in enumerate(parts, start=1):
            labels = (
                {
                    question: [label for one in part for label in one.labels[question]]
                    for question in part[0].labels
                }
                if part
                else {}
            )
            item = f"{document}:{number}" if several else document
            text = " ".join(one.text for one in part)
            rows.setdefault(whose, []).append({"id": item, "text": text, "webanno": labels})
    return list(rows.items())
