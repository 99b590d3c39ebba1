"""Every page that covmis makes, rendered from a built copy of the demonstration: the gallery, and what tests look at.

`python -m tests.demonstration.pages STUDY FOLDER`: STUDY is a built copy that may be written to.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.cli import app
from covmis_build.corpus.convert import read_corpus
from tests.demonstration import simulate

PEOPLE = ("a1", "a2")
LABELLED = "data/build/demonstration/{}.csv"
SYSTEMS = ("data/build/demonstration/always-against.csv", "data/build/demonstration/a-few-words.csv")
CORPUS = "data/release/corpus.csv"


@dataclass(frozen=True)
class Page:
    """A page: its name in the gallery, where it stands in the study, what makes it, what it shows."""

    name: str
    path: str
    command: tuple[str, ...]
    shows: str


def _written(name: str, command: str, shows: str) -> Page:
    """A page that a command writes where it is told to."""
    return Page(name, f"{name}.html", (*command.split(), "--out", f"{name}.html"), shows)


def _exported(page: str, shows: str) -> Page:
    """A page of `covmis open`, as a file."""
    name = page.replace("/", "-")
    return Page(name, f"data/build/{name}.html", ("export", page), shows)


def _systems(name: str, verb: str, options: str, shows: str) -> Page:
    """A page on the demonstration's two systems."""
    words = ("evaluate", verb, CORPUS, *SYSTEMS, *options.split(), "--out", f"{name}.html")
    return Page(name, f"{name}.html", words, shows)


PAGES = (
    Page("flow", "data/build/flow.html", ("export", "flow"), "From claims to the sample: what was lost at each step, and why"),
    _exported("queries/garlic", "Tuning a claim's query in the browser: its count, what each word does, and posts"),
    _exported("rounds/001", "A round in the browser: people, agreement, disagreements and their decisions"),
    _exported("results", "Results in the browser: shares by claim and over time, and what a release still needs"),
    Page("board", "annotation/rounds/board.html", ("export", "board"), "Who has labelled how much, over all rounds and channels"),
    Page("agreement", "annotation/rounds/001/report.html", (), "Agreement of one round: kappa with its intervals, where people differ, and on which posts"),
    Page("agreement-of-all", "annotation/rounds/summary.html", (), "Agreement over all rounds"),
    _written("estimates", "estimate --by kind", "What share of the posts found favours a claim, weighted, with intervals"),
    Page("card", "data/release/card.html", (), "The released corpus' card: what it holds, how it was made, what not to use it for"),
    Page("statistics", "data/release/statistics.html", (), "The released corpus in figures"),
    _systems("scores", "score", "--measures accuracy,macro_f1,kappa --by kind", "Two systems judged on the corpus"),
    _systems("scores-over-posts", "score", "--over posts", "The same systems over all posts that the sample stands for"),
    _systems("comparison", "compare", "--measure macro_f1", "Do two systems differ, and by how much?"),
    _written("soft-labels", f"evaluate score --soft data/release/annotations.csv {SYSTEMS[1]} --order favor,neither,against --extra ignore", "A system judged by what several people said, without one truth"),
    Page("recall", "data/build/recall.html", ("recall", "report", "--queries", "--html"), "How much of what was said about the claims the queries find, what they miss, and queries that would find it"),
    Page("training", "annotation/training/t001/feedback/a1.html", ("round", "report", "--round", "t001"), "What somebody who practised has got wrong, and why"),
    Page("errors", "errors.html", ("model", "predict", "model", LABELLED.format("test"), "--out", "predicted.csv", "--errors", "errors.html"), "Where a model is surest and wrong"),
    Page("offline", "offline/annotation/rounds/001/sheets/a1.html", (), "The page that an annotator without a server labels on"),
)  # fmt: skip


def render(study: Path, folder: Path) -> list[Page]:
    """Make every page in this study, and copy them to this folder under their names."""
    folder.mkdir(parents=True, exist_ok=True)
    _open_offline(study)
    _practise(study)
    _ask_for_recall(study)
    _train(study)
    for page in PAGES:
        if page.command:
            covmis(study, *page.command)
        shutil.copyfile(study / page.path, folder / f"{page.name}.html")
    return list(PAGES)


def _open_offline(study: Path) -> None:
    """A round that is still open, in a copy of its own: the demonstration's own are sealed."""
    copy = study / "offline"
    shutil.copytree(study, copy, ignore=shutil.ignore_patterns("offline"))
    shutil.rmtree(copy / "annotation" / "rounds")
    covmis(copy, "run")
    covmis(copy, "round", "open")
    covmis(copy, "round", "push", "--channel", "html")


def _practise(study: Path) -> None:
    """A training round that somebody has answered."""
    covmis(study, "round", "open", "--training", "--items", "24")
    covmis(study, "round", "push", "--round", "t001", "--channel", "csv")
    for person in PEOPLE:
        simulate.annotate(study / f"annotation/training/t001/sheets/{person}.csv", person, 1)
    covmis(study, "round", "pull", "--round", "t001")


def _ask_for_recall(study: Path) -> None:
    """A recall round that is answered, every yes by two people."""
    covmis(study, "recall", "draw", "--labels", "300")
    for _ in PEOPLE:
        covmis(study, "round", "push", "--round", "r001", "--channel", "csv")
        for person in PEOPLE:
            simulate.judge(study / f"annotation/recall/r001/sheets/{person}.csv")
        covmis(study, "round", "pull", "--round", "r001")


def _train(study: Path) -> None:
    """A model of half the claims, and the other half for its errors."""
    corpus = read_corpus(study / "data/release/corpus.parquet").astype({"claim": str})
    texts = storage.read_table(study / "data/build/posts.parquet", "posts").set_index("post_id")["text"]
    rows = corpus.assign(text=corpus["post_id"].map(texts))[["item_id", "text", "claim", "label", "kind"]]
    claims = sorted(corpus["claim"].unique())
    first = rows["claim"].isin(claims[: len(claims) // 2])
    for name, part in (("train", rows[first]), ("test", rows[~first])):
        part.to_csv(study / LABELLED.format(name), index=False)
    covmis(study, "model", "train", LABELLED.format("train"), "--model", "bow", "--out", "model")


def covmis(study: Path, *words: str) -> None:
    """Run a command in the study's folder; what it printed if it fails."""
    with contextlib.chdir(study):
        done = CliRunner().invoke(app, words)
    if done.exit_code:
        raise RuntimeError(f"covmis {' '.join(words)}: {done.output} {done.exception}") from done.exception


if __name__ == "__main__":
    render(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
