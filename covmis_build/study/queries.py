"""A study's queries: show them for a platform, try them on the archive, suggest them for a claim."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from covmis_build.archive.words import words_of
from covmis_build.claims.lists import own_claims, read_claims
from covmis_build.engine import silent
from covmis_build.errors import InputError, NoClaim, counted
from covmis_build.matching.find import asked_table, numbers_found
from covmis_build.matching.matcher import Row
from covmis_build.queries.build import build_queries, common_language, keywords_of, query_rows
from covmis_build.queries.suggest import READ, Suggestions, suggest
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing
from covmis_build.study.keywords import claim_language, remarks_on
from covmis_build.text.expression import as_written, parse
from covmis_build.text.rendering import Platform, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from covmis_build.archive.counted import SamplePost
    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

PLATFORMS = get_args(Platform)


@dataclass(frozen=True, slots=True)
class ShownQuery:
    """A query of the claim list. `searches` are the searches sent to a platform."""

    query_id: str
    claim_id: str
    kind: str
    text: str
    expression: str
    language: str
    searches: list[str] = field(default_factory=list)
    shortened: bool = False
    """True if a search is less strict than the query. `covmis run` drops the additional posts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the query's columns, with its searches if any."""
        row = asdict(self)
        return row if self.searches else {name: row[name] for name in list(row)[:-2]}


@dataclass(frozen=True, slots=True, repr=False)
class ShownQueries(Result):
    """The queries of a claim list, with warnings."""

    queries: list[ShownQuery]
    warnings: list[str]
    platform: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis queries show --json` prints."""
        return {"queries": [query.to_dict() for query in self.queries]}

    @property
    def summary(self) -> Summary:
        """Return one row per query, or per search if a platform was named."""
        rows = [
            (query.query_id, search)
            for query in self.queries
            for search in (query.searches if self.platform else [query.expression])
        ]
        return [
            Listing(("query", self.platform or "expression"), rows),
            f"{counted(len(self.queries), 'queries')}.",
        ]


@dataclass(frozen=True, slots=True)
class TriedQuery:
    """The number of archive posts that a query matches, with examples."""

    query_id: str
    expression: str
    posts: int
    samples: list[SamplePost]


@dataclass(frozen=True, slots=True, repr=False)
class Trial(Result):
    """Queries tried on an archive with `posts_in_archive` eligible posts. `warnings` start with unreadable files."""

    posts_in_archive: int
    queries: list[TriedQuery]
    warnings: list[str]
    limits: str = ""
    """Which posts of the archive are excluded."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis queries try --json` prints."""
        queries = [
            {
                "query_id": query.query_id,
                "expression": query.expression,
                "posts": query.posts,
                "samples": [post._asdict() for post in query.samples],
            }
            for query in self.queries
        ]
        return {"posts_in_archive": self.posts_in_archive, "queries": queries}

    def to_frame(self) -> pd.DataFrame:
        """A row a query: its id, the expression, and how many posts it finds."""
        import pandas as pd

        rows = [(query.query_id, query.expression, query.posts) for query in self.queries]
        return pd.DataFrame(rows, columns=["query_id", "expression", "posts"])

    @property
    def summary(self) -> Summary:
        """Return each query's number of matches, with one line per example."""
        lines = []
        for query in self.queries:
            lines.append(f"{query.posts:>9,}  {query.query_id or query.expression}")
            lines += [f"{'':11}{query.expression}"] if query.query_id else []
            lines += [f"{'':11}{post.line}" for post in query.samples]
        looked_at = f"{counted(self.posts_in_archive, 'posts')}{self.limits}"
        lines.append(f"{counted(len(self.queries), 'queries')} over {looked_at}.")
        return lines if self.queries else [*lines, NO_QUERIES]


NO_QUERIES = "No keywords, titles or URLs yet. `covmis queries suggest CLAIM` proposes keywords."


def _queries_of(study: OfStudy, claim_id: str = "") -> pd.DataFrame:
    """Return the current queries of one claim or of all."""
    claims = read_claims(study.places.claims_csv, "csv")
    if claim_id and claim_id not in set(claims["claim_id"]):
        raise NoClaim.of(claim_id, claims["claim_id"])
    return build_queries(claims[claims["claim_id"] == claim_id] if claim_id else claims)


def show_queries(study: OfStudy, claim_id: str, *, platform: str, limit: int) -> ShownQueries:
    """Return the queries in canonical form, and a platform's searches if one is named."""
    queries = [ShownQuery(*row) for row in _queries_of(study, claim_id).itertuples(index=False, name=None)]
    warnings = remarks_on(query.text for query in queries if query.kind == "keywords")
    if platform:
        if platform not in PLATFORMS:
            raise InputError(f"no platform is called '{platform}'", remedy=f"Allowed: {', '.join(PLATFORMS)}")
        queries = [_with_searches(query, platform, limit or None) for query in queries]
        warnings += [
            f"{query.query_id} is too long for {platform}: its search says less and finds more"
            for query in queries
            if query.shortened
        ]
    return ShownQueries(queries, warnings, platform)


def _with_searches(query: ShownQuery, platform: str, limit: int | None) -> ShownQuery:
    expression = as_written(query.kind, query.text, query.expression)
    try:
        render(expression.node, platform, limit, broaden=False)
        shortened = False
    except InputError:
        shortened = True
    try:
        searches = render(expression.node, platform, limit, broaden=True)
    except InputError as error:
        raise InputError(f"query {query.query_id}: {error}") from error
    return replace(query, searches=searches, shortened=shortened)


def try_queries(study: OfStudy, text: str = "", *, samples: int = 3, progress: Progress = silent) -> Trial:
    """Count the posts that match keywords, a claim's queries (by its id), or all queries (without `text`)."""
    path = study.places.claims_csv
    claims = own_claims(path) if path.exists() or not text else []
    ids = [claim.claim_id for claim in claims]
    noticed = []
    if not text or text in ids:
        rows = query_rows(claim for claim in claims if text in ("", claim.claim_id))
        queries = [Row(**row) for row in rows]
    else:
        noticed = [f"No claim has the id {text}; read as keywords"] * _looks_like_an_id(text, ids)
        words, language = keywords_of(text)
        if not language:
            language = common_language(claim.language for claim in claims)  # as `run` will parse them
        queries = [Row("", "", "keywords", str(parse(words)), words, language)]
    posts = study.counted_posts(progress)
    numbers = numbers_found(posts, asked_table(queries))
    tried = [
        TriedQuery(query.query_id, query.expression, len(found), shown)
        for query, found, shown in zip(queries, numbers, posts.samples(numbers, samples), strict=True)
    ]
    written = [query.text for query in queries if query.kind == "keywords"]
    return Trial(posts.size, tried, [*noticed, *posts.unread, *remarks_on(written)], _limits(study))


def _looks_like_an_id(text: str, ids: Iterable[str]) -> bool:
    """True if a text differs from an id at most in its digits.

    >>> _looks_like_an_id("claims-9999", ["claims-0001"]), _looks_like_an_id("covid-19", ["claims-0001"])
    (True, False)
    """
    return re.sub(r"\d+", "0", text) in {re.sub(r"\d+", "0", each) for each in ids}


def _limits(study: OfStudy) -> str:
    """Describe which posts the settings exclude."""
    retrieval = study.settings.retrieval
    dropped = "reposts and " * (retrieval.reposts == "drop")
    limits = [f"{dropped}posts without text are left out"]
    limits += [f"from {retrieval.since}"] * bool(retrieval.since) + [f"until {retrieval.until}"] * bool(
        retrieval.until
    )
    return f" ({'; '.join(limits)})"


def suggest_queries(
    study: OfStudy, claim: str, *, read: Sequence[int] = READ, samples: int = 2, progress: Progress = silent
) -> Suggestions:
    """Suggest keyword queries for a claim (id or text): a precise, a balanced and a broad one."""
    path = study.places.claims_csv
    rows = read_claims(path, "csv").to_dict("records") if path.exists() else []
    row = next((row for row in rows if row["claim_id"] == claim), None)
    if row is None and " " not in claim and (claim.isascii() or not claim.isalpha()):
        raise NoClaim.of(claim, (row["claim_id"] for row in rows))
    text, language = (row["text"], row["language"]) if row else (claim, "")
    known = claim if row else ""
    language = claim_language(study, text, language)
    if study.places.has_files:
        with study.words(progress) as index:
            if index.size:
                suggestions = suggest(text, index, language=language, read=read, samples=samples)
                return replace(suggestions, claim_id=known)
    with TemporaryDirectory() as folder:  # Collect first: the claim list shows how rare words are.
        texts = {entry["text"]: entry["claim_id"] for entry in rows} | ({} if row else {text: ""})
        with words_of(Path(folder), {claim_id: entry for entry, claim_id in texts.items()}) as index:
            suggestions = suggest(text, index, language=language, read=read, samples=0, counted=False)
            return replace(suggestions, claim_id=known)
