"""Readers of corpora that are not plain tables: CoAID, SemEval-2016 task 6, Perspectrum, Stanceosaurus; and table helpers."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from covmis_build.datasets.shape import Row, post_time
from covmis_build.errors import InputError, doubted
from covmis_build.files.contents import bytes_of
from covmis_build.files.reading import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

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
    """Read a file's text: UTF-8 with or without byte order mark, else Latin-1 (some of FNC-1's files); gzip is decompressed."""
    data = bytes_of(path, packed=path.suffix == ".gz")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


class Cells(dict[str, str]):
    """A row's cells by column. A missing column is an error that names the file."""

    def __init__(self, path: Path, cells: Iterable[tuple[str, str]]) -> None:
        super().__init__(cells)
        self.path = path

    def __missing__(self, name: str) -> str:
        raise InputError(f"has no column '{name}'", file=self.path, remedy=f"Its columns: {', '.join(self)}")


def table(path: Path, names: Sequence[str] = ()) -> Iterator[Cells]:
    """Return a file's rows as text, without interpreting missing values. `names` are the columns of a file without header."""
    data = bytes_of(path, packed=path.suffix == ".gz")
    with doubted(path):
        rows_of_file = open_table(lambda: io.BytesIO(data), names=names)
        for number, cells, problem in rows_of_file.rows():
            if problem or rows_of_file.short:
                raise InputError("has too many or too few cells", row=number, remedy="Fetch it anew")
            yield Cells(path, zip(rows_of_file.header, cells, strict=True))


def coaid(folder: Path) -> Iterator[Row]:
    """Read posts found by titles; the label is that of the news, and the split is the version."""
    for version in COAID_VERSIONS:
        for path in sorted((folder / version).glob("*COVID-19_tweets.csv")):
            items = path.with_name(path.name.replace("_tweets", ""))
            titles = {row[""]: row["title"] for row in table(items)}
            label = "fake" if "Fake" in path.name else "real"
            for row in table(path):
                about, post_id = row["index"], row["tweet_id"]
                yield Row(
                    post_id, label, about, titles[about], time=post_time(post_id), split=version, group=about
                )


def semeval(folder: Path) -> Iterator[Row]:
    """Read TweetEval's five targets: one text per line, one number per line (0 none, 1 against, 2 favor)."""
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


PERSPECTRUM_PARTS = (
    "perspectrum_with_answers_v1.0.json",
    "perspective_pool_v1.0.json",
    "dataset_split_v1.0.json",
)


def perspectrum(folder: Path) -> Iterator[Row]:
    """Read perspectives on claims, one row each; those of a cluster are equivalent. Non-perspectives are omitted."""
    claims, pool, split = (json.loads(text_of(folder / name)) for name in PERSPECTRUM_PARTS)
    texts = {str(entry["pId"]): entry["text"] for entry in pool}
    for claim in claims:
        about = str(claim["cId"])
        for cluster in claim["perspectives"]:
            label = cluster["stance_label_3"].casefold()
            for perspective in map(str, cluster["pids"]) if label in {"support", "undermine"} else ():
                yield Row(
                    perspective,
                    label,
                    about,
                    claim["text"],
                    texts[perspective],
                    split=split[about],
                    group=about,
                )


STANCEOSAURUS = ("english", "arabic", "hindi", "russian", "spanish")
STANCEOSAURUS_LABELS = {"dicussing": "discussing"}
"""A typing error in the published files."""


def stanceosaurus(folder: Path) -> Iterator[Row]:
    """Read trees of posts, one per line or in a list; each post has a stance. English files are sorted by split and fact-checker."""
    for language in STANCEOSAURUS:
        for path in sorted((folder / language).rglob("*.json")):
            split = path.relative_to(folder / language).parts[0] if language == "english" else ""
            text = text_of(path).strip()
            listed = text.startswith("[")  # Spanish has one tree per line
            for tree in json.loads(text) if listed else map(json.loads, text.split("\n")):
                about = f"{language}-{tree['id']}"
                for post in _posts_of(tree["root_tweet"]):
                    # the Hindi files have titles of linked pages instead of the stance
                    label = post["leaning" if language == "hindi" else "stance"].strip().casefold()
                    yield Row(
                        str(post["id"]),
                        STANCEOSAURUS_LABELS.get(label, label),
                        about,
                        tree["claim"],
                        "" if post["text"] == "[DELETED]" else post["text"],
                        post_time(str(post["id"])),
                        split,
                        about,
                    )


def _posts_of(post: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a post and its replies."""
    yield post
    for reply in post["children"] or ():
        yield from _posts_of(reply)


READERS = {"coaid": coaid, "semeval": semeval, "perspectrum": perspectrum, "stanceosaurus": stanceosaurus}
