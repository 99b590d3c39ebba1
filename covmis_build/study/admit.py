"""Admit a model as annotator: compare its predictions with people's labels, with ε recorded before the result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.answers import present
from covmis_build.annotation.frozen_items import frozen_items
from covmis_build.annotation.newest import newest
from covmis_build.annotation.round_folder import all_rounds
from covmis_build.errors import InputError
from covmis_build.models.admission import Admission, admit
from covmis_build.options import MACHINE, by_people
from covmis_build.study.prompt import labels_of

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.study.of_study import OfStudy


def admit_in_study(study: OfStudy, file: Path, *, name: str, epsilon: float) -> Admission:
    """Test the model `name` on all rounds except pilots. The result is stored in annotation/admissions.jsonl.

    Only a model's first ε is valid; a later different one is refused. The test uses people's labels only, even if the
    model is already an annotator.
    """
    from covmis_build.evaluation.label_files import read_labels

    if not name.strip():
        raise InputError("the machine has no name", remedy="Name it: name (--name)")
    journal = _journal(study)
    earlier = next((line for line in reversed(_lines(journal)) if line["name"] == name), None)
    if earlier is not None and earlier["epsilon"] != epsilon:
        raise InputError(
            f"ε of {name} was fixed at {earlier['epsilon']:g} before its labels were looked at",
            file=journal,
            remedy=f"Say epsilon (--epsilon) {earlier['epsilon']:g}",
        )
    frozen = frozen_items(study.places.rounds)
    people = labels_of(study)
    if people is None or frozen.empty:
        raise InputError("no round has labels", remedy="Open a round, push it and pull it first")
    items = frozen[~frozen["pilot"].astype(bool)]
    table = read_labels(file, predicted=True)
    now = newest(all_rounds(study.places.rounds), study.settings.labels.changes)
    sets, items, people = now.sets, now.frozen(), by_people(present(now.labels()))
    to_common, values = sets.of_any_round(), sets.names
    table.check_labels(list(to_common))
    predictions = {
        str(item): to_common.get(str(label), str(label))
        for item, label in table.labels(table.id_column).items()
    }
    audited = items[items["audited"].astype(bool) & items["automatic_label"].ne("")]
    admission = admit(
        people[people["item_id"].isin(items["item_id"])],
        predictions,
        epsilon=epsilon,
        claims=dict(zip(items["item_id"], items["claim_id"], strict=True)),
        automatic=dict(zip(audited["item_id"], audited["automatic_label"], strict=True)),
        values=values,
    )
    record = {"name": name, "epsilon": epsilon, "passed": admission.passed, "by": admission.leads}
    if earlier != record:  # also if more labels have changed the test's result
        storage.append_line(journal, json.dumps(record, ensure_ascii=False).encode())
    return admission


def check_admitted(study: OfStudy) -> None:
    """Refuse models among the annotators that their latest test did not admit."""
    journal = _journal(study)
    passed = {line["name"]: line["passed"] for line in _lines(journal)}
    for code in study.settings.annotation.machines:
        name = code.removeprefix(MACHINE)
        if not passed.get(name):
            why = "was not admitted" if name in passed else "has never been tested"
            raise InputError(
                f"[annotation] annotators: {code} {why}",
                file=journal if name in passed else study.places.study_toml,
                remedy=f"Take it out: `covmis model admit FILE --name {name} --epsilon …` tests it, and predictions that "
                "are not admitted still serve `covmis estimate --assisted-by`",
            )


def _journal(study: OfStudy) -> Path:
    return study.places.rounds.parent / "admissions.jsonl"


def _lines(journal: Path) -> list[dict[str, Any]]:
    if not journal.is_file():
        return []
    try:
        return [json.loads(line) for line in storage.whole_lines(journal) if line.strip()]
    except ValueError:
        raise InputError("cannot be read", file=journal, remedy="Restore it from a copy") from None
