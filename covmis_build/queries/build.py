"""Build a claim's queries: one for each title, URL and keyword line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.options import KINDS
from covmis_build.text.expression import parse
from covmis_build.text.nodes import Address, Term
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

COLUMNS = {
    "title": "titles",
    "news_url": "news_urls",
    "fact_check_url": "fact_check_urls",
    "keywords": "keywords",
}
"""Query type → column of the claims table."""

_TAGGED = re.compile(r"\[([A-Za-z]{2,3}(?:-[A-Za-z]+)?)\]\s*(.*)", re.DOTALL)


def build_queries(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the table `queries` of the selected claims, in the order of claims and types.

    Ids consist of the claim, the type and the position in the claim's list: `12:keywords:1`. A keyword line that begins with a
    language in brackets, `[es] vacuna`, is in that language; others are in the claim's. An empty query (a title of
    punctuation) or a repeated one of its claim and type is left out.
    """
    import pandas as pd

    rows = query_rows(claims.itertuples(index=False))
    frame = pd.DataFrame(rows, columns=["query_id", "claim_id", "kind", "text", "expression", "language"])
    return frame.astype(object)


def query_rows(claims: Iterable[object]) -> list[dict[str, str]]:
    """Return the rows of the table `queries` for rows of the table `claims`, or claims of a list."""
    return [row for claim in claims if _wanted(claim) for row in _of_claim(claim)]


def _wanted(claim: object) -> bool:
    chosen = getattr(claim, "selected", True)
    return chosen is None or chosen != chosen or bool(chosen)  # noqa: PLR0124 - NaN: not decided


def _of_claim(claim: object) -> Iterator[dict[str, str]]:
    claim_id, language = str(getattr(claim, "claim_id", "")), getattr(claim, "language", "") or ""
    for kind in KINDS:
        known: set[str] = set()
        for number, text in enumerate(getattr(claim, COLUMNS[kind], None) or (), start=1):
            words, of_query = keywords_of(text) if kind == "keywords" else (text, "")
            try:
                expression = expression_of(kind, words)
            except InputError as error:
                raise InputError(f"claim {claim_id}, {kind} {number}: {error}") from error
            if expression and expression not in known:
                known.add(expression)
                yield {
                    "query_id": f"{claim_id}:{kind}:{number}",
                    "claim_id": claim_id,
                    "kind": kind,
                    "text": words,
                    "expression": expression,
                    "language": of_query or language,
                }


def keywords_of(line: str) -> tuple[str, str]:
    """Split a keyword line into keywords and language, if it begins with one.

    >>> keywords_of("[es] vacuna"), keywords_of("vaccine")
    (('vacuna', 'es'), ('vaccine', ''))
    """
    tagged = _TAGGED.match(line)
    return (tagged[2], tagged[1].lower()) if tagged else (line, "")


def common_language(languages: Iterable[str | None]) -> str:
    """Return the language if all claims have this one, used for keywords in no claim's list; empty if there is none."""
    different = set(languages)
    return str(different.pop() or "") if len(different) == 1 else ""


def expression_of(kind: str, text: str) -> str:
    r"""Return the expression of a title, a URL or keywords; empty if it has no content.

    >>> expression_of("title", '"He said "no" to masks"')
    '"he said no to masks"'
    >>> expression_of("news_url", "https://www.example.org/a/?fbclid=1")
    'url:"example.org/a"'
    """
    if kind == "title":
        cut = tuple(tokens(text))
        return str(Term(cut)) if cut else ""
    if kind == "keywords":
        return str(parse(text)) if tokens(text) else ""
    key = canonical_url(text)
    if not key and text.strip():
        raise InputError(f"not an address: {text}", remedy="Write it as https://…")
    return str(Address(key)) if key else ""
