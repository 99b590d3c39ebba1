"""How many relevant posts do queries miss: the guided draw and its interval, on CheckThat! 2020, 1,000 times.

    python benchmarks/recall.py --model FOLDER      (COVMIS_DATA_HOME has checkthat2020 and posts/troll_500k.tsv.xz)

927 claims with 1,198 tweets that fact-checkers linked to them, among 10,000 political posts. Queries are proposals of
`covmis queries suggest`; the guess is fitted to 600 labelled posts that they found. Equal probabilities stand beside the
guided ones: the peer is the elusion test, a simple random sample of what was not found. What was found is known here, so
that figures compare with the reference's. `--generated 20000` (or 1000000) takes the demonstration's claims and an archive
of its generator instead, which knows what each post says, in the words of a query or not. `--reference FOLDER` takes the queries of another program, whose suggest.py and
textindex.py are there, too.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # not this folder, in which `coverage` is another module than the one numba looks for

from covmis_build.archive.words import words_of  # noqa: E402
from covmis_build.building.nearest import nearest  # noqa: E402
from covmis_build.estimation.recall import Drawn, missed_total, share_found, unseen_weight  # noqa: E402
from covmis_build.models.sentences import sentence_model  # noqa: E402
from covmis_build.queries.suggest import suggest  # noqa: E402
from covmis_build.queries.units import terms_of  # noqa: E402
from covmis_build.ranking.guide import fit  # noqa: E402
from covmis_build.ranking.rank import FIRST, Asked, rank  # noqa: E402
from covmis_build.ranking.vectors import SentenceModel, Vectors  # noqa: E402
from covmis_build.sampling.guided import by_rank, capped, guided  # noqa: E402
from covmis_build.stats.weighted_counts import ratio_interval  # noqa: E402
from covmis_build.study.study import open_study  # noqa: E402
from covmis_build.text.expression import parse  # noqa: E402
from tests.demonstration.truth import truth  # noqa: E402

if TYPE_CHECKING:
    import pandas as pd

HOME = Path(os.environ.get("COVMIS_DATA_HOME", "shared/data"))
KNOWN = 600
"""Labelled posts found, to which the guess is fitted."""
STANCE_RUNS = 100_000
"""Draws that shares of stances are compared with the truth over: these are quick, and their bias is small."""


def read(many: int) -> tuple[dict[str, str], dict[str, str], set[tuple[str, str]]]:
    """Posts, claims, and the pairs that belong together."""

    def rows(name: str) -> list[dict[str, str]]:
        with (HOME / "checkthat2020" / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    posts = {row["post_id"]: row["text"] for row in rows("tweets.csv")}
    with lzma.open(HOME / "posts/troll_500k.tsv.xz", "rt", encoding="utf-8", newline="") as lines:
        cells = (line.rstrip("\n").split("\t") for line in lines)
        noise = [row[-1].strip() for row in cells if row[0].lower().startswith(("en", "english")) and row[1] in {"0", "", "no", "False"}]  # fmt: skip
    posts |= {f"n{at:05}": text for at, text in enumerate(random.Random(1).sample(noise, many))}
    gold = {(row["claim_id"], row["post_id"]) for row in rows("gold.csv")}
    with_gold = {claim for claim, _ in gold}
    return (
        posts,
        {row["claim_id"]: row["text"] for row in rows("claims.csv") if row["claim_id"] in with_gold},
        gold,
    )


def simulate(own: np.ndarray, pi: np.ndarray, found: int, runs: int) -> dict[str, float]:
    """Repeated draws: only relevant pairs can change an estimate, so only theirs are thrown."""
    rng = np.random.default_rng(1)
    unseen, truth = unseen_weight(pi), found / (found + len(own))
    rows = []
    for _ in range(runs):
        hits = own[rng.random(len(own)) < own]
        missed = missed_total(Drawn(np.ones(len(hits)), hits), unseen)
        low, high = ratio_interval(missed, (found, found, found))
        rows.append((share_found(found, missed.value), 1 / (1 + high), 1 / (1 + low)))
    value, low, high = np.array(rows).T
    return {
        "bias": value.mean() - truth, "rmse": np.sqrt(((value - truth) ** 2).mean()),
        "coverage": ((low <= truth) & (truth <= high)).mean(), "width": (high - low).mean(), "drawn": own.sum(),
    }  # fmt: skip


def generated(many: int, folder: Path, runs: int, depths: list[int], labels: list[int]) -> None:
    """The frame, and draws from it, of an archive that the demonstration's generator makes."""
    study = folder / f"generated-{many}"
    if not (study / "data" / "archive").exists():
        for name in ("study.toml", "queries/claims.csv", "annotation/guideline.md"):
            (study / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, study / name)
        archive = ["--posts", str(many), "--out", str(study / "data" / "archive")]
        subprocess.run([sys.executable, "-m", "tests.demonstration.generate", *archive], cwd=ROOT, check=True)
    opened = open_study(study)
    opened.run(("retrieve",))
    claims = opened.claims[opened.claims["selected"].astype(bool)]
    found = set(zip(opened.hits["claim_id"], opened.hits["post_id"], strict=True))
    with opened.words() as index:
        posts, began = index.size, time.process_time()
        known = {
            str(claim): index.posts.numbers(rows)
            for claim, rows in opened.hits.groupby("claim_id")["post_id"]
        }
        stances = truth(many)
        there = {post for post, at in zip(stances, index.posts.numbers(stances), strict=True) if at >= 0}
        ranked = nearest(index, claims, opened.places, found=known).posts
        print(f"{posts:,} posts, {len(claims)} claims; BM25 {time.process_time() - began:.1f} CPU s")
    gold = {(claim, post) for post, claimed in stances.items() if post in there for claim in claimed}
    missed = gold - found
    some = random.Random(7).sample(sorted(found), KNOWN)
    guide = fit(ranked, {f"{claim}|{post}": (claim, post) in gold for claim, post in some})
    pairs = list(zip(ranked["claim_id"], ranked["post_id"], strict=True))
    ranked = ranked.assign(guess=guide.guess(ranked), gold=[pair in gold for pair in pairs])
    ranked = ranked[[pair not in found for pair in pairs]]
    print(f"{len(found):,} pairs found, {len(gold & found):,} of them relevant; {len(missed):,} relevant ones missed; {guide.sentence}")  # fmt: skip
    whole = len(claims) * posts - len(found)
    report(f"the whole archive, {whole:,} pairs", len(gold & found), [("equal", np.ones(len(missed)) / whole)], np.ones(len(missed), bool), runs, labels)  # fmt: skip
    for depth in depths:
        near = ranked.groupby("claim_id").head(depth)
        designs = [("equal", np.ones(len(near)) / len(near)), ("guided", near["guess"].to_numpy())]
        relevant = near["gold"].to_numpy()
        report(f"first {depth}, {len(near):,} pairs with {relevant.sum():,} of {len(missed):,} missed", len(gold & found), designs, relevant, runs, labels)  # fmt: skip


def report(
    name: str, found: int, designs: list[tuple[str, Any]], relevant: np.ndarray, runs: int, asked: list[int]
) -> None:
    """A line for each number of labels and each design; `designs` have guesses, of which the equal ones are chances."""
    print(f"\n{name}; recall {found / (found + relevant.sum()):.3f}")
    for labels in asked:
        for design, guess in designs:
            pi = guess * labels if design == "equal" else guided(guess, labels)
            told = simulate(np.minimum(pi, 1.0)[relevant], np.minimum(pi, 1.0), found, runs)
            print(
                f"  {labels} {design:7}" + "".join(f" {key} {value:+.3f}" for key, value in told.items()),
                flush=True,
            )


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--model", default="")
    arguments.add_argument("--folder", type=Path, default=Path("/tmp/covmis-recall"))
    arguments.add_argument("--runs", type=int, default=1000)
    arguments.add_argument("--noise", type=int, default=10_000)
    arguments.add_argument("--reference", type=Path)
    arguments.add_argument("--generated", type=int, default=0)
    arguments.add_argument("--depths", type=int, nargs="+", default=[50, 200, 1000])
    arguments.add_argument("--labels", type=int, nargs="+", default=[200, 400, 600])
    given = arguments.parse_args()
    given.folder.mkdir(exist_ok=True, parents=True)
    if given.generated:
        generated(given.generated, given.folder, given.runs, given.depths, given.labels)
        return
    posts, claims, gold = read(given.noise)
    with words_of(given.folder, posts) as index:
        began = time.process_time()
        asked = [
            Asked(claim, text, index.nearest(terms_of(text, index), FIRST)) for claim, text in claims.items()
        ]
        print(
            f"{len(posts)} posts, {len(claims)} claims, {len(gold)} pairs; BM25 {time.process_time() - began:.1f} CPU s"
        )
        ranking = rank(asked)
        if given.model:
            began = time.process_time()
            with Vectors(SentenceModel(*sentence_model(given.model)), given.folder) as vectors:
                ranking = rank(asked, vectors, lambda ids: {post: posts[post] for post in ids})
            print(
                f"model {time.process_time() - began:.0f} CPU s (what was read before is kept in {given.folder})"
            )
        made = {
            claim: suggest(text, index, read=(3, 12, 50), samples=0).proposals
            for claim, text in claims.items()
        }
        found_by = {
            width: {
                (claim, post_id)
                for claim, proposals in made.items()
                for proposal in proposals
                if widths(proposals, width) == proposal.width
                for post_id in index.posts.ids(index.rows(parse(proposal.expression).node))
            }
            for width in ("precise", "broad")
        }
    if given.reference:
        found_by = {
            f"{width}, the reference's queries": found_by_reference(given.reference, posts, claims, width)
            for width in ("precise", "broad")
        } | found_by
    table = ranking.posts.assign(
        pair=list(zip(ranking.posts["claim_id"], ranking.posts["post_id"], strict=True))
    )
    table["gold"] = table["pair"].isin(gold)
    print("first n: " + "; ".join(
        f"{n}: " + " ".join(f"{name} {(table['gold'] & (table[name] <= n)).sum() / len(gold):.3f}" for name in ("bm25_rank", "model_rank", "rank"))
        for n in (1, 5, 10, 20, 50, 200, 1000)
    ))  # fmt: skip
    for width, matched in found_by.items():
        known, every = len(matched & gold), len(gold - matched)
        some = random.Random(7).sample(sorted(matched), min(KNOWN, len(matched)))
        for name, ranked in (("BM25", rank(asked).posts), (ranking.name, ranking.posts)):
            guide = fit(ranked, {f"{claim}|{post}": (claim, post) in gold for claim, post in some})
            guess = guide.guess(ranked)
            pairs = list(zip(ranked["claim_id"], ranked["post_id"], strict=True))
            stratum(ranked, pairs, matched, gold)
            stances(ranked, pairs, matched, gold, STANCE_RUNS)
            for depth in (50, 200):
                inside = (ranked["rank"] <= depth).to_numpy() & np.array(
                    [pair not in matched for pair in pairs]
                )
                relevant = np.array([pair in gold for pair in pairs])[inside]
                truth = known / (known + relevant.sum())
                print(f"\n{width}, {name}, first {depth}: {inside.sum():,} unmatched pairs with {relevant.sum()} of {every} missed; "
                      f"recall {truth:.3f} in the frame, {known / len(gold):.3f} in all; {guide.sentence}")  # fmt: skip
                for labels in (200, 400, 600):
                    for design, pi in (
                        ("equal", capped(np.ones(inside.sum()), labels)),
                        ("guided", guided(guess[inside], labels)),
                    ):
                        told = simulate(pi[relevant], pi, known, given.runs)
                        print(
                            f"  {labels} {design:7}"
                            + "".join(f" {key} {value:+.3f}" for key, value in told.items()),
                            flush=True,
                        )


def found_by_reference(
    folder: Path, posts: dict[str, str], claims: dict[str, str], width: str
) -> set[tuple[str, str]]:
    """The pairs that another program's queries find."""
    sys.path.insert(0, str(folder))
    from suggest import search
    from suggest import suggest as theirs
    from textindex import Index as TheirIndex

    ids, index = list(posts), TheirIndex(list(posts.values()))
    proposals = {claim: theirs(text, index, sizes=(3, 12, 50)) for claim, text in claims.items()}
    return {
        (claim, ids[row])
        for claim, by_width in proposals.items()
        if by_width
        for row in search(by_width[width][0], index)
    }


def stratum(ranked: pd.DataFrame, pairs: list, matched: set, gold: set) -> None:
    """What `[retrieval] ranked` brings: the expected share of the missed posts, and the largest weight."""
    unmatched = ranked.assign(gold=[pair in gold for pair in pairs])[[pair not in matched for pair in pairs]]
    every = len(gold - matched)
    for depth in (50, 200):
        near = unmatched[unmatched["rank"] <= depth]
        for most in (100, 1000):
            told = []
            for expected in (3, 5, 10):
                p = np.concatenate(
                    [
                        by_rank(rows["rank"], expected, most)
                        for _, rows in near.groupby("claim_id", sort=False)
                    ]
                )
                told.append(
                    f"{expected} posts: {p[near['gold'].to_numpy()].sum() / every:.0%} of the missed (weight {1 / p.min():.0f})"
                )
            print(f"  ranked, first {depth}, weights up to {most}: {'; '.join(told)}", flush=True)


def stances(ranked: pd.DataFrame, pairs: list, matched: set, gold: set, runs: int) -> None:
    """Weighted shares where missed posts say something else than found ones: 80% of the found favour, 20% of the missed."""
    unmatched = ranked.assign(gold=[pair in gold for pair in pairs])[[pair not in matched for pair in pairs]]
    near = unmatched[unmatched["rank"] <= 50]
    p = np.concatenate([by_rank(rows["rank"], 5, 100) for _, rows in near.groupby("claim_id", sort=False)])
    own, rng = p[near["gold"].to_numpy()], np.random.default_rng(3)
    found = rng.random(len(matched & gold)) < 0.8
    missed = rng.random(len(own)) < 0.2
    favor, every = found.sum() + missed.sum(), len(found) + len(missed)
    drawn = rng.random((runs, len(own))) < own
    truth = favor / every
    totals, counts = found.sum() + drawn @ (missed / own), len(found) + drawn @ (1 / own)
    shares = totals / counts
    # the linear part is right on average, and most of the noise: what is left is what the ratio is off by
    off = shares - truth - (totals - truth * counts) / every
    # as theory has it, to the first order: (R V(X) - Cov(Y, X)) / X^2
    expected = float(((1 / own - 1) * (truth - missed)).sum()) / every**2
    print(
        f"  ranked, first 50, 5 posts, weights up to 100, {runs:,} draws: favor {shares.mean():.5f} (Monte-Carlo error "
        f"{shares.std() / runs**0.5:.5f}), truth {truth:.5f}, found alone {found.mean():.4f}, deviation {shares.std():.4f}; off by "
        f"{off.mean():+.6f} ({off.std() / runs**0.5:.6f}), a ratio by {expected:+.6f}; total {totals.mean():.2f} "
        f"({totals.std() / runs**0.5:.2f}), truth {favor}",
        flush=True,
    )


def widths(proposals: list, width: str) -> str:
    """The width of this name, or the widest narrower one that there is."""
    order = ["precise", "balanced", "broad"]
    return max(
        (row.width for row in proposals if order.index(row.width) <= order.index(width)),
        key=order.index,
        default="",
    )


if __name__ == "__main__":
    main()
