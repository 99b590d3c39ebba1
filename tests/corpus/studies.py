"""A small study from claims to sealed rounds, with simulated answers, for tests of what is published."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
from typer.testing import CliRunner

from covmis_build import keyed, storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Answer
from covmis_build.annotation.frozen_items import for_people, freeze
from covmis_build.annotation.gold import undecided_items, write_decisions
from covmis_build.annotation.report import as_json, findings
from covmis_build.annotation.seal import seal_round
from covmis_build.building.run import run
from covmis_build.cli import app
from covmis_build.errors import CovmisError
from covmis_build.study.study import open_study
from tests.small_study import small_study

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.study.study import Study

NOW = "2026-11-21T12:00:00Z"


def annotated_study(
    folder: Path,
    rounds: int = 2,
    posts: int = 1500,
    settings: dict[str, str] | None = None,
    kinds: tuple[str, ...] = (),
) -> Study:
    """Run the small study, open and answer these rounds, settle disagreements, report and seal.

    `settings`: lines of study.toml, and what they become. `kinds`: the only columns of queries that claims keep.
    """
    study = small_study(folder, posts)
    if kinds:
        claims = pd.read_csv(study.places.claims_csv, dtype=str, keep_default_na=False)
        others = {"keywords", "titles", "news_urls", "fact_check_urls"} - set(kinds)
        claims.assign(**dict.fromkeys(others, "")).to_csv(study.places.claims_csv, index=False)
    text = study.places.study_toml.read_text()
    for before, after in ({"splits = {}": 'splits = { scheme = "grouped" }'} | (settings or {})).items():
        assert before in text
        text = text.replace(before, after)
    study.places.study_toml.write_text(text)
    study = open_study(folder)
    run(study.places, study.settings, workers=1)
    for _ in range(rounds):
        _round(study)
    return study


def _round(study: Study) -> None:
    tables = {
        name: storage.read_table(study.places.table(name), name)
        for name in ("sample", "items", "claims", "posts")
    }
    opened = [one.items() for one in record.all_rounds(study.places.rounds)]
    frozen = freeze(
        **tables,
        earlier=opened,
        options=(options := replace(study.settings.annotation, claims_per_round=3)),
        labels=study.settings.labels,
        seed=study.settings.seed,
        salt="test",
    )
    guideline = study.places.guideline.read_text()
    one = record.create(
        study.places.rounds, frozen, options, study.settings.labels, guideline, now=NOW,
        settings={"sampling.certain": study.settings.sampling.certain},
    )  # fmt: skip
    people = for_people(frozen)
    answers = [
        answer(row, who) for row in people.to_dict("records") for who in options.people[: options.per_item]
    ]
    record.add_labels(one, answers, now=NOW)
    third = [answer(row, "third", "adjudication") for row in people.to_dict("records")]
    record.add_labels(one, third, now=NOW)
    found = findings(one.items(), one.labels(), one.scheme, one.per_item)
    storage.write_text(one.folder / "report.json", as_json(found.to_dict()))
    rounds = record.all_rounds(study.places.rounds)
    both = [
        pd.concat(parts, ignore_index=True)
        for parts in ([r.items() for r in rounds], [r.labels() for r in rounds])
    ]
    overall = findings(*both, one.scheme, one.per_item)
    storage.write_text(study.places.rounds / "summary.json", as_json(overall.to_dict()))
    undecided = undecided_items(one.items(), write_decisions(one))
    seal_round(record.all_rounds(study.places.rounds), one, undecided=undecided)


def answer(row: dict, who: str, phase: str = "independent") -> Answer:
    """A keyed answer with a comment that repeats the post, as people's comments do."""
    labels = ("favor", "against", "neither")
    slip = keyed.uniform(1, "slip", who, row["item_id"]) < 0.15
    label = labels[int(keyed.uniform(1, "label", row["item_id"]) * 3 + slip) % 3]
    comment = f"it says {row['text'][:30]}" if slip else ""
    return Answer(
        row["item_id"], who, label, "csv", comment=comment, shown=row["shown"], given_at=NOW, phase=phase
    )


def ran(*words: object):
    """What a command does in this process: its output, and its error as the program would print it."""
    return CliRunner().invoke(app, [str(word) for word in words])


def covmis(*words: object, code: int = 0) -> dict:
    done = ran(*words, "--json")
    if isinstance(done.exception, CovmisError):
        assert done.exception.exit_code == code, done.exception
        return json.loads(done.stdout) if done.stdout else {"error": str(done.exception)}
    assert (done.exit_code, code) == (0, 0), (done.output, done.exception)
    return json.loads(done.stdout)
