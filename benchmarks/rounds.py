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
import time
from pathlib import Path

from covmis_build import keyed
from covmis_build.study.study import Study, open_study
from tests.annotation.small import LABELS, study


def measured(folder: Path, posts: int, people: int) -> dict[str, float]:
    """CPU seconds of each command."""
    codes = [f"a{number}" for number in range(1, people + 1)]
    settings = f"annotators = {codes!r}\nper_item = {min(people, 2)}\n".replace("'", '"')
    claims = max(1, posts // 250)
    study(folder, settings, claims=claims, per_claim=posts // claims)
    opened, times = open_study(folder), dict[str, float]()
    times["open"] = cpu(lambda: opened.open_round(claims=claims))
    round_ = opened.round()
    times["push"] = cpu(lambda: round_.push(channel="csv"))
    fill(opened, codes)
    for name in ("pull", "pull", "status", "report", "board"):
        times[f"{name} again" if name in times else name] = cpu(getattr(opened.round(), name))
    times["push again"] = cpu(lambda: opened.round().push(channel="csv"))
    opened.round().adjudicate(discuss=False, channel="csv")
    decide(opened)
    opened.round().adjudicate(discuss=False, channel="csv")
    times["seal"] = cpu(opened.round().seal)
    return times


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
        begun = time.perf_counter()
        for name, seconds in measured(Path(folder), posts, people).items():
            print(f"{name:12} {seconds:6.1f} CPU s")
        print(f"{'all':12} {time.perf_counter() - begun:6.1f} s")
