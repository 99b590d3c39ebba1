"""Whole studies that change after their round, from files of posts to estimates: bias and coverage beside known labels.

    .venv/bin/python benchmarks/changed_studies.py [DRAWS] [DESIGN …]        60 studies of each change and design

Eight claims have two keywords each; posts with the second one lean to `favor`. A third of the texts have near-copies, some of
which only the other keyword finds, so that a text can lose its own query and keep a copy's. A tenth of the posts name two
claims. The queries of three claims lose or get their second keyword, claims are taken out and come back, one becomes two.
Truth: every text that a query finds for a claim, once (unique posts) or as often as it was posted. Columns as in changes.py,
and the standard error of the largest bias; `number` is the mean error of the number of posts, in per cent.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from covmis_build.study.study import Study, open_study

VALUES = ["favor", "against", "neither"]
SIZES = (40, 60, 60, 80, 100, 140, 200, 360)
CHANGED, GONE = ("c1", "c4", "c6"), ("c2", "c7")
SETTINGS = """title = "Changes"
seed = {seed}
[labels]
automatic = {{}}
[[retrieval.columns]]
files = "posts.csv"
platform = "made"
id = "id"
text = "text"
created_at = "created_at"
[cleaning]
languages = []
undetermined = "keep"
scope = "claim"
similar_words = "unicode"
minimum_posts = 6
[sampling]
per_claim = {per_claim}
per_kind = 0
design = "{design}"
[annotation]
annotators = ["a1"]
per_item = 1
channel = "csv"
"""
GUIDELINE = "# Guideline\n\n" + "\n".join(f"- **{label}**: the post is {label}." for label in VALUES) + "\n"


class Post(NamedTuple):
    """A text of a group of near-copies, and what it names."""

    id: str
    group: str
    words: tuple[str, ...]
    text: str


class World(NamedTuple):
    """The posts, and the label of each group for each claim that it names."""

    posts: list[Post]
    labels: dict[tuple[str, str], str]


def made(seed: int) -> World:
    """Posts of one draw; every draw has others."""
    rng = np.random.default_rng([11, seed])
    posts, labels, number = list[Post](), dict[tuple[str, str], str](), 0
    vocabulary = [
        f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in ("ran", "sol", "tik", "vem", "zup")
    ]
    shares = {f"c{at}": rng.dirichlet((1.5, 1.5, 1.0)) for at in range(len(SIZES))}
    for at, size in enumerate(SIZES):
        left = size
        while left > 0:
            second = rng.random() < 0.4
            named = [f"c{at}"]
            if rng.random() < 0.1:
                named.append(f"c{(at + 1 + rng.integers(len(SIZES) - 1)) % len(SIZES)}")
            group = f"g{len(labels)}-{at}"
            for claim in named:
                leaning = shares[claim] * ((2.5, 1, 1) if second else (1, 1, 1))
                labels[claim, group] = VALUES[rng.choice(3, p=leaning / leaning.sum())]
            text = " ".join(rng.choice(vocabulary, 16, replace=False))
            for copy in range(1 + (rng.geometric(0.35) if rng.random() < 0.33 else 0)):
                which = second if copy == 0 or rng.random() < 0.7 else not second
                words = tuple(f"{claim}{'second' if which else 'first'}" for claim in named)
                posts.append(Post(str(number), group, words, f"{' '.join(words)} {text}{' ja' * copy}"))
                number, left = number + 1, left - 1
    return World(posts, labels)


ALL = {f"c{at}": (f"c{at}first", f"c{at}second") for at in range(len(SIZES))}
NARROW = ALL | {claim: ALL[claim][:1] for claim in CHANGED}
WITHOUT = {claim: words for claim, words in ALL.items() if claim not in GONE}
SPLIT = {claim: words for claim, words in ALL.items() if claim != "c7"} | {
    "c7a": ALL["c7"][:1],
    "c7b": ALL["c7"][1:],
}


class Change(NamedTuple):
    """The words that find each claim's posts at the round, and then; whether a further round is labelled at the end."""

    name: str
    before: dict[str, tuple[str, ...]]
    after: tuple[dict[str, tuple[str, ...]], ...]
    further: bool = False


CHANGES = (
    Change("nothing", ALL, ()),
    Change("narrow", ALL, (NARROW,)),
    Change("take out", ALL, (WITHOUT,)),
    Change("take out, put back", ALL, (WITHOUT, ALL)),
    Change("widen, a further round", NARROW, (ALL,), further=True),
    Change("split, a further round", ALL, (SPLIT,), further=True),
)


def write_claims(study: Study, words: dict[str, tuple[str, ...]]) -> None:
    study.places.claims_csv.parent.mkdir(parents=True, exist_ok=True)
    with study.places.claims_csv.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["claim_id", "text", "keywords"])
        table.writerows(
            [claim, f"The claim {claim} is true.", " OR ".join(of)] for claim, of in words.items()
        )


def label_round(study: Study, world: World) -> None:
    """Open a round of all claims; one person answers what is true."""
    group = {f"made:{post.id}": post.group for post in world.posts}
    round_ = study.open_round(100)
    round_.push()
    for sheet in round_.folder.sheets.glob("*.csv"):
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns, rows = list(reader.fieldnames or ()), list(reader)
        for row in rows:
            claim, _, post = row["item_id"].partition("|")
            row["label"] = world.labels[claim[:2], group[post]]
        with sheet.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, columns)
            table.writeheader()
            table.writerows(rows)
    round_.pull()
    round_.seal()


def truth_of(world: World, words: dict[str, tuple[str, ...]]) -> pd.DataFrame:
    """Every post of every claim that a query finds, with its group and label."""
    rows = [
        (claim, post.group, world.labels[claim[:2], post.group])
        for claim, own in words.items()
        for post in world.posts
        if set(own) & set(post.words)
    ]
    return pd.DataFrame(rows, columns=["claim_id", "group", "label"])


def labelled(folder: Path, world: World, design: str, seed: int, words: dict[str, tuple[str, ...]]) -> None:
    """A study with these queries, and its first round."""
    (folder / "annotation").mkdir(parents=True)
    (folder / "study.toml").write_text(SETTINGS.format(seed=seed, design=design, per_claim=16))
    (folder / "annotation" / "guideline.md").write_text(GUIDELINE)
    (folder / "data" / "archive").mkdir(parents=True)
    pd.DataFrame(
        [{"id": post.id, "text": post.text, "created_at": "2020-04-01"} for post in world.posts]
    ).to_csv(folder / "data" / "archive" / "posts.csv", index=False)
    study = open_study(folder)
    write_claims(study, words)
    study.run()
    label_round(study, world)


def changed(folder: Path, world: World, design: str, seed: int, change: Change) -> pd.DataFrame:
    """The figures of this study after the change, with the truth of each."""
    study = open_study(folder)
    for words in change.after:
        write_claims(study, words)
        study.run()
    if change.further:
        (folder / "study.toml").write_text(SETTINGS.format(seed=seed, design=design, per_claim=24))
        study = open_study(folder)
        study.run()
        label_round(study, world)
    shares = study.estimate(by="claim").shares
    shares = shares[shares["scope"].isin(["pool", "claim"])].reset_index(drop=True)
    every = truth_of(world, (change.before, *change.after)[-1])
    truth, size = [], []
    for row in shares.itertuples():
        here = every if row.scope == "pool" else every[every["claim_id"] == row.name]
        here = here.drop_duplicates(["claim_id", "group"]) if row.estimand == "unique_posts" else here
        truth.append(float((here["label"] == row.label).mean()))
        size.append(len(here))
    return shares.assign(truth=truth, size=size, change=change.name, design=design, seed=seed)


def drawn(design: str, seed: int) -> pd.DataFrame:
    """The figures of one draw after each change; what precedes a change is made once."""
    world, parts = made(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for at, change in enumerate(CHANGES):
            if change.further and design == "two_phase":
                continue  # over other posts a further two-phase draw is refused: its probabilities are not known
            start = Path(folder, "narrow" if change.before is NARROW else "all")
            if not start.exists():
                labelled(start, world, design, seed, change.before)
            own = shutil.copytree(start, Path(folder, str(at)))
            parts.append(changed(own, world, design, seed, change))
    return pd.concat(parts, ignore_index=True)


def row_of(every: pd.DataFrame) -> str:
    """A line of the table: one change and design."""
    held = (every["low"] - 1e-9 <= every["truth"]) & (every["truth"] <= every["high"] + 1e-9)
    every, draws = every.assign(held=held), every["seed"].nunique()
    whole, plain = (
        every[every["scope"] == "pool"],
        every[every["low"].notna() & ~every["flagged"].astype(bool)],
    )
    by = plain.groupby(["estimand", "scope", "name", "label"])["held"].agg(["mean", "size"])
    error = (whole["share"] - whole["truth"]).groupby([whole["estimand"], whole["label"]])
    bias = error.mean().abs()
    return (
        f"| {every['change'].iloc[0]}, {every['design'].iloc[0]} | {draws} | {100 * bias.max():.2f} "
        f"({100 * error.sem()[bias.idxmax()]:.2f}) | {whole['held'].mean():.3f} | {plain['held'].mean():.3f} | "
        f"{by.loc[by['size'] >= draws / 3, 'mean'].min():.3f} | {(whole['high'] - whole['low']).mean():.3f} | "
        f"{100 * (whole['population'] / whole['size']).mean() - 100:.2f} |"
    )


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print("| change, design | draws | bias (SE) | pool | all | worst | width | number |\n" + "|---" * 8 + "|")
    for design in sys.argv[2:] or ("poisson", "two_phase"):
        every = pd.concat([drawn(design, seed) for seed in range(draws)], ignore_index=True)
        for change in CHANGES:
            if (own := every[every["change"] == change.name]).size:
                print(row_of(own), flush=True)


if __name__ == "__main__":
    main()
