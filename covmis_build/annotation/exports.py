"""Labels made in other tools: Label Studio, doccano, Prodigy, Argilla, Labelbox, Potato, INCEpTION, and tables; read into one record.

    Label Studio   JSON (tasks with annotations), JSON_MIN and CSV (a row an annotation)
    doccano        JSON lines (id, text, label): a file a person, also as the zip that it downloads
    Prodigy        JSON lines (answer, accept or label, _annotator_id)
    Argilla        JSON of records (fields, responses), or a data set with columns `question.responses`
    Labelbox       JSON lines (data_row, projects with labels), with label_details
    Potato         the folder annotation_output with a folder a person, or its CSV (columns `schema:::label`)
    INCEpTION      WebAnno TSV 3: a file, or the project's zip or folder (a folder a document, a file a person)
    tables         long (item, annotator, label) or wide (item, a column a person): `label_matrix` reads them

A tool with several questions needs --question. Skipped, rejected and drafted answers are no labels.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import webanno
from covmis_build.annotation.answers import as_moment, plausible
from covmis_build.children import in_child
from covmis_build.errors import InputError, counted, doubted, nearest
from covmis_build.files.columns import IDS, POSTS, column_of, folded
from covmis_build.files.contents import LARGEST, bytes_of, text_of
from covmis_build.files.frames import batches
from covmis_build.files.json_rows import counted_values, documents
from covmis_build.files.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = dict[str, Any]
KINDS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx"}
ITEMS = ("item_id", "uid", "item", *IDS)
"""Keys of a task's data that hold its id, before the tool's own number."""
TEXTS = ("post", *POSTS["text"], "sentence", "content", "body", "document", "tweet")
PEOPLE = (
    "annotator", "annotator_id", "coder", "coder_id", "rater", "rater_id", "user", "username", "user_id", "worker",
    "worker_id", "workerid", "completed_by", "annotated_by", "person",
)  # fmt: skip
NO = {"", "0", "false", "no", "none", "null"}


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """One person's label of one item, as another tool has it."""

    item: str
    annotator: str
    label: str
    text: str = ""
    seconds: float | None = None
    given_at: str = ""
    row: int = 0
    question: str = ""


@dataclass(slots=True)
class Export:
    """The labels in an export, its form, and what of it is no label."""

    form: str
    labels: list[GivenLabel]
    notes: list[str] = field(default_factory=list)

    def frame(self) -> Any:
        """Return the labels as a long table: item, annotator, label, and seconds and text where known."""
        import pandas as pd

        names = ["item", "annotator", "label", "text", "seconds"]
        rows = [[getattr(label, name) for name in names] for label in self.labels]
        table = pd.DataFrame(rows, columns=names, dtype=object)
        table["seconds"] = pd.to_numeric(table["seconds"])
        if table["seconds"].isna().all():
            table = table.drop(columns="seconds")
        return table if any(table["text"]) else table.drop(columns="text")


MOST = LARGEST // 2
"""Bytes that an export unpacks to: it is there as bytes and as texts."""


def read_export(path: Path, question: str = "") -> Export | None:
    """Read a tool's export: a file, a zip, or a folder with a file or folder for each person. None: it is a plain table."""
    if not path.exists():
        raise InputError("is missing", file=path)
    with doubted(path):
        files = in_child(_rows_of, path)
    read = [(whose, form, rows) for whose, rows in files if (form := _form_of(rows[0]))]
    if not read:
        return None
    if len({form for _, form, _ in read}) > 1 or len(read) < len(files):
        raise InputError(
            "holds exports of several kinds", file=path, remedy="Name one file, or a folder of one tool"
        )
    with doubted(path):
        return _export([(whose, rows) for whose, _, rows in read], read[0][1], question)


def export_in(frame: Any, question: str = "") -> Export | None:
    """Read a tool's export that is in memory, such as `pd.read_json(FILE)`. None: it is a plain table."""
    rows = [
        {str(name): cell for name, cell in row.items() if not _is_nothing(cell)}
        for row in frame.to_dict("records")
    ]
    form = _form_of(rows[0]) if rows else ""
    return _export([("", rows)], form, question) if form else None


def _is_nothing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _rows_of(path: Path) -> list[tuple[str, list[Row]]]:
    """Return the rows of each file, with the name of the person if files or folders are named by people."""
    if of_webanno := list(_webanno_files(path)):
        return webanno.as_rows(of_webanno)
    if path.is_dir():
        inside = sorted(
            file for file in path.rglob("*") if file.suffix in KINDS and not file.name.startswith(".")
        )
        named = [(_person(file.relative_to(path)), _rows(file)) for file in inside]
    elif path.suffix == ".zip":
        named = [
            (_person(Path(name)), _of_text(Path(name), text))
            for name, text in _unzipped(path, ".json", ".jsonl")
        ]
    else:
        named = [(_person(Path(path.parent.name) / path.name), _rows(path))]
    return [(whose, rows) for whose, rows in named if rows] or [("", [{}])]


def _webanno_files(path: Path) -> Iterator[tuple[str, str, str]]:
    """Return INCEpTION's files as person, document and text: in its folders, the document is a folder, the person a file."""
    if path.suffix == ".zip":
        for name, text in _unzipped(path, ".tsv"):
            if text.startswith(webanno.MARK):
                yield Path(name).stem, Path(name).parent.name, text
        return
    for file in sorted(path.rglob("*.tsv")) if path.is_dir() else [path] if path.suffix == ".tsv" else []:
        with file.open("rb") as begun:
            ours = begun.read(64).decode("utf-8", "replace").removeprefix("\ufeff").startswith(webanno.MARK)
        if ours:
            yield file.stem, file.parent.name, text_of(file)


def _person(path: Path) -> str:
    """Return the person that a file is of: Potato names folders by people, doccano files."""
    return path.parent.name if path.stem.startswith("annotated_instances") else path.stem


def _unzipped(path: Path, *kinds: str) -> Iterator[tuple[str, str]]:
    """Read the text files of these kinds in a zip, with a limit on what they unpack to."""
    left, values = MOST, 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if Path(entry.filename).suffix in kinds:
                with archive.open(entry) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise InputError(f"unpacks to more than {MOST >> 20} MiB")
                text = data.decode("utf-8-sig", "replace")
                values = counted_values(text, values)
                yield entry.filename, text


def _rows(path: Path) -> list[Row]:
    if path.suffix in {".json", ".jsonl", ".ndjson"}:
        text = text_of(path)
        counted_values(text)
        return _of_text(path, text)
    data = bytes_of(path)
    if path.suffix == ".parquet":
        return [row for batch in batches(io.BytesIO(data), most=MOST) for row in batch.to_pylist()]
    return read_table(path, own=False).rows if path.suffix in KINDS else []


def _of_text(path: Path, text: str) -> list[Row]:
    listed = documents(path, text)
    rows = listed[0] if len(listed) == 1 and isinstance(listed[0], list) else listed
    return [row for row in rows if isinstance(row, dict)]


def _form_of(row: Mapping[str, Any]) -> str:
    """Return the tool whose export has rows like this one; empty for a table."""
    is_a = {name: type(value) for name, value in row.items()}
    signs = {
        "Label Studio": is_a.get("data") is dict and is_a.get("annotations") is list,
        "Label Studio (a row an annotation)": {"annotation_id", "annotator", "lead_time"} <= is_a.keys(),
        "Prodigy": row.get("answer") in ("accept", "reject", "ignore")
        and bool({"_input_hash", "_task_hash", "_session_id"} & is_a.keys()),
        "Argilla": is_a.get("responses") is dict and is_a.get("fields") is dict,
        "Argilla (a data set)": any(name.endswith((".responses", ".responses.users")) for name in row),
        "Labelbox": is_a.get("data_row") is dict and is_a.get("projects") is dict,
        "WebAnno TSV": is_a.get("webanno") is dict,
        "Potato": is_a.get("label_annotations") is dict,
        "Potato (a table)": any(":::" in name for name in row)
        and bool({"user", "user_id", "instance_id"} & is_a.keys()),
        "doccano": {"id", "text"} <= is_a.keys()
        and list in (is_a.get("label"), is_a.get("labels"), is_a.get("cats")),
    }
    return next((form for form, holds in signs.items() if holds), "")


def _export(files: Sequence[tuple[str, list[Row]]], form: str, question: str) -> Export:
    read = READERS[form]
    given: list[GivenLabel] = []
    lost: Counter[str] = Counter()
    for whose, rows in files:
        for number, row in enumerate(rows, start=1):
            for label in read(row, whose):
                if isinstance(label, str):
                    lost[label] += 1
                else:
                    given.append(replace(label, row=number))
    given = _of_question(given, question)
    notes = [f"{counted(count, 'answers')} left out: {why}" for why, count in sorted(lost.items())]
    export = Export(form, given, notes)
    if not given:
        raise InputError(f"has no label ({'; '.join([form, *notes])})")
    _by_items(export)
    export.labels, more = _last_of_each(export.labels)
    export.notes += more
    return export


def _of_question(given: list[GivenLabel], question: str) -> list[GivenLabel]:
    """Keep the labels of one question. Prodigy's labels that are accepted or rejected one by one are questions, too."""
    names = list(dict.fromkeys(label.question for label in given))
    if question and question not in names:
        raise InputError(f"has no question '{question}'", remedy=nearest(question, names))
    if len(names) > 1 and not question:
        raise InputError(
            f"has {len(names)} questions: {', '.join(names[:8])}",
            remedy="Say which one: question (--question)",
        )
    return [label for label in given if label.question == question] if question else given


def _by_items(export: Export) -> None:
    """Know items by their texts where ids are not items': one id has two texts, or people share texts but no id."""
    texts: dict[str, set[str]] = {}
    people: dict[str, set[str]] = {}
    of_text: dict[str, set[str]] = {}
    for label in export.labels:
        texts.setdefault(label.item, set()).add(label.text)
        people.setdefault(label.item, set()).add(label.annotator)
        of_text.setdefault(label.text, set()).add(label.annotator)
    clash = next((item for item, own in texts.items() if len(own) > 1), "")
    shared = any(len(own) > 1 for own in people.values())
    by_text = "" not in of_text and any(len(own) > 1 for own in of_text.values())
    if clash and not by_text:
        raise InputError(f"gives the id {clash} to two texts", remedy="Export an id of each text with it")
    if clash or (by_text and not shared):
        export.labels = [replace(label, item=label.text) for label in export.labels]
        why = f"the id {clash} has two texts" if clash else "no id is shared by two people"
        export.notes.append(f"items are known by their texts, because {why}")


def _last_of_each(given: Iterable[GivenLabel]) -> tuple[list[GivenLabel], list[str]]:
    """Keep each person's last label of each item."""
    kept: dict[tuple[str, str], GivenLabel] = {}
    changed = 0
    for label in given:
        key = (label.item, label.annotator)
        before = kept.get(key)
        if before is not None and before.label != label.label:
            if not (before.given_at and label.given_at):
                raise InputError(
                    f"{label.annotator} gives the item {label.item[:60]} two labels, {before.label} and {label.label}",
                    row=label.row,
                    remedy="Keep one of them",
                )
            changed += 1
        if before is None or label.given_at >= before.given_at:
            kept[key] = label
    return list(kept.values()), [
        f"{counted(changed, 'answers')} replaced by the person's later ones"
    ] if changed else []


SEVERAL = "more than one label, or none"
SKIPPED = "skipped, rejected, or a draft"


def _one(value: Any) -> str:
    """Return the single label in a value; empty if there is none, or several."""
    if isinstance(value, list):
        value = _only(value)
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()


def _id_of(*places: Mapping[str, Any]) -> str:
    """Return the first known id in these places."""
    for place in places:
        if name := column_of(map(str, place), ITEMS):
            return str(place[name]).strip()
    return ""


def _text_of(*places: Mapping[str, Any]) -> str:
    """Return the text in the first place that has one."""
    for place in places:
        texts = {str(name): value for name, value in place.items() if isinstance(value, str)}
        if name := column_of(texts, TEXTS):
            return texts[name].strip()
    return ""


def _label_studio(row: Row, whose: str) -> Iterator[GivenLabel | str]:  # noqa: ARG001 - as every reader
    data = row["data"]
    item, text = _id_of(data) or str(row.get("id", "")), _text_of(data)
    for annotation in row["annotations"]:
        who = annotation.get("completed_by", "")
        if isinstance(who, dict):
            who = who.get("email") or who.get("id", "")
        if annotation.get("was_cancelled"):
            yield SKIPPED
            continue
        given_at = as_moment(str(annotation.get("updated_at") or annotation.get("created_at") or ""))
        choices = [part for part in annotation.get("result", ()) if "choices" in (part.get("value") or {})]
        if not choices:
            yield SEVERAL
        for part in choices:
            label = _one(part["value"]["choices"])
            seconds = plausible(annotation.get("lead_time"))
            known = GivenLabel(
                item, str(who), label, text, seconds, given_at, question=str(part.get("from_name", ""))
            )
            yield known if label else SEVERAL


OF_AN_ANNOTATION = {
    "annotation_id",
    "annotator",
    "created_at",
    "updated_at",
    "lead_time",
    "id",
    "agreement",
    "inner_id",
}


def _label_studio_rows(row: Row, whose: str) -> Iterator[GivenLabel | str]:  # noqa: ARG001 - as every reader
    data = {name: value for name, value in row.items() if name not in OF_AN_ANNOTATION}
    item, text = _id_of(data) or str(row.get("id", "")), _text_of(data)
    seconds = plausible(_number(row["lead_time"]))
    given_at = as_moment(str(row.get("updated_at") or ""))
    shown = {column_of(data, ITEMS), column_of(data, TEXTS)}
    answered = {name: value for name, value in data.items() if name not in shown}
    named = column_of(answered, ("label", "labels", "stance", "choice", "sentiment"))
    for name in [named] if named else list(answered):
        value = answered[name]
        if isinstance(value, str) and value.startswith('{"choices"'):
            value = json.loads(value)["choices"]
        label = _one(value.get("choices") if isinstance(value, dict) else value)
        known = GivenLabel(item, str(row["annotator"]), label, text, seconds, given_at, question=name)
        yield known if label else SEVERAL


def _prodigy(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    meta = row.get("meta") if isinstance(row.get("meta"), dict) else {}
    item = _id_of(row, meta or {}) or str(row.get("_input_hash", ""))
    who = str(row.get("_annotator_id") or row.get("_session_id") or whose)
    given_at = _of_epoch(row.get("_timestamp"))
    if row["answer"] == "ignore":
        yield SKIPPED
    elif "accept" in row:
        label = _one(row["accept"])
        if row["answer"] == "reject" or not label:
            yield SKIPPED if row["answer"] == "reject" else SEVERAL
        else:
            yield GivenLabel(item, who, label, _text_of(row), None, given_at)
    elif label := _one(row.get("label")):
        said = label if row["answer"] == "accept" else f"not {label}"
        yield GivenLabel(item, who, said, _text_of(row), None, given_at, question=label)
    else:
        yield SEVERAL


def _argilla(row: Row, whose: str) -> Iterator[GivenLabel | str]:  # noqa: ARG001 - as every reader
    item = _id_of(row.get("metadata") or {}) or str(row.get("id", ""))
    text = _text_of(row["fields"]) or next(
        (text for text in row["fields"].values() if isinstance(text, str)), ""
    )
    for question, responses in row["responses"].items():
        for response in responses:
            if response.get("status") in {"draft", "discarded"}:
                yield SKIPPED
                continue
            label = _one(response.get("value"))
            known = GivenLabel(item, str(response.get("user_id", "")), label, text, question=str(question))
            yield known if label else SEVERAL


def _argilla_rows(row: Row, whose: str) -> Iterator[GivenLabel | str]:  # noqa: ARG001 - as every reader
    for name in [name for name in row if name.endswith(".responses")]:
        values, users, states = (_listed(row.get(key)) for key in (name, f"{name}.users", f"{name}.status"))
        for at, value in enumerate(values):
            if states[at : at + 1] and states[at] in {"draft", "discarded"}:
                yield SKIPPED
                continue
            label = _one(value)
            who = str(users[at]) if at < len(users) else ""
            known = GivenLabel(
                _id_of(row), who, label, _text_of(row), question=name.removesuffix(".responses")
            )
            yield known if label else SEVERAL


def _listed(value: Any) -> list[Any]:
    """Return a list that a table may have as an array, or as its text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    return [] if value is None else list(value)


def _labelbox(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    data = row["data_row"]
    item = str(data.get("external_id") or data.get("global_key") or data.get("id") or "")
    text = str(data.get("row_data") or "").strip()
    for given in (given for project in row["projects"].values() for given in project.get("labels") or ()):
        if (given.get("performance_details") or {}).get("skipped"):
            yield SKIPPED
            continue
        details = given.get("label_details") or {}
        who, given_at = (
            str(details.get("created_by") or whose),
            as_moment(str(details.get("created_at") or "")),
        )
        for answer in (given.get("annotations") or {}).get("classifications") or ():
            chosen = answer.get("radio_answer") or _only(answer.get("checklist_answers")) or {}
            label = str(chosen.get("name") or chosen.get("value") or "").strip()
            question = str(answer.get("name") or "")
            yield GivenLabel(item, who, label, text, None, given_at, question=question) if label else SEVERAL


def _only(values: Any) -> Any:
    """Return the single value of a list."""
    return values[0] if isinstance(values, list) and len(values) == 1 else None


def _potato(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    item = str(row.get("instance_id") or row.get("id") or "")
    who = str(row.get("user_id") or row.get("user") or whose)
    if item.endswith(".html"):
        return  # a page of a survey around the items
    behaviour = row.get("behavioral_data") if isinstance(row.get("behavioral_data"), dict) else {}
    seconds = plausible(_spent(behaviour or {}))
    for schema, labels in row["label_annotations"].items():
        chosen = [
            (str(name), value) for name, value in (labels or {}).items() if str(value).casefold() not in NO
        ]
        label = _chosen(*chosen[0]) if len(chosen) == 1 else ""
        known = GivenLabel(
            item, who, label, str(row.get("displayed_text", "")).strip(), seconds, question=str(schema)
        )
        yield known if label else SEVERAL


def _potato_rows(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    schemas: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        schema, between, label = name.partition(":::")
        if between:
            schemas.setdefault(schema, {})[label] = value
    yield from _potato({**row, "label_annotations": schemas}, whose)


def _chosen(name: str, value: Any) -> str:
    """Return what was chosen: scales have a number, others the label's name."""
    return str(value) if name in {f"scale_{value}", "scale_", ""} else name


def _spent(behaviour: Mapping[str, Any]) -> float | None:
    """Return the seconds that Potato states: a number, or `Time spent: 0d 0h 0m 5s`."""
    spent = re.search(r"(\d+)d (\d+)h (\d+)m (\d+)s", str(behaviour.get("time_string", "")))
    if not spent:
        return _number(behaviour.get("time_spent"))
    days, hours, minutes, seconds = map(int, spent.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _webanno(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    for question, labels in row["webanno"].items():
        label = _one(labels)
        yield GivenLabel(row["id"], whose, label, row["text"], question=question) if label else SEVERAL


def _doccano(row: Row, whose: str) -> Iterator[GivenLabel | str]:
    meta = row.get("meta") if isinstance(row.get("meta"), dict) else {}
    others = {name: value for name, value in row.items() if folded(name) != "id"}
    item = _id_of(others, meta or {}) or str(row["id"])
    label = _one(row.get("label", row.get("labels", row.get("cats"))))
    who = column_of(row, PEOPLE)
    yield GivenLabel(item, str(row[who]) if who else whose, label, row["text"].strip()) if label else SEVERAL


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _of_epoch(value: Any) -> str:
    import datetime as dt

    seconds = _number(value)
    return as_moment(dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()) if seconds else ""


READERS = {
    "Label Studio": _label_studio,
    "Label Studio (a row an annotation)": _label_studio_rows,
    "Prodigy": _prodigy,
    "Argilla": _argilla,
    "Argilla (a data set)": _argilla_rows,
    "Labelbox": _labelbox,
    "WebAnno TSV": _webanno,
    "Potato": _potato,
    "Potato (a table)": _potato_rows,
    "doccano": _doccano,
}
