"""A small study from claims to sealed rounds, with simulated answers, for tests of what is published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from covmis_build import keyed, storage
from covmis_build.annotation import record, steps
from covmis_build.annotation.answers import Answer
from covmis_build.annotation.reporting import as_json, findings
from covmis_build.annotation.rounds import for_people, open_round
from covmis_build.run import run
from tests.small_study import small_study

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.study import Study

NOW = "2026-11-21T12:00:00Z"


def annotated_study(folder: Path, rounds: int = 2, posts: int = 1500) -> Study:
    """Run the small study, open and answer these rounds, settle disagreements, report and seal."""
    study = small_study(folder, posts)
    run(study, workers=1)
    for _ in range(rounds):
        _round(study)
    return study


def _round(study: Study) -> None:
    tables = {
        name: storage.read_table(study.table(name), name) for name in ("sample", "items", "claims", "posts")
    }
    opened = [one.items() for one in record.all_rounds(study.rounds)]
    frozen = open_round(
        **tables,
        opened=opened,
        options=replace(study.annotation, claims_per_round=3),
        labels=study.labels,
        seed=study.seed,
        salt="test",
    )
    guideline = study.guideline.read_text()
    one = record.create(study.rounds, frozen, study.annotation, study.labels, guideline, now=NOW)
    people = for_people(frozen)
    answers = [answer(row, who) for row in people.to_dict("records") for who in ("a1", "a2")]
    record.add_labels(one, answers, now=NOW)
    third = [answer(row, "third", "adjudication") for row in people.to_dict("records")]
    record.add_labels(one, third, now=NOW)
    found = findings(one.items(), one.labels(), one.scheme, one.per_item, seed=study.seed)
    storage.write_text(one.folder / "report.json", as_json(found.numbers))
    storage.write_text(study.rounds / "summary.json", as_json(found.numbers))
    steps.decide(one)
    steps.seal_round(study.rounds, one)


def answer(row: dict, who: str, phase: str = "independent") -> Answer:
    """A keyed answer with a comment that repeats the post, as people's comments do."""
    labels = ("favor", "against", "neither")
    slip = keyed.uniform(1, "slip", who, row["item_id"]) < 0.15
    label = labels[int(keyed.uniform(1, "label", row["item_id"]) * 3 + slip) % 3]
    comment = f"it says {row['text'][:30]}" if slip else ""
    return Answer(
        row["item_id"], who, label, "csv", comment=comment, shown=row["shown"], given_at=NOW, phase=phase
    )
