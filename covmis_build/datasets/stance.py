"""Readers of stance corpora: COVMis-Stance, COVIDLies, CoAID, FNC-1, SemEval-2016 task 6, MultiNLI."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING

from covmis_build.datasets.shape import Row, post_time
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

csv.field_size_limit(1 << 28)

COAID_VERSIONS = ("05-01-2020", "07-01-2020", "09-01-2020", "11-01-2020")
SEMEVAL_TARGETS = {
    "abortion": "Legalization of Abortion",
    "atheism": "Atheism",
    "climate": "Climate Change is a Real Concern",
    "feminist": "Feminist Movement",
    "hillary": "Hillary Clinton",
}
SEMEVAL_LABELS = ("none", "against", "favor")


def text_of(path: Path) -> str:
    """A file's text: UTF-8 with or without a mark, else Latin-1, as some of FNC-1's files are; gzip is unpacked."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def table(path: Path) -> Iterator[dict[str, str]]:
    """A CSV file's rows as text: no cell is taken for a number, none for a missing value."""
    for number, row in enumerate(csv.DictReader(io.StringIO(text_of(path), newline="")), 2):
        if None in row or None in row.values():
            raise InputError("has too many or too few cells", file=path, row=number, remedy="Fetch it anew")
        yield row


def covmis(folder: Path) -> Iterator[Row]:
    """The published corpus: ids, claims and labels; the time follows from the id."""
    for row in table(folder / "covmis_stance.csv"):
        one = row["tweet_id"]
        yield Row(one, row["label"], row["mid"], row["mis"], time=post_time(one), group=row["mid"])


def covidlies(version: str) -> Callable[[Path], Iterator[Row]]:
    """One state of COVIDLies: a post may stand under several misconceptions, each with its own label."""

    def rows(folder: Path) -> Iterator[Row]:
        for row in table(folder / f"covid_lies_{version}.csv"):
            one, about = row["tweet_id"], row["misconception_id"]
            yield Row(one, row["label"], about, row["misconception"], time=post_time(one), group=about)

    return rows


def coaid(folder: Path) -> Iterator[Row]:
    """Posts by the title they were found with; the label is the news' own, and the split the version."""
    for version in COAID_VERSIONS:
        for path in sorted((folder / version).glob("*COVID-19_tweets.csv")):
            items = path.with_name(path.name.replace("_tweets", ""))
            titles = {row[""]: row["title"] for row in table(items)}
            label = "fake" if "Fake" in path.name else "real"
            for row in table(path):
                about, one = row["index"], row["tweet_id"]
                yield Row(one, label, about, titles[about], time=post_time(one), split=version, group=about)


def fnc_predictions(folder: Path) -> Iterator[Row]:
    """The gold column of the file of published predictions: test rows only, no text."""
    for row in table(folder / "fnc1_test_predictions.csv.gz"):
        yield Row(f"test-{row['row']}", row["gold"], split="test", group=row["body_id"])


def fnc_official(folder: Path) -> Iterator[Row]:
    """The competition's files: what an article's body says of a headline."""
    for split, prefix in (("train", "train"), ("test", "competition_test")):
        bodies = {row["Body ID"]: row["articleBody"] for row in table(folder / f"{prefix}_bodies.csv")}
        for number, row in enumerate(table(folder / f"{prefix}_stances.csv")):
            body, title = row["Body ID"], row["Headline"]
            yield Row(
                f"{split}-{number}", row["Stance"], target=title, text=bodies[body], split=split, group=body
            )


def semeval(folder: Path) -> Iterator[Row]:
    """TweetEval's five targets: one text a line, one number a line (0 none, 1 against, 2 favor)."""
    for name, target in SEMEVAL_TARGETS.items():
        for split in ("train", "val", "test"):
            path = folder / f"{name}_{split}_text.txt"
            texts = text_of(path).removesuffix("\n").split("\n")
            numbers = text_of(folder / f"{name}_{split}_labels.txt").split()
            if len(texts) != len(numbers):
                raise InputError(f"has {len(texts)} texts for {len(numbers)} labels", file=path)
            for at, (text, number) in enumerate(zip(texts, numbers, strict=True)):
                label = SEMEVAL_LABELS[int(number)]
                part = "dev" if split == "val" else split
                yield Row(f"{name}-{split}-{at}", label, name, target, text.strip(), split=part, group=name)


def mnli(folder: Path) -> Iterator[Row]:
    """MultiNLI: the premise is the text, the hypothesis the target; pairs without a majority label are left out."""
    for split in ("train", "dev_matched", "dev_mismatched"):
        with (folder / f"multinli_1.0_{split}.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["gold_label"] != "-":
                    yield Row(
                        f"{split}-{row['pairID']}",
                        row["gold_label"],
                        target=row["sentence2"],
                        text=row["sentence1"],
                        split="train" if split == "train" else split.replace("_", "-"),
                        group=row["genre"],
                    )
