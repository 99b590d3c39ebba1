"""How long a round's commands take with many posts and many people: open, push, pull, status, report, board, seal.

    python benchmarks/rounds.py 5000 20

Posts are made, not real. Sheets are CSV; each person fills in all of theirs. Times are CPU seconds of this process and
of the readers that it starts.
"""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import keyed
from covmis_build.study.study import Study, open_study
from tests.annotation.small import LABELS, study

if TYPE_CHECKING:
    from collections.abc import Iterator


def measured(folder: Path, posts: int, people: int) -> Iterator[tuple[str, float]]:
    """Each command and its CPU seconds."""
    codes = [f"a{number}" for number in range(1, people + 1)]
    settings = f"annotators = {codes!r}\nper_item = {min(people, 2)}\n".replace("'", '"')
    claims = max(1, posts // 250)
    study(folder, settings, claims=claims, per_claim=posts // claims)
    opened = open_study(folder)
    yield "open", cpu(lambda: opened.open_round(claims=claims))
    yield "push", cpu(lambda: opened.round().push(channel="csv"))
    fill(opened, codes)
    yield "pull", cpu(opened.round().pull)
    for name in ("pull", "status", "report", "board"):
        yield f"{name} again" if name == "pull" else name, cpu(getattr(opened.round(), name))
    yield "push again", cpu(lambda: opened.round().push(channel="csv"))
    opened.round().adjudicate(discuss=False, channel="csv")
    decide(opened)
    opened.round().adjudicate(discuss=False, channel="csv")
    yield "seal", cpu(opened.round().seal)


def fill(opened: Study, codes: list[str]) -> None:
    """Everybody labels everything; one label in seven is a chance one."""
    for code in codes:
        rewrite(opened.round().folder.sheets / f"{code}.csv", lambda item, code=code: label_of(item, code))


def decide(opened: Study) -> None:
    rewrite(opened.round().folder.sheets / "adjudication.csv", lambda item: label_of(item, ""))


def label_of(item: str, code: str) -> str:
    own = keyed.uniform(1, "slip", item, code)
    return LABELS[int(3 * (keyed.uniform(1, "label", item) if own > 1 / 7 else 7 * own))]


def rewrite(path: Path, label) -> None:
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "label": label(row["item_id"])} for row in rows)
    path.write_text(out.getvalue(), "utf-8-sig")


def cpu(act) -> float:
    begun = os.times()
    act()
    ended = os.times()
    return sum(ended[:4]) - sum(begun[:4])


if __name__ == "__main__":
    posts, people = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        for name, seconds in measured(Path(folder), posts, people):
            print(f"{name:12} {seconds:6.1f} CPU s", flush=True)
