"""Build the demonstration from claims to scores with the commands that anybody would type: `make demo`.

What is done already is not done again. `--again` starts over: it removes the demonstration's rounds and all that was
built from them, which in any other study would be people's work.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.text.compiled import everything
from tests.demonstration import simulate
from tests.demonstration.stories import ROOT
from tests.demonstration.systems import predict
from tests.program import run

if TYPE_CHECKING:
    from collections.abc import Callable

BUILT = ("annotation/rounds", "data/build", "data/release")
PEOPLE = ("a1", "a2")


class Builder:
    """One study's folder, and the commands run in it."""

    def __init__(self, study: Path) -> None:
        self.study = study

    def covmis(self, *words: str) -> None:
        """Run a command as a person would see it."""
        print(f"\n$ covmis {' '.join(words)}", flush=True)
        with contextlib.chdir(self.study):
            code = run(words, sys.stdout, sys.stderr)
        sys.stdout.flush()
        if code:
            sys.exit(code)

    def asked(self, *words: str) -> dict:
        """What a command answers with --json."""
        out = io.StringIO()
        with contextlib.chdir(self.study):
            code = run((*words, "--json"), out, sys.stderr)
        if code:
            sys.exit(code)
        return json.loads(out.getvalue())

    def build(self) -> bool:
        """Everything that is missing; False if nothing was."""
        worked = False
        while step := self.next_step():
            step()
            worked = True
        if worked or not (self.study / "data/release/checksums.txt").exists():
            self.covmis("release")
            worked = True
        scores = self.study / "data/build/demonstration/scores.html"
        if worked or not scores.exists():
            systems = [str(path.relative_to(self.study)) for path in predict(self.study, scores.parent)]
            out = str(scores.relative_to(self.study))
            shown = ("--measures", "accuracy,macro_f1,kappa", "--by", "kind", "--out", out)
            self.covmis("evaluate", "score", "data/release/corpus.csv", *systems, *shown)
            worked = True
        return worked

    def next_step(self) -> Callable[[], None] | None:
        """What `covmis status` says is to be done before the release."""
        state = self.asked("status")
        if not all(stage["current"] for stage in state["stages"]):
            return partial(self.covmis, "run")
        unsealed = [int(one["round"]) for one in state["rounds"] if one["sealed"] == "no"]
        if unsealed:
            return partial(self.annotate, unsealed[0])
        return partial(self.covmis, "round", "open") if "round open" in state["next"] else None

    def annotate(self, number: int) -> None:
        """One round: sheets out, simulated people, sheets back, report, discussion, third person, seal."""
        sheets = self.study / "annotation" / "rounds" / f"{number:03d}" / "sheets"
        self.covmis("round", "push")
        for person in PEOPLE:
            try:
                rows = simulate.annotate(sheets / f"{person}.csv", person, number)
            except KeyError as unknown:
                sys.exit(
                    f"The post {unknown} is of another demonstration. Start over: python -m tests.demonstration.build --again"
                )
            print(f"  (simulated annotator {person} fills in {rows} rows)")
        self.covmis("round", "pull")
        self.covmis("round", "report")
        self.covmis("round", "adjudicate")
        self.decided(sheets / "discussion.csv", simulate.discuss, "simulated discussion")
        self.covmis("round", "adjudicate")
        if self.decided(sheets / "adjudication.csv", simulate.decide, "simulated third person"):
            self.covmis("round", "adjudicate")
        self.covmis("round", "seal")

    def decided(self, sheet: Path, people, who: str) -> bool:
        """Let simulated people fill in a sheet, if there is one."""
        if not sheet.exists():
            return False
        print(f"  ({who}: {people(sheet)} decisions)")
        return True

    def finish(self, *, built: bool) -> None:
        """Say where everything is, and what to do with one's own claims."""
        title = (
            "The demonstration is built"
            if built
            else "The demonstration is built already (--again starts over)"
        )
        print(f"\n{title}. Its posts and annotators are simulated.\n")
        for name, path in (
            ("corpus", self.study / "data/release/corpus.csv"),
            ("its card", self.study / "data/release/card.html"),
            ("agreement report", self.study / "annotation/rounds/summary.html"),
            ("scores", self.study / "data/build/demonstration/scores.html"),
        ):
            print(f"  {name:18} {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
        print(
            "\nNow with your own claims:\n\n"
            "  .venv/bin/covmis new ../my-study       makes a folder like this one, with a README\n"
            "  then claims import, posts add and run: docs/guides/your-own-posts.md goes the whole way\n\n"
            "docs/tutorial.md takes this demonstration apart, step by step.\n"
            "Look at it in the browser: .venv/bin/covmis open"
        )


def main() -> None:
    """Run from the command line."""
    options = argparse.ArgumentParser(description="Build the demonstration study end to end.")
    options.add_argument(
        "--study", type=Path, default=ROOT, help="a copy of the root's study (default: the root)"
    )
    options.add_argument(
        "--again", action="store_true", help="remove what was built, rounds included, and start over"
    )
    asked = options.parse_args()
    everything()
    builder = Builder(asked.study.resolve())
    if asked.again:
        for name in BUILT:
            shutil.rmtree(builder.study / name, ignore_errors=True)
    built = builder.build()
    builder.finish(built=built)


if __name__ == "__main__":
    main()
