"""How good proposed queries are: hand-made queries covered, and gold posts found, at so many posts a claim.

    python benchmarks/suggest.py covmis POSTS.csv     the 111 claims of COVMis-Stance; POSTS.csv is any archive with a
                                                      column `tweet` or `text` (measured on the 10,700 posts of Patwa
                                                      et al. 2020, which are not shipped)
    python benchmarks/suggest.py checkthat NOISE.txt  CheckThat! 2020, its tweets among those of NOISE.txt, one a line

    python benchmarks/suggest.py languages            the labelled sets of tests/languages among posts of XLM-T and Weibo

The lists come from COVMIS_DATA_HOME. A proposal covers a claim's hand-made queries if every way of satisfying every one
of them satisfies it. BM25 is SQLite's over the claim's words, and gives each claim as many posts as the proposal found.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from covmis_build.archive.words import Words, words_of
from covmis_build.claims.lists import read_claims
from covmis_build.queries.suggest import Proposal, suggest
from covmis_build.queries.units import STOP_WORDS
from covmis_build.text.expression import parse
from covmis_build.text.nodes import And, AtLeast, Node, Or, Term, holds, seen
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(os.environ.get("COVMIS_DATA_HOME", "shared/data"))
READ = {"covmis": ((5, 20, 60), (5, 25, 100)), "checkthat": ((3, 8, 16), (5, 25, 100))}


def ways(node: Node) -> Iterator[str]:
    """The smallest texts that satisfy a query."""
    match node:
        case Or(parts):
            for part in parts:
                yield from ways(part)
        case And(parts):
            texts = [""]
            for part in parts:
                texts = [f"{text} | {way}" for text in texts for way in ways(part)] or texts
            yield from texts
        case AtLeast():
            raise NotImplementedError
        case Term(cut):
            yield " ".join(cut)


def proposal_of(proposals: list[Proposal], width: str) -> Proposal | None:
    """The proposal of this width, or the next narrower one that is the same."""
    order = ["precise", "balanced", "broad"]
    fitting = [row for row in proposals if order.index(row.width) <= order.index(width)]
    return fitting[-1] if fitting else None


def covmis(archive: Path) -> None:
    """Hand-made queries covered."""
    with archive.open(encoding="utf-8") as file:
        texts = [row.get("tweet") or row.get("text") or "" for row in csv.DictReader(file)]
    claims = read_claims(HOME / "covmis/misinformation.csv").to_dict("records")
    hand = [[seen(way) for query in claim["keywords"] for way in ways(parse(query).node)] for claim in claims]
    with TemporaryDirectory() as folder, _indexed(Path(folder), texts) as index:
        for read in READ["covmis"]:
            began = time.perf_counter()
            made = [suggest(claim["text"], index, read=read, samples=0).proposals for claim in claims]
            seconds = time.perf_counter() - began
            for width in ("precise", "balanced", "broad"):
                chosen = [proposal_of(proposals, width) for proposals in made]
                covered = sum(
                    row is not None and all(holds(parse(row.expression).node, way) for way in of_claim)
                    for row, of_claim in zip(chosen, hand, strict=True)
                )
                posts = sum((row.posts or 0) for row in chosen if row) / len(claims)
                print(
                    f"covmis {read} {width:7}{posts:8.1f} posts a claim, {covered / len(claims):.1%} covered"
                )
            print(f"       {seconds:.1f} s for {len(claims)} claims")


def checkthat(noise: Path) -> None:
    """Gold pairs found, beside BM25 at the same number of posts of each claim."""
    with (HOME / "checkthat2020/tweets.csv").open(encoding="utf-8") as file:
        posts = [(row["post_id"], row["text"]) for row in csv.DictReader(file)]
    gold: dict[str, set[int]] = {}
    number = {post_id: at for at, (post_id, _) in enumerate(posts)}
    with (HOME / "checkthat2020/gold.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            gold.setdefault(row["claim_id"], set()).add(number[row["post_id"]])
    with (HOME / "checkthat2020/claims.csv").open(encoding="utf-8") as file:
        claims = {row["claim_id"]: row["text"] for row in csv.DictReader(file) if row["claim_id"] in gold}
    texts = [text for _, text in posts] + noise.read_text("utf-8").splitlines()
    pairs = sum(map(len, gold.values()))
    with TemporaryDirectory() as folder, _indexed(Path(folder), texts) as index:
        for read in READ["checkthat"]:
            made = {one: suggest(text, index, read=read, samples=0).proposals for one, text in claims.items()}
            for width in ("precise", "balanced", "broad"):
                found = posts_found = ranked = 0
                for claim_id, proposals in made.items():
                    row = proposal_of(proposals, width)
                    if row is None:
                        continue
                    rows = set(index.rows(parse(row.expression).node).tolist())
                    found += len(rows & gold[claim_id])
                    posts_found += len(rows)
                    ranked += len(_bm25(index, claims[claim_id], len(rows)) & gold[claim_id])
                print(
                    f"checkthat {read} {width:7}{posts_found / len(claims):8.1f} posts a claim, "
                    f"recall {found / pairs:.3f}, BM25 {ranked / pairs:.3f}"
                )


def languages() -> None:
    """Posts about the claims of the eight labelled sets, found among others and brought in besides."""
    with gzip.open(HOME / "posts/xlmt_umsab_8lang.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t", 2)[2] for line in file]
    with (HOME / "mu_temporality/weibo2776_924_964.csv").open(encoding="utf-8") as weibo:
        texts += [row["text"] for row in csv.DictReader(weibo)]
    others, about = len(texts), {}
    for path in sorted((Path(__file__).parents[1] / "tests/languages").glob("*.toml")):
        for entry in tomllib.loads(path.read_text("utf-8"))["claims"]:
            about[path.stem, entry["text"]] = range(len(texts), len(texts) + len(entry["about"]))
            texts += entry["about"] + entry["near"]
    print(f"{others:,} posts beside those of the sets")
    with TemporaryDirectory() as folder, _indexed(Path(folder), texts) as index:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for (language, claim), wanted in about.items():
            proposals = suggest(claim, index, language=language, samples=0).proposals
            counts[language]["of"] += len(wanted)
            for width in ("precise", "balanced", "broad"):
                if row := proposal_of(proposals, width):
                    rows = set(index.rows(parse(row.expression).node).tolist())
                    counts[language][f"{width} found"] += len(rows & set(wanted))
                    counts[language][f"{width} besides"] += len(rows - set(wanted))
        for language, found in counts.items():
            print(f"languages {language} {dict(found)}")


def _bm25(index: Words, claim: str, most: int) -> set[int]:
    words = {word for word in tokens(claim) if word not in STOP_WORDS["en"]}
    nearest = index.nearest([Term((word,)) for word in sorted(words)], most)
    return set(index.posts.numbers([post for post, _ in nearest]).tolist())


def _indexed(folder: Path, texts: list[str]) -> Words:
    return words_of(folder, {f"x:{at:09}": text for at, text in enumerate(texts)})


if __name__ == "__main__":
    if sys.argv[1] == "languages":
        languages()
    else:
        {"covmis": covmis, "checkthat": checkthat}[sys.argv[1]](Path(sys.argv[2]))
