"""The whole demonstration from Python alone: what `make demo` does with commands, in a notebook's words.

    python docs/demonstration.py FOLDER     a copy of this repository's study (study.toml, queries/, annotation/, data/)

People are simulated: `fill_in` stands for annotators who open their sheets, and for a discussion and a third person.
"""

from __future__ import annotations

import sys
from pathlib import Path

import covmis_build as covmis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the simulated people stand among the tests
from tests.demonstration import simulate


def build(folder: Path | str) -> covmis.Study:
    """From claims to a release: run, then a round for every dozen claims, then the corpus."""
    study = covmis.open_study(folder)
    study.run().check()
    while "round open" in study.status().next:
        annotate(study.open_round())
    study.release()
    return study


def annotate(round_: covmis.Round) -> None:
    """Sheets out, labels back, agreement, a discussion, a third person, the seal."""
    round_.push()
    for annotator in round_.annotators:
        simulate.annotate(round_.folder.sheets / f"{annotator}.csv", annotator, int(round_.number))
    round_.pull()
    print(round_.report().kappa)
    round_.adjudicate()
    fill_in(round_, "discussion.csv", simulate.discuss)
    round_.adjudicate()
    if fill_in(round_, "adjudication.csv", simulate.decide):
        round_.adjudicate()
    round_.seal()


def fill_in(round_: covmis.Round, name: str, people) -> bool:
    """Let people fill in a sheet, if there is one."""
    sheet = round_.folder.sheets / name
    if sheet.exists():
        people(sheet)
    return sheet.exists()


if __name__ == "__main__":
    print(build(sys.argv[1]).places.release)
