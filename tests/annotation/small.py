"""A small study with everything that a round needs, without having run any stage; and that study with a round."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import msgspec
import pandas as pd
import pyarrow.parquet as pq
from typer.testing import CliRunner

from covmis_build import storage, tables
from covmis_build.annotation import label_lines
from covmis_build.annotation.label_lines import as_labels
from covmis_build.annotation.recording import append
from covmis_build.building import ledger, run
from covmis_build.building.ledger import Entry, Event, TableFacts
from covmis_build.building.stages import STAGES
from covmis_build.cli import app
from covmis_build.errors import CovmisError
from covmis_build.study.study import open_study
from tests.once import once

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from covmis_build.annotation.answers import Answer
    from covmis_build.annotation.label_lines import Line
    from covmis_build.annotation.round_folder import RoundFolder

HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=alert(1)> \u202eevil & \"quotes\""
LABELS = ("favor", "against", "neither")
CONTEXT = {
    "cards": [{"url": "https://example.org/a", "title": "A page", "description": "Says <b>this</b>"}],
    "quoted_text": '=HYPERLINK("http://example.org")',
    "parent_text": "the parent",
    "media": [{"type": "photo", "alt_text": "a lemon"}],
}


def sampled(claims: int = 4, per_claim: int = 6) -> dict[str, pd.DataFrame]:
    """The tables sample, items, claims and posts; the first post of each claim is automatic, of the first audited."""
    made: dict[str, list[dict]] = {"sample": [], "items": [], "claims": [], "posts": []}
    for number in range(claims):
        claim = f"c{number}"
        made["claims"].append(
            {
                "claim_id": claim,
                "text": f"Claim {number} <i>says</i>",
                "language": "en",
                "first_seen": "",
                "selected": True,
                **{name: [] for name in ("keywords", "titles", "news_urls", "fact_check_urls", "edits")},
            }
        )
        for at in range(per_claim):
            post = f"x:{1255000000000000000 + 1000 * number + at}"
            item = f"{claim}|{post}"
            kind = "fact_check_url" if at == 0 else "keywords"
            text = (
                HOSTILE
                if at == 1
                else f"=post {number}.{at}, with a formula"
                if at == 2
                else f"Post {number}.{at} 😷"
            )
            made["posts"].append(
                {
                    "post_id": post,
                    "native_id": post[2:],
                    "platform": "x",
                    "text": text,
                    "created_at": "2020-04-22T12:34:56Z",
                    "language": "en",
                    "urls": [],
                    "reply_to": "",
                    "quote_of": "",
                    "repost_of": "",
                    "repost_count": 0,
                    "conversation": "",
                    "metrics": None,
                    "retrieved_at": "",
                    "availability": "",
                    **CONTEXT,
                }
            )
            made["items"].append(
                {
                    "item_id": item,
                    "claim_id": claim,
                    "post_id": post,
                    "kind": kind,
                    "kinds": [kind],
                    "other_claims": [],
                    "group": post,
                    "group_size": 1,
                    "p_claim": 1.0,
                }
            )
            made["sample"].append(
                {
                    "item_id": item,
                    "claim_id": claim,
                    "post_id": post,
                    "kind": kind,
                    "p_sample": 0.5,
                    "draw": "1",
                    "design": "poisson",
                    "automatic_label": "against" if at == 0 else "",
                    "audited": at == 0 and number == 0,
                }
            )
    return {name: pd.DataFrame(rows, columns=tables.SCHEMAS[name].names) for name, rows in made.items()}


def study(folder: Path, settings: str = "", claims: int = 4, per_claim: int = 6) -> Path:
    """A study folder whose stages have run."""
    storage.write_text(
        folder / "study.toml",
        f'title = "Small & <b>bold</b>"\n[annotation]\nclaims_per_round = 2\nchannel = "csv"\n{settings}',
    )
    write_guideline(folder)
    for name, frame in sampled(claims, per_claim).items():
        storage.write_table(folder / "data" / "build" / f"{name}.parquet", frame, name)
    as_if_run(folder)
    return folder


def write_guideline(folder: Path) -> None:
    """Write a guideline that defines the labels of the study's settings."""
    labels = open_study(folder).settings.labels.values  # noqa: PD011 - a setting
    told = "".join(f"{label}: as its name says.\n" for label in labels if label != "favor")
    storage.write_text(
        folder / "annotation" / "guideline.md", f"Label the stance.\n\nfavor: supports it.\n{told}"
    )


def recorded(answers: Iterable[Answer], lines: Sequence[Line] = (), **about: str) -> pd.DataFrame:
    """The table of labels when these answers have come to these lines."""
    return tables.frame(tables.of_records(as_labels(append(lines, answers, **about)), "labels"))


def forge(round_: RoundFolder, count: int, label: str) -> None:
    """Give the first labels of the record another label, with the hashes that fit: only a seal can tell."""
    lines = round_.lines()
    for path in label_lines.files(round_.folder):
        path.unlink()
    changed = [msgspec.structs.replace(line, label=label) for line in lines[:count]]
    new = [msgspec.structs.replace(line, id=label_lines._content_id(line)) for line in changed]
    label_lines.add(round_.folder, [*new, *lines[count:]])


def as_if_run(folder: Path) -> None:
    """Note in the ledger that today's settings made the tables that stand there; those missing are empty."""
    opened = open_study(folder)
    places, settings, keys = opened.places, opened.settings, {}
    if not places.claims_csv.exists():
        storage.write_text(places.claims_csv, "claim_id,text\n")
    for archive in places.archives:
        archive.mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        keys[stage.name] = key = run._key(places, settings, stage, keys, {})
        for table in stage.makes:
            if not places.table(table).exists():
                schema = run._schema(table)
                pq.write_table(schema.empty_table(), places.table(table))
        paths = {table: places.table(table) for table in stage.makes}
        facts = {
            table: TableFacts(pq.read_metadata(path).num_rows, path.stat().st_size, ledger.content(path, {}))
            for table, path in paths.items()
        }
        entry = Entry(stage.name, Event.DONE, key.whole, key.without_rounds, seed=settings.seed, tables=facts)
        ledger.append(places.build / "ledger.jsonl", entry)


def covmis(folder: Path, *words: str, fails: int = 0) -> dict:
    """Run a command with --json; its object."""
    result = CliRunner().invoke(app, [*words, "--study", str(folder), "--json"])
    if isinstance(result.exception, CovmisError):
        assert result.exception.exit_code == fails, str(result.exception)
    else:
        assert result.exit_code == fails, result.output + repr(result.exception)
    found = json.loads(result.stdout) if result.stdout.strip() else {}
    return {**found, "error": str(result.exception or ""), "warnings": result.stderr}


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().encode("utf-8-sig"))


def fill(path: Path, label) -> None:
    """Fill in a sheet: `label(row)` is the label, or (label, comment)."""
    rows = rows_of(path)
    for row in rows:
        said = label(row)
        row["label"], row["comment"] = said if isinstance(said, tuple) else (said, "")
    write_rows(path, rows)


def label_both(folder: Path, number: str = "001", differ=lambda item: False) -> None:
    """Both annotators fill in their sheets; they differ on the items for which `differ` says so."""
    for who in ("a1", "a2"):

        def said(row, who=who):
            at = sum(map(ord, row["item_id"])) % 3
            return LABELS[(at + (who == "a2" and differ(row["item_id"]))) % 3], f"from {who}"

        fill(folder / "annotation" / "rounds" / number / "sheets" / f"{who}.csv", said)


@once
def opened(folder: Path) -> None:
    """Its first round is open."""
    study(folder)
    covmis(folder, "round", "open")


@once
def pushed(folder: Path) -> None:
    """Sheets are out."""
    opened(folder)
    covmis(folder, "round", "push")


@once
def labelled(folder: Path) -> None:
    """Both annotators have filled in theirs."""
    pushed(folder)
    label_both(folder)


@once
def pulled(folder: Path) -> None:
    """Their answers are in the record."""
    labelled(folder)
    covmis(folder, "round", "pull")


@once
def sealed(folder: Path) -> None:
    """The round is sealed."""
    pulled(folder)
    covmis(folder, "round", "seal")
