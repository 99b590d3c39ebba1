"""A claim's keywords: what they find while one types, what each word does, proposals, posts, and saving them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from covmis_build.errors import CovmisError, NoClaim
from covmis_build.study.keywords import Claim, count, marked_posts, remarks_on, suggested, tuned
from covmis_build.workbench.bench import STORE, Bench, back_to, bench_of, form_of
from covmis_build.workbench.plan import to_weigh
from covmis_build.workbench.shown import text_shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.archive.words import Words
    from covmis_build.queries.suggest import Suggestions


def queries(request: Request) -> Response:
    """The claims, and one of them at work; for `x-part: live` only what changes as one types."""
    bench = bench_of(request)
    study, claims = bench.study, bench.claims
    if not claims or not study.stages()["read"]:
        return bench.page(
            request, "no_queries.html", "queries", "show", claims=claims, no_files=not study.places.has_files
        )
    wanted = request.path_params.get("claim") or claims[0].claim_id
    claim = next((claim for claim in claims if claim.claim_id == wanted), None)
    if claim is None:
        raise NoClaim.of(wanted, (claim.claim_id for claim in claims))
    written = request.query_params.get("q", "\n".join(claim.keywords))
    lines, show = _lines(written), request.query_params.get("show", "found")
    words = bench.keep("words", STORE, study.words)
    problem, tried, posts = "", None, []
    try:
        tried = bench.keep(
            f"tuned {claim.language} {lines} {claim.keywords}",
            STORE,
            lambda: tuned(words, lines, claim.keywords, claim.language),
        )
        posts = marked_posts(words, claim, lines, show)
    except CovmisError as error:
        problem = str(error)
    live: dict[str, Any] = {
        "claim": claim,
        "q": written,
        "changed": lines != claim.keywords,
        "show": show,
        "problem": problem,
        "tried": tried,
        "posts": posts,
        "warnings": remarks_on(lines),
        "proposals": _suggested(bench, words, claim).proposals,
    }
    command = (
        ("queries", "try", "--words", claim.tagged(lines))
        if lines
        else ("queries", "suggest", claim.claim_id)
    )
    if request.headers.get("x-part") == "live":
        return bench.page(request, "live.html", *command, **live)
    counts = {each.claim_id: _count(bench, words, each) for each in claims}
    in_rounds = ", ".join(f"{number} ({posts:,})" for number, posts in bench.in_rounds(wanted).items())
    return bench.page(
        request, "queries.html", *command, claims=claims, counts=counts, in_rounds=in_rounds, **live
    )


def warm(bench: Bench) -> None:
    """Do what the first requests would wait for, when the server starts: templates, the words of the archive, what claims find."""
    with suppress(CovmisError):  # the pages say what cannot be read
        if bench.study.stages()["read"]:
            words = bench.keep("words", STORE, bench.study.words)
            for claim in bench.claims:
                _count(bench, words, claim)
            for claim in bench.claims[:1]:  # the one that the page shows first
                marked_posts(words, claim, claim.keywords)
                _suggested(bench, words, claim)
            bench.status()
            to_weigh(bench)
    for name in bench.templates.list_templates(extensions=["html"]):
        bench.templates.get_template(name)


def _suggested(bench: Bench, words: Words, claim: Claim) -> Suggestions:
    """What the archive suggests for a claim's text."""
    return bench.keep(f"suggested {claim.text}", STORE, lambda: suggested(words, claim.text, claim.language))


def _count(bench: Bench, words: Words, claim: Claim) -> int | None:
    """How many posts the saved keywords find; none where they cannot be read."""
    try:
        return bench.keep(
            f"count {claim.language} {claim.keywords}",
            STORE,
            lambda: count(words, claim.keywords, claim.language),
        )
    except CovmisError:
        return None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


async def save(request: Request) -> Response:
    """Save the keywords, unless somebody else has changed them since the page was made."""
    bench, form, claim = bench_of(request), await form_of(request), request.path_params["claim"]
    lines = _lines(form.get("q", ""))
    await bench.write(bench.study.set_keywords, claim, lines, instead_of=_lines(text_shown(form)))
    bench.did("queries set", {"claim": claim, "keywords": lines or [""]})
    return back_to(f"/queries/{quote(claim, safe='')}")
