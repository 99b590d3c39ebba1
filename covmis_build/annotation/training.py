"""Training: annotators label posts with known gold and see their accuracy, per label.

A training round has its own folder, annotation/training/t001. It is excluded from gold, kappa, seals and releases.
Its decisions.parquet is the key; reasons.json has the written reasons.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import keyed, storage
from covmis_build.annotation.answers import Phase, labels_of, usable
from covmis_build.annotation.final_labels import LabelSource
from covmis_build.annotation.frozen_items import FROZEN, by_item, rows_of
from covmis_build.annotation.json_records import read_json
from covmis_build.annotation.report import Case, Said, cases_html
from covmis_build.annotation.round_folder import DECISIONS
from covmis_build.errors import counted
from covmis_build.records import independent
from covmis_build.report.result import Result
from covmis_build.stats.intervals import in_percent, of_items
from covmis_build.text.shown import shown_hash, shown_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder

KNOWN = (
    LabelSource.AGREED,
    LabelSource.DISCUSSED,
    LabelSource.ADJUDICATED,
    LabelSource.MAJORITY,
    LabelSource.AUDITED,
)
"""Gold sources with several people. A rule's or a single person's label is not reliable enough for a key."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often an annotator gave the known label, among posts with this label (empty: all posts)."""

    annotator: str
    label: str
    posts: int
    right: int
    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None:
            return f"{self.annotator}, {self.label or 'all'}: no answers yet"
        return (
            f"{self.annotator}, {self.label or 'all'}: {self.right} of {self.posts} right "
            f"({self.share:.0%}, {in_percent(self.low, self.high)})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class TrainingReport(Result):
    """The accuracy of all annotators on posts with known gold. `pass_mark` is the minimum share, if set."""

    round: str
    accuracies: tuple[Accuracy, ...]
    pass_mark: float | None
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> dict[str, bool]:
        """Return the annotators with answers who reached the pass mark; empty without one."""
        whole = [row for row in self.accuracies if not row.label and row.share is not None]
        return (
            {}
            if self.pass_mark is None
            else {row.annotator: (row.share or 0) >= self.pass_mark for row in whole}
        )

    @property
    def summary(self) -> list[str]:
        """Return one line per annotator and label, and who has passed."""
        told = [str(row) for row in self.accuracies]
        for who, passed in self.passed.items():
            told.append(f"{who} has {'' if passed else 'not '}reached the pass mark of {self.pass_mark:.0%}.")
        return [*told, *(f"- {note}" for note in self.notes), f"Written: {', '.join(self.files)}"]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per annotator and label."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.accuracies])

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round report --json` prints it for a training round."""
        return {
            "training": self.round,
            "accuracies": [asdict(row) for row in self.accuracies],
            "pass_mark": self.pass_mark,
            "passed": self.passed,
        }


def known_items(frozen: pd.DataFrame, gold: pd.DataFrame, count: int, *, number: str, seed: int) -> list[str]:
    """Choose items with known gold, balanced over labels, up to `count`, in the order of presentation.

    `frozen` and `gold` come from sealed rounds.
    """
    known = gold[gold["how"].isin(KNOWN)].merge(frozen[["item_id", "salt"]], on="item_id")
    known = known[known["salt"] != ""]  # purged posts have no text to label
    chosen: list[str] = []
    piles = [
        keyed.order(seed, f"training {number} {label}", rows["item_id"])
        for label, rows in known.groupby("label", sort=True)
    ]
    while len(chosen) < count and any(piles):
        chosen += [pile.pop(0) for pile in piles if pile][: count - len(chosen)]
    return keyed.order(seed, f"training {number}", chosen)


def frozen_anew(
    frozen: pd.DataFrame, chosen: Sequence[str], *, number: str, seed: int, salt: str
) -> pd.DataFrame:
    """Freeze these items of earlier rounds again, for a round that does not count."""
    import pandas as pd

    rows = []
    for row in rows_of(frozen[frozen["item_id"].isin(chosen)]):
        own = keyed.digest(seed, "salt", salt, number, row["item_id"]).hex()[:32]
        item = {**row, "round": number, "pilot": True, "automatic_label": "", "audited": False, "salt": own}
        rows.append({**item, "shown": shown_hash(own, shown_parts(item))})
    order = {item: at for at, item in enumerate(chosen)}
    rows.sort(key=lambda row: order[row["item_id"]])
    return pd.DataFrame(rows, columns=FROZEN.names)


def written_reasons(labels: pd.DataFrame) -> dict[str, str]:
    """Return the reason for each label, as written by those who decided."""
    decided = labels[labels["phase"].isin([Phase.DISCUSSION, Phase.ADJUDICATION])]
    return {row.item_id: row.reason for row in labels_of(decided) if row.reason}


def write_key(
    folder: Path,
    known: Sequence[str],
    gold: pd.DataFrame,
    reasons: Mapping[str, str],
    pass_mark: float | None,
) -> None:
    """Write the known labels, their reasons, and the pass mark if set.

    Must be called before the items are written: then no round can exist without its key, even after an interruption.
    """
    items = set(known)
    key = gold[gold["item_id"].isin(items)].assign(round=folder.name)
    storage.write_table(folder / DECISIONS, key, "gold")
    told = {"pass_mark": pass_mark, "reasons": {item: why for item, why in reasons.items() if item in items}}
    storage.write_text(folder / "training.json", json.dumps(told, ensure_ascii=False, indent=1) + "\n")


def accuracies(round_: RoundFolder) -> list[Accuracy]:
    """Return the accuracy of each annotator with answers, overall and per label."""
    key = dict(zip(round_.decisions()["item_id"], round_.decisions()["label"], strict=True))
    answers = _answers(round_)
    rows = []
    for who in sorted(set(answers["annotator"])):
        mine = answers[answers["annotator"] == who]
        known = mine["item_id"].map(key)
        rows.append(_accuracy(who, "", mine["label"], known))
        rows += [
            _accuracy(who, label, mine.loc[known == label, "label"], known[known == label])
            for label in sorted(set(key.values()))
        ]
    return rows


def _answers(round_: RoundFolder) -> pd.DataFrame:
    """Return the annotators' labels of the posts in the key."""
    current = independent(usable(round_.labels(), round_.items()))
    return current[current["item_id"].isin(set(round_.decisions()["item_id"]))]


def _accuracy(who: str, label: str, given: pd.Series[str], known: pd.Series[str]) -> Accuracy:
    """Return the accuracy with Wilson's interval over posts."""
    right = int((given == known).sum())
    if not len(given):
        return Accuracy(who, label, 0, 0, None, None, None)
    accuracy = right / len(given)
    return Accuracy(who, label, len(given), right, accuracy, *of_items(accuracy, len(given)))


def feedback(round_: RoundFolder, annotator: str, *, study: str) -> str:
    """Build a page for this annotator: each post with a wrong label, the known label, and the reason."""
    from covmis_build.report.page import Section, page

    key = dict(zip(round_.decisions()["item_id"], round_.decisions()["label"], strict=True))
    reasons: Mapping[str, str] = read_json(round_.folder / "training.json")["reasons"]
    items = by_item(round_.items())
    mine = [row for row in labels_of(_answers(round_)) if row.annotator == annotator]
    wrong = [row for row in mine if row.label != key[row.item_id]]
    cases = [
        Case(
            row.item_id,
            "",
            shown_parts(items[row.item_id]),
            (
                Said("You", row.label, row.sub_label, row.comment),
                Said("Known", key[row.item_id], "", reasons.get(row.item_id, "")),
            ),
        )
        for row in wrong
    ]
    prose = f"{len(mine) - len(wrong)} of your {len(mine)} labels are correct. " + (
        "The others, with the correct label and the reason:" if wrong else "All labels are correct."
    )
    answers = Section("Your answers", prose=prose, body=cases_html(cases))
    return page(f"Training {round_.number}, {annotator}", [answers], study=study)


def write_report(round_: RoundFolder, *, study: str) -> TrainingReport:
    """Write the accuracy report, and a feedback page per annotator, to the round's folder."""
    rows = accuracies(round_)
    files = []
    for who in dict.fromkeys(row.annotator for row in rows):
        storage.write_text(round_.folder / "feedback" / f"{who}.html", feedback(round_, who, study=study))
        files.append(f"annotation/{round_.folder.parent.name}/{round_.number}/feedback/{who}.html")
    mark = read_json(round_.folder / "training.json")["pass_mark"]
    left = len(round_.decisions()) - min((row.posts for row in rows if not row.label), default=0)
    notes = (f"An annotator has {counted(left, 'posts')} to go.",) if left else ()
    return TrainingReport(round_.number, tuple(rows), mark, tuple(files), notes)
