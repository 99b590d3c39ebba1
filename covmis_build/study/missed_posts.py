"""Analyse relevant posts that no query matches: their words, URLs and languages, and queries that would match them.

The analysis uses all posts labelled relevant in any recall round that no current query matches. The gain of a query
made from them is overestimated on the same posts. The next recall draw, with new random numbers, measures it validly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import storage
from covmis_build.annotation.gold import gold_of
from covmis_build.annotation.relevance import YES
from covmis_build.engine import silent
from covmis_build.errors import counted
from covmis_build.estimation.recall_page import recall_page
from covmis_build.options import RANKED
from covmis_build.queries.learn import Learned, MissedPost, learn
from covmis_build.queries.suggest import READ
from covmis_build.report.result import Result
from covmis_build.text.language import detect_languages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.engine import Progress
    from covmis_build.estimation.recall_report import RecallReport
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

FEW = 2
"""Minimum number of posts that must link to a URL before covmis reports it as shared."""
EXAMPLES = 3
"""Number of example posts per claim on the page."""


@dataclass(frozen=True, slots=True, repr=False)
class MissedPosts(Result):
    """The missed posts by claim (most missed first) and in total."""

    claims: Mapping[str, str]
    learned: Mapping[str, Learned]
    addresses: tuple[tuple[str, int], ...]
    """URLs that several missed posts link to, with their number."""
    languages: tuple[tuple[str, int, int], ...]
    """Detected language, missed and matched relevant sampled posts."""

    @property
    def queries(self) -> pd.DataFrame:
        """Return one row per claim and width: a query that would match missed posts."""
        rows = [
            (
                claim,
                query.width,
                query.expression,
                query.posts,
                query.missed,
                query.held_out,
                len(learned.posts),
            )
            for claim, learned in self.learned.items()
            for query in learned.queries
        ]
        columns = ["claim_id", "width", "expression", "posts", "finds", "held_out", "of_missed"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def shared(self) -> pd.DataFrame:
        """Return one row per claim and word: its number of posts among labelled missed posts and in the archive."""
        rows = [
            (claim, unit.unit, unit.missed, len(learned.posts), unit.posts)
            for claim, learned in self.learned.items()
            for unit in learned.shared
        ]
        return pd.DataFrame(rows, columns=["claim_id", "words", "missed", "of_missed", "posts"])

    @property
    def summary(self) -> Summary:
        """Return the words and queries for each claim, and findings on links and languages."""
        if not self.learned:
            return [
                "No post was labelled relevant that today's queries miss: nothing can be learned from them."
            ]
        lines = []
        for claim, learned in self.learned.items():
            words = ", ".join(f"{unit.unit} ({unit.missed})" for unit in learned.shared)
            lines.append(
                f"{claim}: {counted(len(learned.posts), 'missed posts')} labelled; shared: {words or 'no word'}."
            )
            lines += [
                f"    {query.width}: {query.expression}\n"
                f"        {counted(query.posts, 'posts')}, {query.missed} of these {len(learned.posts)}; made of the others alone it "
                f"finds {query.held_out}"
                for query in learned.queries
            ]
        advice = "Put what you like into keywords of queries/claims.csv, `covmis run`, and draw again: "
        return [*lines, *self.told, f"{advice}the labels that a query was made of cannot judge it."]

    @property
    def told(self) -> list[str]:
        """Return the findings on links and languages."""
        lines = []
        if self.addresses:
            lines.append(f"They link to {', '.join(f'{page} ({count})' for page, count in self.addresses)}.")
        if len(self.languages) > 1:
            counts = (f"{name or 'unknown'} {missed} ({found})" for name, missed, found in self.languages)
            lines.append(f"Languages of the relevant posts missed (found): {', '.join(counts)}.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As `covmis recall report --queries --json` prints it."""
        return {
            "queries": self.queries,
            "shared": self.shared,
            "addresses": [{"address": page, "missed": count} for page, count in self.addresses],
            "languages": [
                {"language": name, "missed": missed, "found": found} for name, missed, found in self.languages
            ],
        }


def missed_posts(
    study: OfStudy, rounds: Sequence[RoundFolder], *, read: Sequence[int] = READ, progress: Progress = silent
) -> MissedPosts:
    """Analyse the posts that these recall rounds found relevant."""
    relevant = _relevant_posts(study, rounds)
    missed = relevant[relevant["missed"]]
    claims = study.claims
    texts = dict(zip(claims["claim_id"], claims["text"], strict=True))
    language_of = dict(zip(claims["claim_id"], claims["language"].fillna(""), strict=True))
    learned: dict[str, Learned] = {}
    with study.words(progress) as index:
        groups = sorted(missed.groupby("claim_id"), key=lambda group: (-len(group[1]), group[0]))
        for at, (name, rows) in enumerate(groups):
            progress("looking at what was missed", at, len(groups))
            claim = str(name)
            if claim in texts:
                columns = rows[["post_id", "text", "weight"]]
                posts = [MissedPost(*row) for row in columns.itertuples(index=False)]
                learned[claim] = learn(texts[claim], posts, index, language=language_of[claim], read=read)
        linked = Counter(page for pages in index.posts.addresses(missed["post_id"]) for page in pages)
    languages: dict[str, list[int]] = {}
    for language, is_missed in zip(
        detect_languages(relevant["text"].tolist()), relevant["missed"], strict=True
    ):
        languages.setdefault(language, [0, 0])[0 if is_missed else 1] += 1
    most_missed = sorted(languages.items(), key=lambda entry: (-entry[1][0], -entry[1][1], entry[0]))
    return MissedPosts(
        {claim: texts[claim] for claim in learned},
        learned,
        tuple((page, count) for page, count in linked.most_common(10) if count >= FEW),
        tuple((language, missed, found) for language, (missed, found) in most_missed),
    )


def _relevant_posts(study: OfStudy, rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """Return the relevant items of these rounds: claim_id, post_id, text, weight (1/p), missed (by today's queries)."""
    answers = gold_of(rounds)
    frozen = pd.concat([folder.items() for folder in rounds], ignore_index=True)
    yes = frozen["item_id"].isin(set(answers.loc[answers["label"] == YES, "item_id"])) & (
        frozen["text"] != ""
    )
    items = frozen[yes].sort_values(["item_id", "p_sample"]).drop_duplicates("item_id", keep="last")
    hits = storage.read_columns(study.places.table("hits"), ["claim_id", "post_id", "kind"])
    hits = hits[hits["kind"] != RANKED]
    by_query = set(hits["claim_id"] + "|" + hits["post_id"])
    return items[["claim_id", "claim", "post_id", "text"]].assign(
        weight=1 / items["p_sample"].to_numpy(float), missed=(~items["item_id"].isin(by_query)).to_numpy()
    )


def write_recall_page(study: OfStudy, report: RecallReport, missed: MissedPosts) -> Path:
    """Write recall, missed examples and suggested queries to the page data/build/recall.html. Returns its path."""
    places, whole = study.places, report.figures.iloc[0]
    steps = [
        ("near, or found by a query", report.facts.pairs_found + report.facts.pairs_missed),
        ("found by a query", report.facts.pairs_found),
        ("relevant, found or not", whole["found"] + whole["missed"]),
        ("relevant and found", whole["found"]),
        ("missed", whole["missed"]),
    ]
    for name, table in (("left after cleaning", "items"), ("drawn", "sample")):
        if places.table(table).exists():
            steps.append((name, len(storage.read_column(places.table(table), "item_id"))))
    corpus = places.release / "corpus.parquet"
    if corpus.exists():
        steps.append(("in the corpus", len(storage.read_column(corpus, "item_id"))))
    examples = [
        (missed.claims[claim], f"{post.post_id}: {post.text}")  # A purge finds the page by the id.
        for claim, learned in missed.learned.items()
        for post in sorted(learned.posts, key=lambda post: (-post.weight, post.post_id))[:EXAMPLES]
    ]
    path = places.build / "recall.html"
    html = recall_page(
        study.settings.title,
        report,
        [(name, float(count)) for name, count in steps if count == count],  # noqa: PLR0124
        examples=pd.DataFrame(examples, columns=["claim", "post"]),
        shared=_with_texts(missed.shared, missed),
        queries=_with_texts(missed.queries, missed),
        told=missed.told,
    )
    storage.write_text(path, html)
    return path


def _with_texts(rows: pd.DataFrame, missed: MissedPosts) -> pd.DataFrame:
    """Replace the claims' ids by their texts."""
    return rows.assign(claim_id=rows["claim_id"].map(dict(missed.claims))).rename(
        columns={"claim_id": "claim"}
    )
