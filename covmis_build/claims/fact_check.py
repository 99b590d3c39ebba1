"""Google Fact Check Tools, live: claims on a subject reviewed by fact-checkers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from covmis_build.characters import whole_in_json
from covmis_build.claims.claim_review import google_reviews, merged
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    import httpx

    from covmis_build.claims.claim import Claim
    from covmis_build.claims.claim_review import Review

ADDRESS = "https://factchecktools.googleapis.com/v1alpha1/claims:search"
KEY = "GOOGLE_FACT_CHECK_KEY"
PAGE = 100


def search_fact_checks(
    query: str,
    *,
    language: str = "",
    most: int = 1000,
    client: httpx.Client | None = None,
    address: str = ADDRESS,
) -> list[Claim]:
    """Return the claims of a search. The API key comes from the environment and is sent only in a header."""
    import httpx

    key = os.environ.get(KEY, "").strip()
    if not key:
        raise InputError("Google's Fact Check Tools want a key", remedy=f"Set the environment variable {KEY}")
    reviews: list[Review] = []
    asked: dict[str, str | int] = {"query": query, "pageSize": PAGE}
    if language:
        asked["languageCode"] = language
    with client or httpx.Client(timeout=30) as http:
        while len(reviews) < most:
            page = _page(http, address, asked, key)
            more, following = list(google_reviews(page)), str(page.get("nextPageToken") or "")
            reviews += more
            if not more or not following or following == asked.get("pageToken"):
                break
            asked["pageToken"] = following
    return merged(reviews[:most])


def _page(http: httpx.Client, address: str, asked: dict[str, str | int], key: str) -> dict[str, Any]:
    import httpx

    try:
        answer = http.get(address, params=asked, headers={"X-Goog-Api-Key": key})
    except httpx.HTTPError as error:
        raise ServiceError(f"Google's Fact Check Tools cannot be reached: {type(error).__name__}") from None
    if answer.status_code in {401, 403}:
        raise ServiceError(f"Google's Fact Check Tools do not accept the key in {KEY}")
    if answer.status_code != 200:
        raise ServiceError(f"Google's Fact Check Tools answered {answer.status_code}")
    try:
        page = whole_in_json(answer.json())
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict):
        raise ServiceError("Google's Fact Check Tools answered with something that is not JSON")
    return page
