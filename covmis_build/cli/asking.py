"""`covmis model prompt`: requests for a language model, and its answers read back; nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LabelsOption = Annotated[
    str, typer.Option(metavar="A,B,C", help="The label set (default: all labels of DATA).")
]
TEXTS = ("text", "post", "tweet", "premise", "sentence1")
TARGETS = ("target", "claim", "mis", "hypothesis", "sentence2")
LABELS = ("label", "stance", "labels", "gold_label")
IDS = ("item_id", "post_id", "id")
SHOWN = 20
"""Answers that name no single label, shown with their reasons."""


def prompt(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Posts and claims (default: the study's frozen items)."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="What to write.")] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With {guideline} {claim} {post} {labels}.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read these answers and write predictions instead.")
    ] = None,
    labels: LabelsOption = "",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one request per item for a language model of your choice, or read its answers back.

    Requests are JSON lines with `item_id`, `template` (a hash) and `messages`. Nothing is sent: posts leave this machine
    only if you send them. Answers are JSON lines with `item_id` and `answer`; those that do not name exactly one label
    are counted and left out. Predictions are never gold, and annotators never see them.

    Example: covmis model prompt --out requests.jsonl
    """
    from covmis_build.study import open_study

    if out is None:
        raise InputError("--out names no file", remedy="Name the file to write")
    home = open_study(study) if data is None or study is not None else None
    values = listed(labels) or (list(home.labels.values) if home else [])
    if not values:
        raise InputError("the label set is unknown", remedy="Name it with --labels, or a study with --study")
    if answers is not None:
        return _read(answers, data, out, values, home, as_json=as_json)
    return _ask(data, out, template, values, home, as_json=as_json)


def _ask(
    data: Path | None, out: Path, template: Path | None, values: list[str], home: Any, *, as_json: bool
) -> None:
    """Write the requests."""
    from covmis_build import storage
    from covmis_build.models.prompt import TEMPLATE, json_line, requests
    from covmis_build.text.sheets import text_of

    guideline = text_of(home.guideline, strict=True) if home is not None and home.guideline.is_file() else ""
    form = text_of(template, strict=True) if template is not None else TEMPLATE
    items = _frozen(home) if data is None else _asked(data)
    made = requests(items, values, guideline=guideline, template=form)
    storage.write_text(out, "".join(json_line(one) for one in made))
    if as_json:
        return emit_json(
            {"requests": len(made), "template": made[0]["template"] if made else None, "file": str(out)}
        )
    say(f"Wrote {len(made):,} requests to {out}. Answers come back with `--answers FILE`.")
    return None


def _read(
    answers: Path, data: Path | None, out: Path, values: list[str], home: Any, *, as_json: bool
) -> None:
    """Read the answers: predictions, failures, and agreement with people where a study has labels."""
    from covmis_build import storage
    from covmis_build.models.prompt import agreement_with_people, read_answers

    found = read_answers(answers, values)
    asked = set((_frozen(home) if data is None else _asked(data))["item_id"].astype(str))
    answered = [*found.predictions["item_id"], *found.failures["item_id"]]
    for one in answered:
        if one not in asked:
            raise InputError(f"answers for the item {one}, which was not asked about", file=answers)
    rows = found.predictions.itertuples(index=False, name=None)
    storage.write_bytes(out, storage.csv_bytes(["item_id", "prediction"], rows))
    result: dict[str, Any] = {
        "predictions": len(found.predictions), "failures": found.failures, "unanswered": len(asked) - len(answered),
    }  # fmt: skip
    if home is not None:
        import pandas as pd

        files = sorted(home.rounds.glob("[0-9][0-9][0-9]/labels.parquet"))
        parts = [storage.read_table(path, "labels") for path in files]
        if parts:
            result["pairs"] = agreement_with_people(found.predictions, pd.concat(parts), values)
    if as_json:
        return emit_json(result)
    say(
        f"{len(found.predictions):,} answers name one label; {len(found.failures):,} do not; "
        f"{result['unanswered']:,} items have no answer."
    )
    shown = found.failures.head(SHOWN)
    if len(shown):
        grid([[one, reason, " ".join(text.split())[:60]] for one, text, reason in shown.itertuples(index=False)],
             ["item_id", "reason", "answer"])  # fmt: skip
    if len(found.failures) > SHOWN:
        say(f"… and {len(found.failures) - SHOWN:,} more: --json has all.")
    if "pairs" in result:
        grid(result["pairs"].itertuples(index=False), list(result["pairs"].columns))
    wrong = " --missing wrong" if len(found.predictions) < len(asked) else ""
    say(f"Wrote {out}. Next: `covmis evaluate score GOLD {out}{wrong}`.")
    return None


def _frozen(home: Any) -> pd.DataFrame:
    """The study's frozen items that can be asked about: no pilots, nothing purged, nothing but claim and post."""
    from covmis_build.annotation.rounds import frozen_items

    frozen = frozen_items(home.rounds)
    if frozen.empty:
        raise InputError(
            "no round has been opened", remedy="Run `covmis round open`, or name a file of posts"
        )
    usable = (~frozen["pilot"].astype(bool)) & frozen["text"].fillna("").astype(str).ne("")
    return frozen.loc[usable, ["item_id", "claim", "text"]].drop_duplicates("item_id")


def _asked(data: Path) -> pd.DataFrame:
    frame = posts(data, labelled=False)
    given = next((name for name in IDS if name in frame.columns), "")
    if not given or "target" not in frame.columns:
        raise InputError("needs the columns item_id, claim and text", file=data)
    return frame.rename(columns={given: "item_id"}).assign(claim=frame["target"])


def posts(path: Path, *, labelled: bool) -> pd.DataFrame:
    """A file of posts with the columns text, target (if there is one) and label; ids once for each target."""
    from covmis_build.evaluation.formats import read_table

    frame = read_table(path)
    names = list(frame.columns)
    renamed = {}
    for target, known in (("text", TEXTS), ("target", TARGETS), ("label", LABELS)):
        found = next((name for name in known if name in names), "")
        if found:
            renamed[found] = target
        elif target == "text" or (target == "label" and labelled):
            there = ", ".join(str(name)[:40] for name in names[:12]) + (" …" if len(names) > 12 else "")
            remedy = f"The file has {there}"
            if target == "text" and {"item_id", "post_id"} <= set(names):
                remedy = "`covmis hydrate` writes a released corpus with its texts"
            raise InputError(f"has no column {target}", file=path, remedy=remedy)
    frame = frame.rename(columns=renamed)
    _check_ids(path, frame)
    if labelled:
        if frame.empty:
            raise InputError("has no rows", file=path)
        for row, label in enumerate(frame["label"], 2):
            if not str(label).strip():
                raise InputError("has no label", file=path, row=row, remedy="Label the row, or take it away")
    return frame


def _check_ids(path: Path, frame: pd.DataFrame) -> None:
    """Every row has an id, if any has; a post may stand under several targets, but once under each."""
    given = next((name for name in IDS if name in frame.columns), "")
    if not given:
        return
    seen: dict[tuple[str, ...], int] = {}
    columns = [name for name in (given, "dataset", "target") if name in frame.columns]
    for row, one in enumerate(frame[columns].astype(str).itertuples(index=False, name=None), 2):
        if not one[0].strip():
            raise InputError(f"has no {given}", file=path, row=row, remedy="Give every row its id")
        if one in seen:
            raise InputError(
                f"the {given} {one[0]} stands in row {seen[one]}, too",
                file=path,
                row=row,
                remedy="Keep one of them",
            )
        seen[one] = row


def listed(text: str) -> list[str]:
    """Words between commas."""
    return [one.strip() for one in text.split(",") if one.strip()]
